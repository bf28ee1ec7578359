import { describe, expect, test } from "vitest";
import type { Message } from "../../../src/raft/index.js";
import { DeferredMessages } from "../../../src/server/driver/deferred-messages.js";

const ENVELOPE = { from: 1, to: 2, term: 3, epoch: 4 };

function accepted(matchIndex: number): Message {
  const none = { rejectedIndex: 0, needsSnapshot: false, hintIndex: 0, hintTerm: 0 };
  return { type: "appendReply", ...ENVELOPE, success: true, matchIndex, ...none };
}

function vote(granted: boolean): Message {
  return { type: "voteReply", ...ENVELOPE, granted };
}

/** A log whose mark is durable when the test says so. */
class Mark {
  syncs: (() => void)[] = [];
  told = 0;
  readonly failures: unknown[] = [];
  readonly deferred = new DeferredMessages(
    () => new Promise((resolve) => this.syncs.push(resolve)),
    () => {
      this.told += 1;
    },
    (error) => this.failures.push(error),
  );
}

describe("messages that wait for the disk", () => {
  test("leave when their write is durable, in order, and not before", () => {
    const { deferred } = new Mark();
    const sent: Message[] = [];
    const send = (message: Message): number => sent.push(message);
    for (const seq of [1, 2, 2, 4]) deferred.push({ seq, message: accepted(seq) });
    deferred.release(0, send);
    expect(sent).toEqual([]);
    deferred.release(3, send);
    expect(sent).toEqual([accepted(1), accepted(2), accepted(2)]);
    deferred.release(4, send);
    expect(sent).toHaveLength(4);
  });

  test("hold a granted vote back until the mark is synced too, and what comes after it", async () => {
    const mark = new Mark();
    const { deferred } = mark;
    const sent: Message[] = [];
    const send = (message: Message): number => sent.push(message);
    deferred.push({ seq: 1, message: vote(true) });
    deferred.push({ seq: 1, message: accepted(1) });
    deferred.release(0, send);
    expect(mark.syncs).toHaveLength(0);
    deferred.release(1, send);
    deferred.release(1, send);
    expect(mark.syncs).toHaveLength(1);
    expect(sent).toEqual([]);
    mark.syncs[0]?.();
    await null;
    expect(mark.told).toBe(1);
    deferred.release(1, send);
    expect(sent).toEqual([vote(true), accepted(1)]);
  });

  test("sync the mark once for every granted vote, and for no refused one", async () => {
    const mark = new Mark();
    const { deferred } = mark;
    const sent: Message[] = [];
    const send = (message: Message): number => sent.push(message);
    for (const granted of [false, true, true]) deferred.push({ seq: 1, message: vote(granted) });
    for (const expected of [1, 2]) {
      deferred.release(1, send);
      expect(mark.syncs).toHaveLength(expected);
      mark.syncs.at(-1)?.();
      await null;
    }
    deferred.release(1, send);
    expect(sent).toHaveLength(3);
  });

  test("report a mark that could not be synced", async () => {
    const failures: unknown[] = [];
    const error = new Error("disk");
    const deferred = new DeferredMessages(
      () => Promise.reject(error),
      () => {},
      (cause) => failures.push(cause),
    );
    deferred.push({ seq: 1, message: vote(true) });
    deferred.release(1, () => expect.unreachable());
    await null;
    await null;
    expect(failures).toEqual([error]);
  });
});
