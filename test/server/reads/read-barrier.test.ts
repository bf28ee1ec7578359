/**
 * Reads of one node that wait for their index. The test plays the core, the leader and the other
 * nodes.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { LockTable } from "../../../src/lockfsm/index.js";
import type { PeerMessage } from "../../../src/net/index.js";
import { MESSAGE, OP, STATUS } from "../../../src/protocol/index.js";
import { Attachment } from "../../../src/server/commands/attachments.js";
import { Reads } from "../../../src/server/reads/reads.js";
import { RequestIds } from "../../../src/server/request-ids.js";
import { RecordingConnection } from "../world/recording-connection.js";
import { answersFrom } from "./answers-from-table.js";

const WAIT_MS = 1_000;
const AGAIN_MS = 200;
const TIMING = { waitMsMax: WAIT_MS, askAgainAfterMs: AGAIN_MS };
const TERM = 3;

class Reader {
  readonly connection = new RecordingConnection(1);
  readonly attachment = new Attachment(this.connection);
  readonly sent: PeerMessage[] = [];
  readonly table = new LockTable();
  readonly reads = new Reads(TIMING, (_peer, message) => this.sent.push(message));

  ask(id: number, nowMs = 0): void {
    this.reads.add(this.attachment, { op: OP.inspect, id, key: "a" }, nowMs);
  }

  /** The statuses of all answers so far. */
  get answers(): number[] {
    this.reads.answer(answersFrom(this.table), 100);
    return this.connection.sent.flatMap((message) =>
      message.kind === MESSAGE.answer ? [message.status] : [],
    );
  }
}

