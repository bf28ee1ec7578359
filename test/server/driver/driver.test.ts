import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { BATCH_HEADER_BYTES, OP, STATUS } from "../../../src/protocol/index.js";
import { decodeCommand } from "../../protocol/command-bytes.js";
import { recordsOf } from "../../protocol/frames.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { World } from "../world/world.js";

describe("a cluster of drivers", () => {
  test("elects a leader and grants a lock to a client of a follower", async () => {
    const { world, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    expect(client.hello?.leaderId).toBe(world.leader?.id);
    const reply = await client.untilReply(client.acquire("a"));
    expect(reply.result.status).toBe(STATUS.granted);
    await expectAgreement(world);
  });

  test("hands a lock over between clients of different nodes, in order of arrival", async () => {
    const { world, leader, followers } = await startCluster();
    const clients = [leader, ...followers, leader].map((node) => ({
      node,
      client: world.client(),
    }));
    for (const { node, client } of clients) await client.start(node);
    const sequences = [];
    for (const { client } of clients) {
      const sequence = client.acquire("a");
      await client.untilReply(sequence);
      sequences.push(sequence);
    }
    let lastToken = 0;
    for (const [i, { client }] of clients.entries()) {
      const sequence = sequences[i] ?? 0;
      await world.until(`grant ${i}`, () => client.token(sequence) > 0);
      expect(client.token(sequence)).toBeGreaterThan(lastToken);
      lastToken = client.token(sequence);
      client.end(sequence);
    }
    await expectAgreement(world);
  });

  test.each([
    [1, 5, 7],
    [0, 4, 6],
  ])(
    "answers after the hops and writes that cannot be avoided, and no sooner or later, with writes of %d ms",
    async (diskMs, leaderMs, followerMs) => {
      // One way takes a millisecond. Through the leader: client, append, write, acknowledgement,
      // client. Through a follower: the way to the leader and the way of the commit.
      const { world, leader, followers } = await startCluster({ diskMs });
      for (const [node, expectedMs] of [
        [leader, leaderMs],
        [followers[0], followerMs],
      ] as const) {
        const client = world.client();
        await client.start(node);
        await world.run(50);
        const sentMs = world.nowMs;
        await client.untilReply(client.acquire(`key-${node.id}`, 0));
        expect(world.nowMs - sentMs).toBeCloseTo(expectedMs, 3);
      }
    },
  );

  test("a follower takes one turn for a record that is written at once, and two otherwise", async () => {
    for (const [diskMs, turns] of [
      [0, 1],
      [1, 2],
    ] as const) {
      const tuning = { spareDelayMs: 0 };
      const { world, leader, followers } = await startCluster({ diskMs, tuning });
      const client = world.client();
      await client.start(leader);
      // After the heartbeat, which also takes a turn.
      const before = followers.map(({ driver }) => driver.turn);
      for (let i = 0; i < 20; i += 1) await client.untilReply(client.acquire(`key-${i}`, 0));
      for (const [at, { driver }] of followers.entries()) {
        const taken = driver.turn - (before[at] ?? 0);
        expect(taken).toBeGreaterThanOrEqual(20 * turns);
        expect(taken).toBeLessThan(20 * turns + 10);
      }
    }
  });

  test("serves a cluster of one", async () => {
    const world = new World({ nodeCount: 1 });
    world.startAll();
    await world.untilLeader();
    const client = world.client();
    await client.start(world.node(1));
    expect((await client.untilReply(client.acquire("a"))).result.status).toBe(STATUS.granted);
  });

  test("ends a node whose log failed, once and for all, and goes on without it", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const error = new Error("write failed");
    leader.log.fail(error);
    leader.log.fail(new Error("and again"));
    expect(leader.failures).toEqual([error]);
    const { turn } = leader.driver;
    await world.run(1_000);
    expect(leader.driver.turn).toBe(turn);
    leader.crash();
    const reply = await client.untilReply(client.acquire("a", 0));
    expect(reply.result.status).toBe(STATUS.granted);
  });

  test("continues from its disks after all processes died", async () => {
    const { world, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const granted = client.acquire("a");
    await client.untilReply(granted);
    const stampBefore = world.leader?.table.stamp ?? 0;
    for (const node of world.nodes) node.crash();
    await world.run(30_000);
    world.startAll();
    const leader = await world.untilLeader();
    await client.start(leader);
    const late = client.acquire("a", 0);
    const { result, stamp } = await client.untilReply(late);
    // The same session still holds it: the time in which nobody led was not counted.
    expect(result.status).toBe(ERROR_NUMBERS.LOCK_HELD);
    expect(stamp).toBeGreaterThanOrEqual(stampBefore);
    expect(stamp).toBeLessThan(stampBefore + 10_000);
    await expectAgreement(world);
  });
});

describe("batching", () => {
  test("puts all that came in one turn into one entry, each command's bytes as they came", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const before = leader.raft.lastIndex;
    const sequences = Array.from({ length: 100 }, (_, i) => client.acquire(`key-${i}`, 0));
    for (const sequence of sequences) await client.untilReply(sequence);
    const entries = leader.raft
      .entries(before + 1, leader.raft.lastIndex)
      .filter(({ data }) => data.length > BATCH_HEADER_BYTES);
    expect(entries).toHaveLength(1);
    const records = recordsOf(entries[0]?.data ?? new Uint8Array(0), BATCH_HEADER_BYTES);
    expect(records.map(({ bytes }) => decodeCommand(bytes))).toMatchObject(
      sequences.map((sequence) => ({ op: OP.acquire, sequence })),
    );
  });

  test("keeps at most a few entries uncommitted and loses nothing that waits", async () => {
    const tuning = { pipelineEntriesMax: 2, batchBytesMax: 1_024 };
    const { world, leader } = await startCluster({ tuning, diskMs: 5 });
    const client = world.client();
    await client.start(leader);
    let most = 0;
    const sequences: number[] = [];
    for (let i = 0; i < 300; i += 1) {
      sequences.push(client.acquire(`key-${i}`, 0));
      await world.run(0.3);
      most = Math.max(most, leader.raft.uncommittedEntries);
    }
    for (const sequence of sequences) await client.untilReply(sequence);
    expect(most).toBe(2);
    expect(leader.table.counts().holds).toBe(300);
  });

  test("gathers keepalives for a 20th of the shortest lease, and an entry takes them along", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0], 2_000);
    await world.run(150);
    const alone = client.keepalive();
    const sentMs = world.nowMs;
    await world.run(90);
    expect(client.renewed(alone)).toBeUndefined();
    await world.until("the renewal", () => client.renewed(alone) !== undefined);
    expect(world.nowMs - sentMs).toBeLessThan(120);
    const along = client.keepalive();
    client.acquire("a", 0);
    const alongMs = world.nowMs;
    await world.until("the renewal", () => client.renewed(along) !== undefined);
    expect(world.nowMs - alongMs).toBeLessThan(15);
    expect(leader.failures).toEqual([]);
  });
});
