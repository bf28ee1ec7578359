/** Frames of a link out of bytes in any pieces: all of them, in order, or a refusal by their heads. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FrameReader } from "../../../src/net/peers/frame-reader.js";
import {
  BEFORE_HELLO,
  closeFrame,
  FRAME,
  FROM_DIALED,
  FROM_DIALER,
  foreignLanguage,
  frameOfKind,
  HELLO_BYTES_MAX,
  LINK_PREFACE,
  readClose,
} from "../../../src/net/peers/link-frame.js";

type Seen =
  | { readonly kind: number; readonly body: Buffer }
  | { readonly foreign: number }
  | { readonly code: number; readonly reason: string };

/** A reader, and what it has reported. */
function reading(limits = FROM_DIALER): { reader: FrameReader; seen: Seen[] } {
  const seen: Seen[] = [];
  const reader = new FrameReader(limits, {
    onFrame: (kind, body) => seen.push({ kind, body: Buffer.from(body) }),
    onForeign: (foreign) => seen.push({ foreign }),
    onBad: (code, reason) => seen.push({ code, reason }),
  });
  return { reader, seen };
}

/** What is reported of these bytes when they arrive in pieces of these sizes, again and again. */
function readInPieces(bytes: Uint8Array, sizes: readonly number[], limits = FROM_DIALER): Seen[] {
  const { reader, seen } = reading(limits);
  let at = 0;
  for (let piece = 0; at < bytes.length; piece += 1) {
    const end = at + (sizes[piece % sizes.length] ?? bytes.length);
    reader.push(bytes.slice(at, end));
    at = end;
  }
  return seen;
}

const frame = fc.oneof(
  fc.record({
    kind: fc.constant(FRAME.messages),
    body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  }),
  fc.constant({ kind: FRAME.ping, body: Buffer.alloc(0) }),
);
const frames = fc.array(frame, { maxLength: 8 });
const sizes = fc.array(fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 400 })), {
  minLength: 1,
  maxLength: 12,
});

function linkOf(all: readonly { readonly kind: number; readonly body: Buffer }[]): Buffer {
  return Buffer.concat([LINK_PREFACE, ...all.map(({ kind, body }) => frameOfKind(kind, body))]);
}

