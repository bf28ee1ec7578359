/**
 * The time of the cluster as stamps in the log, through whole drivers. The clock itself has a test
 * of its own, `cluster-clock.test.ts`.
 */
import { describe, expect, test } from "vitest";
import { decodeBatchHeader } from "../../../src/protocol/index.js";
import { expectAgreement, followersOf, startCluster } from "../world/cluster.js";
import type { WorldNode } from "../world/world.js";

describe("cluster time in the log", () => {
  function stamps(node: WorldNode): number[] {
    const found: number[] = [];
    for (const { kind, data } of node.raft.entries(1, node.raft.lastIndex)) {
      if (kind === "command") found.push(decodeBatchHeader(data).stamp);
    }
    return found;
  }

  test("ends a lease no sooner than its length after the last command, and soon after it", async () => {
    const { world, leader, followers } = await startCluster();
    const holder = world.client();
    const waiter = world.client();
    await holder.start(leader, 2_000);
    await waiter.start(followers[0]);
    await holder.untilReply(holder.acquire("a"));
    const waiting = waiter.acquire("a");
    await waiter.untilReply(waiting);
    const sentMs = world.nowMs;
    await holder.untilReply(holder.acquire("b"));
    await world.until("handed over", () => waiter.token(waiting) > 0);
    expect(world.nowMs - sentMs).toBeGreaterThanOrEqual(2_000);
    expect(world.nowMs - sentMs).toBeLessThan(2_100);
  });

  test("stands still while nobody leads and does not count a paused leader's pause", async () => {
    const { world, leader, followers } = await startCluster();
    const holder = world.client();
    await holder.start(followers[0], 5_000);
    await holder.untilReply(holder.acquire("a"));
    for (const node of world.nodes) node.pause(60_000);
    await world.run(60_000);
    await world.run(3_000);
    expect(leader.table.counts().holds).toBe(1);
    await world.until("expired", () => leader.table.counts().holds === 0);
  });

  test("never falls over changes of leader, and goes on from the last stamp in the log", async () => {
    const { world } = await startCluster({ seed: 7 });
    const client = world.client();
    for (let round = 0; round < 5; round += 1) {
      const leader = await world.untilLeader();
      const before = stamps(leader).at(-1) ?? 0;
      const [follower] = followersOf(world, leader);
      await client.start(follower);
      await client.untilReply(client.acquire(`key-${round}`, 0));
      leader.crash();
      const next = await world.untilLeader();
      await world.run(50);
      const all = stamps(next);
      expect(all).toEqual([...all].sort((a, b) => a - b));
      expect(all.at(-1)).toBeGreaterThanOrEqual(before);
      client.disconnect();
      leader.start();
    }
    await expectAgreement(world);
  });

  test("is stamped right after the first entry of every term", async () => {
    const { world, leader } = await startCluster();
    leader.crash();
    const next = await world.untilLeader();
    await world.run(100);
    const entries = next.raft.entries(1, next.raft.lastIndex);
    const last = entries.findLastIndex(({ kind }) => kind === "noop");
    expect(entries[last + 1]).toMatchObject({ kind: "command", term: next.raft.term });
  });

  test("is not written while nothing waits for it", async () => {
    const { world, leader } = await startCluster();
    const before = leader.raft.lastIndex;
    await world.run(60_000);
    expect(leader.raft.lastIndex).toBe(before);
  });

  test("is written at least every second while anything waits for it", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader, 600_000);
    const before = leader.raft.lastIndex;
    await world.run(10_000);
    expect(leader.raft.lastIndex - before).toBeGreaterThanOrEqual(9);
    expect(leader.raft.lastIndex - before).toBeLessThanOrEqual(11);
  });
});
