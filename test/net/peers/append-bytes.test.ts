/** What is written by hand for the messages of every command, against their layouts. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  readAppend,
  readAppendReply,
  writeAppend,
  writeAppendReply,
} from "../../../src/net/peers/append-bytes.js";
import { PeerFrame } from "../../../src/net/peers/frame.js";
import { FrameCursor, PeerFrameError } from "../../../src/net/peers/frame-cursor.js";
import { PEER_MESSAGES } from "../../../src/net/peers/message-layout.js";
import { type PeerLayout, UNREAD } from "../../../src/net/peers/peer-fields.js";
import type { AppendReply, AppendRequest } from "../../../src/raft/index.js";
import { append, appendReply, FROM, TO } from "./messages.js";

interface Hand<T> {
  readonly messages: fc.Arbitrary<T>;
  write(frame: PeerFrame, message: T): void;
  read(cursor: FrameCursor): T;
  /** Bytes in which a change is likely to be refused. */
  readonly delicate: readonly number[];
}

function written<T>(write: (frame: PeerFrame, message: T) => unknown, message: T): Uint8Array {
  const frame = new PeerFrame(16);
  write(frame, message);
  return frame.finish().slice(4);
}

/** The message in these bytes, or "refused". */
function readBy<T>(read: (cursor: FrameCursor) => T, bytes: Uint8Array): T | "refused" {
  const cursor = new FrameCursor(bytes, FROM, TO);
  cursor.begin(bytes.length);
  try {
    const message = read(cursor);
    cursor.finish();
    return message;
  } catch (error) {
    if (error instanceof PeerFrameError) return "refused";
    throw error;
  }
}

function itIsItsLayout<T extends object>(name: string, hand: Hand<T>): void {
  const form = PEER_MESSAGES.find((one) => one.name === name);
  if (form === undefined) throw new Error(`no layout of ${name}`);
  const layout = form.layout as unknown as PeerLayout<T>;
  const byLayout = (cursor: FrameCursor): T => layout(cursor, UNREAD);

  test(`${name} has the bytes of its layout, and is read from them`, () => {
    fc.assert(
      fc.property(hand.messages, (message) => {
        const bytes = written(hand.write, message);
        expect(bytes).toEqual(written(layout, message));
        expect(readBy(hand.read, bytes)).toEqual(message);
      }),
    );
  });

  test(`${name} is refused when its layout refuses it, and otherwise is read as the same`, () => {
    const at = fc.oneof(fc.nat(200), fc.constantFrom(...hand.delicate));
    const value = fc.oneof(fc.nat(255), fc.constantFrom(0, 1, 2, 3, 0x1f, 0x20, 0xff));
    const changes = fc.array(fc.tuple(at, value), { maxLength: 3 });
    const seen = { refused: 0, taken: 0 };
    fc.assert(
      fc.property(hand.messages, changes, fc.integer({ min: -4, max: 4 }), (message, all, more) => {
        const whole = written(hand.write, message);
        const bytes = new Uint8Array(whole.length + more);
        bytes.set(whole.subarray(0, bytes.length));
        for (const [where, what] of all) if (where < bytes.length) bytes[where] = what;
        const result = readBy(hand.read, bytes);
        expect(result).toEqual(readBy(byLayout, bytes));
        seen[result === "refused" ? "refused" : "taken"] += 1;
      }),
      { numRuns: 2_000 },
    );
    expect(Math.min(seen.refused, seen.taken)).toBeGreaterThan(50);
  });
}

describe("what is written by hand", () => {
  itIsItsLayout<AppendRequest>("append", {
    messages: append,
    write: writeAppend,
    read: readAppend,
    // The index before the entries, their count, the kind and the length of the first one.
    delicate: [16, 17, 18, 40, 43, 44, 45, 46, 53, 56],
  });
  itIsItsLayout<AppendReply>("appendReply", {
    messages: appendReply,
    write: writeAppendReply,
    read: readAppendReply,
    delicate: [0, 1, 16, 17, 18, 19],
  });

  test("refuses to write what the layouts refuse", () => {
    const head = { from: FROM, to: TO, term: 5, epoch: 6 };
    const last = Number.MAX_SAFE_INTEGER;
    const entry = { index: last + 1, term: 5, kind: "noop", data: new Uint8Array(0) } as const;
    const beyond: AppendRequest = {
      ...{ type: "append", ...head, prevLogIndex: last, prevLogTerm: 5, commitIndex: 0 },
      entries: [entry],
    };
    expect(() => written(writeAppend, beyond)).toThrow(/entries after the last index/);
    const both: AppendReply = {
      ...{ type: "appendReply", ...head, success: true, needsSnapshot: true },
      ...{ matchIndex: 1, rejectedIndex: 0, hintIndex: 0, hintTerm: 0 },
    };
    expect(() => written(writeAppendReply, both)).toThrow(/a success that needs a snapshot/);
  });
});
