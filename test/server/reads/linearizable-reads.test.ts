/**
 * Reads through whole drivers: whichever node is asked, the answer shows everything that was
 * answered before, even while the leader changes, and nothing is written for it.
 */
import { describe, expect, test } from "vitest";
import { type Answer, OP, STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import type { TestClient } from "../world/test-client.js";
import type { World } from "../world/world.js";

/** Clients that never attach: a session would make the log grow with time. */
async function readersOf(world: World): Promise<TestClient[]> {
  const readers = world.nodes.map((node) => {
    const reader = world.client();
    reader.connect(node);
    return reader;
  });
  await world.until("connected", () => readers.every(({ hello }) => hello !== undefined));
  return readers;
}

describe("reads", () => {
  test("from every node write nothing into any log", async () => {
    const { world, leader } = await startCluster();
    const readers = await readersOf(world);
    await world.run(2_000);
    const before = world.nodes.map(({ raft, disk }) => [raft.commitIndex, disk.records.length]);
    for (let id = 1; id <= 300; id += 1) {
      for (const reader of readers) {
        if (id % 2 === 0) reader.query({ op: OP.inspect, id, key: "a" });
        else reader.query({ op: OP.query, id, prefix: "", after: "", limit: 10 });
      }
      await world.run(7);
    }
    const isAnswered = (reader: TestClient): boolean => reader.answer(300) !== undefined;
    await world.until("the last answers", () => readers.every(isAnswered));
    for (const reader of readers) {
      for (let id = 1; id <= 300; id += 1) expect(reader.answer(id)?.status).toBe(STATUS.ok);
    }
    const after = world.nodes.map(({ raft, disk }) => [raft.commitIndex, disk.records.length]);
    expect(after).toEqual(before);
    expect(leader.raft.role).toBe("leader");
  });

  test.each([1, 2, 3, 4])("never show what was before an answer: seed %i", async (seed) => {
    const { world, leader } = await startCluster({ seed });
    const { term } = leader.raft;
    const readers = await readersOf(world);
    const writer = world.client();
    await writer.start(world.node(1), 600_000);
    const operator = new Operator(world, world.node(2));
    for (let id = 1; id <= 60; id += 1) {
      if (id % 20 === 10) operator.askTransfer(0);
      const { result } = await writer.untilReply(writer.acquire("a", 0));
      expect(result.status).toBe(STATUS.granted);
      const token = "token" in result ? result.token : 0;
      const reader = readers[id % 3] as TestClient;
      reader.query({ op: OP.inspect, id, key: "a" });
      await world.until(`answer ${id}`, () => reader.answer(id) !== undefined);
      const { status, payload } = reader.answer(id) as Answer;
      expect(status).toBe(STATUS.ok);
      expect(payload).toMatchObject({ holds: [{ token }] });
      await writer.untilReply(writer.end(writer.lastSequence));
    }
    expect(world.leader?.raft.term).toBeGreaterThanOrEqual(term + 3);
    await expectAgreement(world);
  });
});
