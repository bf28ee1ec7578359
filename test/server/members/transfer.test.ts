/**
 * Leadership that is handed over, for an operator or by a node that stops, through whole drivers.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import { World, type WorldNode } from "../world/world.js";

/** Resolves when `leave` of `node` has; fails when that takes longer than `limitMs`. */
async function left(world: World, node: WorldNode, limitMs: number): Promise<void> {
  let hasLeft = false;
  node.driver.leave().then(
    () => {
      hasLeft = true;
    },
    () => {},
  );
  const untilMs = world.nowMs + limitMs;
  while (!hasLeft && world.nowMs < untilMs) {
    await world.run(1);
    await null;
  }
  expect([world.options.seed, hasLeft]).toEqual([world.options.seed, true]);
}

describe("an operator's wish for another leader", () => {
  test.each([1, 2, 3])(
    "is fulfilled among commands, each of which counts once: %i",
    async (seed) => {
      const { world, leader, followers } = await startCluster({ seed });
      const [next, other] = followers;
      const clients = [leader, next, other].map((node) => ({ node, client: world.client() }));
      for (const { node, client } of clients) await client.start(node, 600_000);
      const operator = new Operator(world, other);
      const sequences: number[] = [];
      let answer = 0;
      for (let round = 0; round < 200; round += 1) {
        if (round === 100) answer = operator.askTransfer(next.id);
        for (const [at, { client }] of clients.entries()) {
          const sequence = client.acquire(`${at}/${round}`, 0);
          if (at === 0) sequences.push(sequence);
        }
        await world.run(1);
      }
      expect(await operator.status(answer)).toBe(STATUS.ok);
      expect((await world.untilLeader()).id).toBe(next.id);
      for (const { client } of clients) {
        for (const sequence of sequences) {
          expect((await client.untilReply(sequence)).result.status).toBe(STATUS.granted);
        }
      }
      expect(leader.table.counts().holds).toBe(600);
      await expectAgreement(world);
    },
  );

  test("is refused when that one dies, and this one goes on", async () => {
    const { world, leader, followers } = await startCluster();
    const [next, other] = followers;
    const operator = new Operator(world, other);
    world.network.filter = (_, to, message) =>
      !(to === next.id && message.type === "raft" && message.message.type === "timeoutNow");
    const answer = operator.askTransfer(next.id);
    await world.until("the hand-over", () => leader.raft.isTransferring);
    next.crash();
    expect(await operator.status(answer)).toBe(ERROR_NUMBERS.BUSY);
    expect(leader.raft.role).toBe("leader");
    const client = world.client();
    await client.start(other);
    expect((await client.untilReply(client.acquire("a", 0))).result.status).toBe(STATUS.granted);
  });

  test("of two operators: each learns how it ended", async () => {
    const { world, leader, followers } = await startCluster();
    const [next, other] = followers;
    const one = new Operator(world, leader);
    const two = new Operator(world, other);
    const first = one.askTransfer(next.id);
    const second = two.askTransfer(other.id);
    const third = two.askTransfer(0);
    for (const status of [
      await one.status(first),
      await two.status(second),
      await two.status(third),
    ]) {
      expect([STATUS.ok, ERROR_NUMBERS.BUSY]).toContain(status);
    }
    await world.untilLeader();
    await expectAgreement(world);
  });
});

describe("a node that stops", () => {
  test("hands over first, and is through within a fraction of an election timeout", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    await left(world, leader, 100);
    await leader.driver.stop();
    leader.crash();
    expect((await client.untilReply(client.acquire("a", 0))).result.status).toBe(STATUS.granted);
    expect(followers.some((node) => node.raft.role === "leader")).toBe(true);
  });

  test("waits for nobody when it follows, listens, is alone, or has no quorum", async () => {
    const { world, leader, followers } = await startCluster({ joinerCount: 1 });
    const [follower, other] = followers;
    await left(world, follower, 10);
    const operator = new Operator(world, leader);
    expect(await operator.change("add", 4)).toBe(STATUS.ok);
    world.node(4).start();
    await world.until("node 4 listens", () => world.node(4).raft.leader === leader.id);
    await left(world, world.node(4), 10);
    follower.crash();
    other.crash();
    await left(world, leader, 10);

    const alone = new World({ nodeCount: 1 });
    alone.startAll();
    await left(alone, await alone.untilLeader(), 10);
  });

  test("does not wait forever for one that does not take over", async () => {
    const { world, leader } = await startCluster();
    world.network.filter = (_from, _to, message) =>
      !(message.type === "raft" && message.message.type === "timeoutNow");
    // Asked twice, as by two signals.
    await Promise.all([left(world, leader, 1_300), leader.driver.leave()]);
    expect(leader.raft.role).toBe("leader");
  });

  test("while an operator's wish is under way is through with it", async () => {
    const { world, leader, followers } = await startCluster();
    const operator = new Operator(world, leader);
    const answer = operator.askTransfer(followers[0].id);
    await world.until("the hand-over", () => leader.raft.isTransferring);
    await left(world, leader, 1_300);
    expect(await operator.status(answer)).toBe(STATUS.ok);
    expect(leader.raft.role).not.toBe("leader");
  });

  test("is followed by the others until the last one keeps it to itself", async () => {
    const { world } = await startCluster();
    for (let { leader } = world; leader !== undefined; { leader } = world) {
      await left(world, leader, 1_300);
      leader.crash();
      if (world.nodes.filter((node) => node.isRunning).length < 2) break;
      await world.untilLeader();
    }
    expect(world.nodes.flatMap((node) => node.failures)).toEqual([]);
  });
});