describe("the frames of a link", () => {
  test("are found, whatever the pieces in which they arrive", () => {
    fc.assert(
      fc.property(frames, sizes, (all, pieces) => {
        expect(readInPieces(linkOf(all), pieces)).toEqual(all);
      }),
    );
  });

  test("are reported as far as they came whole, if the link is cut", () => {
    fc.assert(
      fc.property(frames, sizes, fc.nat(3_000), (all, pieces, cut) => {
        const bytes = linkOf(all).subarray(0, cut);
        let whole = 0;
        while (whole < all.length && linkOf(all.slice(0, whole + 1)).length <= cut) whole += 1;
        expect(readInPieces(bytes, pieces)).toEqual(all.slice(0, whole));
      }),
    );
  });

  test("are the same in any pieces after any change of their bytes, and nothing follows a refusal", () => {
    const changes = fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(frames, sizes, changes, (all, pieces, changed) => {
        const bytes = linkOf(all);
        for (const [at, value] of changed) if (at < bytes.length) bytes[at] = value;
        const seen = readInPieces(bytes, pieces);
        expect(seen).toEqual(readInPieces(bytes, [bytes.length]));
        const ends = seen.findIndex((one) => !("kind" in one));
        expect(ends === -1 || ends === seen.length - 1).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  test("hold no piece by a small part of it, and are not copied if they are most of it", () => {
    const kept: Uint8Array[] = [];
    const reader = new FrameReader(FROM_DIALER, {
      onFrame: (_, body) => kept.push(body),
      onForeign: () => undefined,
      onBad: () => undefined,
    });
    reader.push(LINK_PREFACE);
    const small = frameOfKind(FRAME.messages, new Uint8Array(10));
    const large = frameOfKind(FRAME.messages, new Uint8Array(1_000));
    const piece = Uint8Array.from(Buffer.concat([small, large, small]));
    reader.push(piece);
    expect(kept.map(({ buffer }) => buffer.byteLength)).toEqual([10, piece.length, 10]);
    expect(kept[1]?.buffer).toBe(piece.buffer);
  });
});

describe("a head that is not allowed", () => {
  const head = (length: number, kind: number): Buffer => {
    const bytes = Buffer.alloc(5);
    bytes.writeUInt32BE(length);
    bytes[4] = kind;
    return bytes;
  };
  test.each([
    ["a hello before the hello", BEFORE_HELLO, FRAME.hello, HELLO_BYTES_MAX],
    ["a close before the hello", BEFORE_HELLO, FRAME.close, 125],
    ["messages of the node that dialed", FROM_DIALER, FRAME.messages, 16 << 20],
    ["a ping of the node that dialed", FROM_DIALER, FRAME.ping, 0],
    ["a pong of the node that was dialed", FROM_DIALED, FRAME.pong, 0],
  ])("is too long for %s, and nothing after it is read", (_, limits, kind, most) => {
    const { reader, seen } = reading(limits);
    reader.push(Buffer.concat([LINK_PREFACE, head(most + 1, kind)]));
    const reason = `a frame of kind ${kind} with ${most + 1} bytes, at most ${most}`;
    expect(seen).toEqual([{ code: 1002, reason }]);
    reader.push(Buffer.concat([Buffer.alloc(most + 1), head(0, FRAME.ping)]));
    expect(seen).toHaveLength(1);
    const other = reading(limits);
    other.reader.push(Buffer.concat([LINK_PREFACE, head(most, kind)]));
    expect(other.seen.length).toBe(most === 0 ? 1 : 0);
  });

  test("is of any kind that is not expected", () => {
    for (const limits of [BEFORE_HELLO, FROM_DIALER, FROM_DIALED]) {
      for (let kind = 0; kind < 256; kind += 1) {
        if (limits[kind] !== undefined) continue;
        const { reader, seen } = reading(limits);
        reader.push(Buffer.concat([LINK_PREFACE, head(0, kind), head(0, FRAME.ping)]));
        expect(seen).toEqual([
          { code: 1002, reason: `a frame of kind ${kind} is not allowed here` },
        ]);
      }
    }
  });
});

describe("somebody who speaks something else", () => {
  test("is found at the first byte that does not fit, and nothing after it is read", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 100 }), sizes, (bytes, pieces) => {
        const common = bytes.findIndex((byte, at) => byte !== LINK_PREFACE[at]);
        fc.pre(common >= 0 && common < 4);
        const { reader, seen } = reading();
        for (const byte of bytes.subarray(0, common)) reader.push(Uint8Array.of(byte));
        expect(seen).toEqual([]);
        reader.push(bytes.subarray(common));
        expect(seen).toEqual([{ foreign: bytes[0] }]);
        expect(reader.isOfLink).toBe(false);
        reader.push(LINK_PREFACE);
        expect(seen).toHaveLength(1);
        expect(readInPieces(bytes, pieces)).toEqual(seen);
      }),
    );
  });

  test("is named if it is HTTP or TLS", () => {
    const named = (text: string) => foreignLanguage(text.charCodeAt(0));
    for (const method of ["GET", "HEAD", "POST", "OPTIONS", "PRI"])
      expect(named(method)).toBe("HTTP");
    expect(named("HTTP/1.1 400 Bad Request")).toBe("HTTP");
    expect([named("\x16\x03\x01"), named("\x15\x03\x03")]).toEqual(["TLS", "TLS"]);
    expect([named("\0"), named("*1\r\n"), named("ssh-")]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("another version of a link is refused with both versions, whatever follows", () => {
    const bytes = Buffer.concat([LINK_PREFACE, Buffer.from("anything")]);
    bytes.writeUInt16BE(3, 4);
    const reason =
      "the link has version 3, this node speaks 2: run one version of Holdfast on all nodes";
    for (const pieces of [[1], [5], [100]]) {
      expect(readInPieces(bytes, pieces)).toEqual([{ code: 4001, reason }]);
    }
  });
});

describe("the words of a close", () => {
  test("come back as they were, cut to 123 bytes at a character", () => {
    const long = closeFrame(4_005, `${"r".repeat(122)}é and more`);
    expect(readClose(long.subarray(5))).toEqual({ code: 4_005, reason: "r".repeat(122) });
    expect(readClose(closeFrame(1_001, "").subarray(5))).toEqual({ code: 1_001, reason: "" });
    expect(readClose(new Uint8Array(1))).toBeUndefined();
  });
});
