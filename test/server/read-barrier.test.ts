import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { LockTable } from "../../src/lockfsm/index.js";
import type { PeerMessage } from "../../src/net/index.js";
import { MESSAGE, OP, STATUS } from "../../src/protocol/index.js";
import { Attachment } from "../../src/server/attachment.js";
import { Reads } from "../../src/server/reads.js";
import { RecordingConnection } from "./recording-connection.js";

const WAIT_MS = 1_000;
const TERM = 3;

class Reader {
  readonly connection = new RecordingConnection(1);
  readonly attachment = new Attachment(this.connection);
  readonly sent: PeerMessage[] = [];
  readonly table = new LockTable();
  readonly reads = new Reads(WAIT_MS, (_peer, message) => this.sent.push(message));

  ask(id: number, nowMs = 0): void {
    this.reads.add(this.attachment, { op: OP.inspect, id, key: "a" }, nowMs);
  }

  /** The statuses of all answers so far. */
  get answers(): number[] {
    this.reads.answer(this.table, 100);
    return this.connection.sent.flatMap((message) =>
      message.kind === MESSAGE.answer ? [message.status] : [],
    );
  }
}

describe("a read", () => {
  test("is answered when the entry of its barrier is applied, and not before", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.place(reader.reads.join(), 10, TERM);
    reader.reads.onApplied(9, () => TERM);
    expect(reader.answers).toEqual([]);
    reader.reads.onApplied(10, () => TERM);
    expect(reader.answers).toEqual([STATUS.ok]);
  });

  test("is not answered when another term's entry stands where its barrier was", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.place(reader.reads.join(), 10, TERM);
    reader.reads.onApplied(12, () => TERM + 1);
    expect(reader.answers).toEqual([]);
    expect(reader.reads.needBarrier).toBe(true);
  });

  test("that comes after a barrier was asked for does not share it", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.ask(2, TERM);
    reader.ask(2);
    expect(reader.sent).toEqual([{ type: "readBarrier", id: 1, term: TERM }]);
    reader.reads.onReadIndex(1, 10);
    reader.reads.onApplied(10, () => TERM);
    expect(reader.answers).toEqual([STATUS.ok]);
    expect(reader.reads.needBarrier).toBe(true);
  });

  test("waits for the next leader when the barrier is refused", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.ask(2, TERM);
    reader.reads.onReadIndex(1, 0);
    expect(reader.reads.needBarrier).toBe(false);
    reader.reads.restart();
    expect(reader.reads.needBarrier).toBe(true);
    reader.reads.onReadIndex(1, 10);
    reader.reads.onApplied(10, () => TERM);
    expect(reader.answers).toEqual([]);
  });

  test.each<[string, (reads: Reads) => void]>([
    ["without a barrier", () => {}],
    ["whose question is not answered", (reads) => reads.ask(2, TERM)],
    ["whose barrier is not applied", (reads) => reads.place(reads.join(), 10, TERM)],
  ])("%s is UNAVAILABLE after its time", (_what, prepare) => {
    const reader = new Reader();
    reader.ask(1, 50);
    prepare(reader.reads);
    reader.reads.expire(50 + WAIT_MS - 1);
    expect(reader.answers).toEqual([]);
    expect(reader.reads.nextDeadlineMs).toBe(50 + WAIT_MS);
    reader.reads.expire(50 + WAIT_MS);
    expect(reader.answers).toEqual([ERROR_NUMBERS.UNAVAILABLE]);
    expect(reader.reads.nextDeadlineMs).toBe(Number.POSITIVE_INFINITY);
  });

  test("of another node gets the index of the entry, or a refusal when the leader goes", () => {
    const reader = new Reader();
    reader.reads.addRemote(2, 77);
    reader.reads.place(reader.reads.join(), 10, TERM);
    reader.reads.addRemote(3, 78);
    reader.reads.restart();
    expect(reader.sent).toEqual([
      { type: "readIndex", id: 77, index: 10 },
      { type: "readIndex", id: 78, index: 0 },
    ]);
  });

  test("beyond the limit is BUSY", () => {
    const reader = new Reader();
    for (let id = 1; id <= 16_385; id += 1) reader.ask(id);
    expect(reader.answers).toEqual([ERROR_NUMBERS.BUSY]);
  });
});