describe("a read", () => {
  test("is answered when its index is applied, and not before", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.onIndex(reader.reads.askCore(0), 10);
    reader.reads.onApplied(9);
    expect(reader.answers).toEqual([]);
    reader.reads.onApplied(10);
    expect(reader.answers).toEqual([STATUS.ok]);
  });

  test("with an index is answered though the leader changes", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.onIndex(reader.reads.askCore(0), 10);
    reader.reads.restart();
    expect(reader.reads.needIndex).toBe(false);
    reader.reads.onApplied(12);
    expect(reader.answers).toEqual([STATUS.ok]);
  });

  test("that comes after a question was asked does not share its answer", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.askLeader(2, TERM, 0);
    reader.ask(2);
    expect(reader.sent).toEqual([{ type: "readBarrier", id: 1, term: TERM }]);
    reader.reads.onIndex(1, 10);
    reader.reads.onApplied(10);
    expect(reader.answers).toEqual([STATUS.ok]);
    expect(reader.reads.needIndex).toBe(true);
  });

  test("is asked for again when the core refuses it, or the leader changes", () => {
    const reader = new Reader();
    reader.ask(1);
    reader.reads.onRefused(reader.reads.askCore(0));
    expect(reader.reads.needIndex).toBe(true);
    reader.reads.askLeader(2, TERM, 0);
    expect(reader.reads.needIndex).toBe(false);
    reader.reads.restart();
    expect(reader.reads.needIndex).toBe(true);
    // The answer to the question of before.
    reader.reads.onIndex(2, 10);
    reader.reads.onApplied(10);
    expect(reader.answers).toEqual([]);
  });

  test("is asked for again when the answer does not come", () => {
    const reader = new Reader();
    reader.ask(1, 50);
    reader.reads.askLeader(2, TERM, 50);
    expect(reader.reads.nextDeadlineMs).toBe(50 + AGAIN_MS);
    reader.reads.expire(50 + AGAIN_MS);
    reader.reads.askLeader(2, TERM, 50 + AGAIN_MS);
    expect(reader.sent.map((message) => "id" in message && message.id)).toEqual([1, 2]);
  });

  test.each<[string, (reads: Reads) => void]>([
    ["without an index", () => {}],
    ["whose question is not answered", (reads) => reads.askLeader(2, TERM, 50 + WAIT_MS - 2)],
    ["whose index is not applied", (reads) => reads.onIndex(reads.askCore(50), 10)],
  ])("%s is UNAVAILABLE after its time", (_what, prepare) => {
    const reader = new Reader();
    reader.ask(1, 50);
    prepare(reader.reads);
    reader.reads.expire(50 + WAIT_MS - 1);
    expect(reader.answers).toEqual([]);
    expect(reader.reads.nextDeadlineMs).toBe(50 + WAIT_MS);
    reader.reads.expire(50 + WAIT_MS);
    expect(reader.answers).toEqual([ERROR_NUMBERS.UNAVAILABLE]);
  });

  test("is not answered by what was asked in an earlier life of the node", () => {
    const ask = (incarnation: number) => {
      const sent: PeerMessage[] = [];
      const numbers = new RequestIds(incarnation);
      const reads = new Reads(TIMING, (_peer, message) => sent.push(message), numbers);
      const attachment = new Attachment(new RecordingConnection(1));
      reads.add(attachment, { op: OP.inspect, id: 1, key: "a" }, 0);
      reads.askLeader(2, TERM, 0);
      const [question] = sent;
      return { reads, id: question?.type === "readBarrier" ? question.id : 0 };
    };
    const before = ask(6);
    const after = ask(7);
    expect(Number.isSafeInteger(before.id) && Number.isSafeInteger(after.id)).toBe(true);
    after.reads.onIndex(before.id, 10);
    after.reads.onApplied(10);
    expect(after.reads.hasReady).toBe(false);
    after.reads.onIndex(after.id, 11);
    after.reads.onApplied(11);
    expect(after.reads.hasReady).toBe(true);
  });

  test("of another node gets the index, or a refusal when the leader goes", () => {
    const reader = new Reader();
    reader.reads.addRemote(2, 77);
    reader.reads.onIndex(reader.reads.askCore(0), 10);
    reader.reads.addRemote(3, 78);
    reader.reads.askCore(0);
    reader.reads.addRemote(3, 79);
    reader.reads.restart();
    expect(reader.sent).toEqual([
      { type: "readIndex", id: 77, index: 10 },
      { type: "readIndex", id: 78, index: 0 },
      { type: "readIndex", id: 79, index: 0 },
    ]);
  });

  test("beyond what the node takes from all together is BUSY", () => {
    const reader = new Reader();
    for (let number = 2; number < 2 + 16_384 / 256; number += 1) {
      const attachment = new Attachment(new RecordingConnection(number));
      for (let id = 1; id <= 256; id += 1) {
        reader.reads.add(attachment, { op: OP.inspect, id, key: "a" }, 0);
      }
    }
    reader.ask(1);
    expect(reader.answers).toEqual([ERROR_NUMBERS.BUSY]);
  });

  test.each<[string, (reads: Reads) => void]>([
    ["was never asked for", () => {}],
    ["was asked for", (reads) => reads.askLeader(2, TERM, 0)],
    ["has an index", (reads) => reads.onIndex(reads.askCore(0), 10)],
  ])("of a connection that closed and %s leaves its room to others", (_what, prepare) => {
    const { reads, attachment, connection, table } = new Reader();
    const fill = () => {
      const attachments = Array.from(
        { length: 16_384 / 256 },
        () => new Attachment(new RecordingConnection(2)),
      );
      for (const one of attachments) {
        for (let id = 1; id <= 256; id += 1) reads.add(one, { op: OP.inspect, id, key: "a" }, 0);
      }
      return attachments;
    };
    for (const one of fill()) one.isClosed = true;
    prepare(reads);
    reads.onApplied(10);
    reads.answer(answersFrom(table), 1_024);
    reads.expire(WAIT_MS);
    expect(fill().flatMap((one) => (one.connection as RecordingConnection).sent)).toEqual([]);
    reads.add(attachment, { op: OP.inspect, id: 1, key: "a" }, 0);
    expect(connection.sent).toMatchObject([{ status: ERROR_NUMBERS.BUSY }]);
  });

  test("that shows a page of keys is the last one of its turn", () => {
    const { reads, attachment, connection, table } = new Reader();
    const page = { op: OP.query, prefix: "", after: undefined, limit: 1 } as const;
    for (const id of [1, 2]) reads.add(attachment, { ...page, id }, 0);
    for (const id of [3, 4]) reads.add(attachment, { op: OP.inspect, id, key: "a" }, 0);
    reads.onIndex(reads.askCore(0), 10);
    reads.onApplied(10);
    const answered: number[] = [];
    for (let turn = 1; turn <= 4; turn += 1) {
      reads.answer(answersFrom(table), 1_024);
      answered.push(connection.sent.length);
    }
    expect(answered).toEqual([1, 2, 4, 4]);
    expect(reads.hasReady).toBe(false);
  });

  test("of a crowded key leaves less of the turn to others", () => {
    const { reads, attachment, connection, table } = new Reader();
    const outbox = { toSession: () => {}, attached: () => {} };
    const [nonce, ttlMs] = ["0".repeat(32), 600_000];
    const open = { op: OP.open, nonce, attempt: 1, ttlMs, name: "", metadata: "" } as const;
    const acquires = Array.from({ length: 501 }, (_, i) => ({
      session: 1,
      epoch: 1,
      command: {
        op: OP.acquire,
        sequence: i + 1,
        mark: 1,
        acknowledged: [],
        task: i + 1,
        items: [{ key: "a", mode: "exclusive" }],
        waitMs: -1,
      } as const,
    }));
    const commands = [{ session: 0, epoch: 0, command: open }, ...acquires];
    table.apply({ index: 1, stamp: 1, wallMs: 0, commands }, outbox);
    for (let id = 1; id <= 10; id += 1) reads.add(attachment, { op: OP.inspect, id, key: "a" }, 0);
    reads.onIndex(reads.askCore(0), 10);
    reads.onApplied(10);
    reads.answer(answersFrom(table), 1_024);
    expect(connection.sent).toHaveLength(2);
  });

  test("is refused to a connection that has many without an answer, and to no other", () => {
    const { reads, attachment, connection, table } = new Reader();
    const other = new RecordingConnection(2);
    const inspect = { op: OP.inspect, key: "a" } as const;
    for (let id = 1; id <= 20_000; id += 1) reads.add(attachment, { ...inspect, id }, 0);
    reads.add(new Attachment(other), { ...inspect, id: 1 }, 0);
    expect(other.sent).toEqual([]);
    const refused = connection.sent.length;
    expect(refused).toBeGreaterThan(19_000);
    reads.onIndex(reads.askCore(0), 10);
    reads.onApplied(10);
    while (reads.hasReady) reads.answer(answersFrom(table), 1_024);
    expect(other.sent).toMatchObject([{ kind: MESSAGE.answer, status: STATUS.ok }]);
    // What was answered makes room again.
    reads.add(attachment, { ...inspect, id: 1 }, 0);
    expect(connection.sent).toHaveLength(20_000);
  });
});
