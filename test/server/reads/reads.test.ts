import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { type KeyView, OP, STATUS } from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";

describe("reads", () => {
  test("see everything that was answered before, on every node", async () => {
    const { world, leader, followers } = await startCluster();
    const writer = world.client();
    await writer.start(leader);
    const readers = [];
    for (const node of [leader, ...followers]) {
      const reader = world.client();
      reader.connect(node);
      readers.push(reader);
    }
    for (let round = 1; round <= 20; round += 1) {
      const sequence = writer.acquire(`key-${round}`, 0);
      await writer.untilReply(sequence);
      for (const reader of readers) {
        reader.query({ op: OP.inspect, id: round, key: `key-${round}` });
      }
      for (const reader of readers) {
        await world.until("answer", () => reader.answer(round) !== undefined);
        const view = reader.answer(round)?.payload as KeyView;
        expect(view.holds.map(({ token }) => token)).toEqual([writer.token(sequence)]);
      }
    }
  });

  test("are not answered from the past by a follower that was cut off unnoticed", async () => {
    const { world, leader, followers } = await startCluster();
    const [near, far] = followers;
    const writer = world.client();
    await writer.start(leader);
    const reader = world.client();
    reader.connect(far);
    await world.run(5);
    world.network.cut([far.id], [leader.id, near.id]);
    const sequence = writer.acquire("a", 0);
    await writer.untilReply(sequence);
    reader.query({ op: OP.inspect, id: 1, key: "a" });
    await world.run(300);
    expect(reader.answer(1)).toBeUndefined();
    world.network.heal();
    await world.until("answer", () => reader.answer(1) !== undefined);
    const view = reader.answer(1)?.payload as KeyView;
    expect(view.holds.map(({ token }) => token)).toEqual([writer.token(sequence)]);
  });

  test("are asked again when the leader changes before their barrier is applied", async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed });
      const reader = world.client();
      reader.connect(followers[0]);
      await world.run(5);
      reader.query({ op: OP.query, id: 1, prefix: "", after: undefined, limit: 10 });
      await world.run(1 + (seed % 5) * 0.8);
      leader.crash();
      await world.until("answer", () => reader.answer(1) !== undefined);
      expect(reader.answer(1)?.status).toBe(STATUS.ok);
    }
  });

  test("are UNAVAILABLE, and certainly without effect, on a node without a leader", async () => {
    const { world, leader, followers } = await startCluster();
    const reader = world.client();
    reader.connect(followers[0]);
    await world.run(5);
    leader.crash();
    followers[1].crash();
    reader.query({ op: OP.inspect, id: 1, key: "a" });
    await world.until("answer", () => reader.answer(1) !== undefined);
    expect(reader.answer(1)?.status).toBe(ERROR_NUMBERS.UNAVAILABLE);
    expect(reader.answer(1)?.payload).toEqual({ indeterminate: false });
  });

  test("are not answered by a leader that was cut off and replaced", async () => {
    const { world, leader, followers } = await startCluster();
    const writer = world.client();
    await writer.start(followers[0]);
    const reader = world.client();
    reader.connect(leader);
    await world.run(5);
    world.network.cut(
      [leader.id],
      followers.map(({ id }) => id),
    );
    leader.pause(4_000);
    await world.until("a new leader", () =>
      followers.some(({ raft }) => raft.role === "leader" && raft.commitIndex === raft.lastIndex),
    );
    const sequence = writer.acquire("a", 0);
    await writer.untilReply(sequence);
    reader.query({ op: OP.inspect, id: 1, key: "a" });
    await world.run(2_000);
    expect(reader.answer(1)).toBeUndefined();
    world.network.heal();
    await world.until("answer", () => reader.answer(1) !== undefined);
    const { status, payload } = reader.answer(1) ?? {};
    if (status === STATUS.ok) expect((payload as KeyView).holds).toHaveLength(1);
    else expect(status).toBe(ERROR_NUMBERS.UNAVAILABLE);
  });
});
