/**
 * Changes of the members as operators request them, through whole drivers: a request is fulfilled
 * even if the leader changes, and a removed node ends unless it is added again.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { STATUS } from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import { Operator } from "../world/operator.js";
import { World, type WorldNode } from "../world/world.js";

async function useLocks(world: World, node: WorldNode, count: number): Promise<void> {
  const client = world.client();
  await client.start(node, 600_000);
  for (let round = 0; round < count; round += 1) {
    const { result } = await client.untilReply(client.acquire("a", 0));
    expect(result.status).toBe(STATUS.granted);
    await client.untilReply(client.end(client.lastSequence));
  }
  client.disconnect();
}

function removedFrom(node: WorldNode): string[] {
  return node.failures.map(({ message }) => message);
}

describe("a node that is removed", () => {
  test("ends when it knows, and not when it merely reads of it in the log", async () => {
    const { world, leader, followers } = await startCluster({
      tuning: { applySliceEntriesMax: 8 },
    });
    const [node, other] = followers;
    const operator = new Operator(world, leader);
    await node.crash();
    expect(await operator.change("remove", node.id)).toBe(STATUS.ok);
    await useLocks(world, leader, 40);
    expect(await operator.change("add", node.id)).toBe(STATUS.ok);
    await useLocks(world, leader, 40);
    await node.restart();
    await world.run(5_000);
    expect(node.failures).toEqual([]);
    await operator.admit(node);
    await expectAgreement(world);
    expect(await operator.change("remove", node.id)).toBe(STATUS.ok);
    await world.until("its end", () => node.failures.length > 0);
    expect(removedFrom(node)).toEqual([`node ${node.id} was removed from the cluster`]);
    expect(other.failures).toEqual([]);
  });

  test("comes back by a snapshot from before it was added again", async () => {
    const { world, leader, followers } = await startCluster({
      tuning: { snapshotLogBytes: 1_500, trailingLogBytes: 200 },
    });
    const [node] = followers;
    const operator = new Operator(world, leader);
    node.crash();
    expect(await operator.change("remove", node.id)).toBe(STATUS.ok);
    await useLocks(world, leader, 40);
    expect(leader.raft.snapshotIndex).toBeGreaterThan(20);
    expect(await operator.change("add", node.id)).toBe(STATUS.ok);
    await node.restart();
    await world.until("the snapshot is here", () => node.raft.appliedIndex > 20);
    await world.run(3_000);
    expect(node.failures).toEqual([]);
    await operator.admit(node);
    await expectAgreement(world);
  });

  test("was the one the client asked, and the client hears of its success first", async () => {
    const { world, leader, followers } = await startCluster();
    const [node] = followers;
    for (const removed of [node, leader]) {
      const operator = new Operator(world, removed);
      expect(await operator.change("remove", removed.id)).toBe(STATUS.ok);
      await world.until("its end", () => removed.failures.length > 0);
      removed.crash();
      await world.untilLeader();
    }
  });
});

describe("a change of the members", () => {
  test("grows one node to five and shrinks them to one, other than the first", async () => {
    const world = new World({ nodeCount: 1, joinerCount: 4 });
    world.startAll();
    const first = await world.untilLeader();
    const operator = new Operator(world, first);
    for (const node of world.nodes.slice(1)) {
      await operator.admit(node);
      await useLocks(world, node, 5);
    }
    await expectAgreement(world);
    for (const node of world.nodes.slice(0, 4)) {
      operator.moveTo(world.node(5));
      expect(await operator.change("remove", node.id)).toBe(STATUS.ok);
      await world.until("its end", () => node.failures.length > 0);
      node.crash();
      await world.untilLeader();
      await useLocks(world, world.node(5), 5);
    }
    expect((await operator.members()).members.map(({ id, role }) => [id, role])).toEqual([
      [5, "voter"],
    ]);
    expect(await operator.change("remove", 5)).toBe(ERROR_NUMBERS.INVALID_ARGUMENT);
  });

  test("is completed by the next leader, and reported by the node that was asked", async () => {
    for (let seed = 1; seed <= 16; seed += 1) {
      const { world, leader, followers } = await startCluster({ seed, joinerCount: 1 });
      const node = world.node(4);
      const operator = new Operator(world, followers[0]);
      expect(await operator.change("add", 4)).toBe(STATUS.ok);
      node.start();
      await world.until("caught up", () => node.raft.lastIndex === leader.raft.lastIndex);
      const wish = operator.ask("promote", 4);
      await world.run(seed / 2);
      leader.crash();
      expect([seed, await operator.status(wish)]).toEqual([seed, STATUS.ok]);
      await world.untilLeader();
      expect(world.leader?.raft.configuration).toMatchObject({
        voters: [1, 2, 3, 4],
        outgoing: [],
      });
      await leader.restart();
      await expectAgreement(world);
    }
  });

  test("by two operators at once: both wishes come true, one after the other", async () => {
    const { world, leader, followers } = await startCluster({ joinerCount: 2 });
    const one = new Operator(world, followers[0]);
    const two = new Operator(world, followers[1]);
    for (const node of [world.node(4), world.node(5)]) node.start();
    const added = [one.ask("add", 4), two.ask("add", 5)] as const;
    expect([await one.status(added[0]), await two.status(added[1])]).toEqual([
      STATUS.ok,
      STATUS.ok,
    ]);
    await world.until("both have caught up", () =>
      [4, 5].every((id) => world.node(id).raft.lastIndex === leader.raft.lastIndex),
    );
    const voting = [one.ask("promote", 4), two.ask("promote", 5), two.ask("promote", 4)] as const;
    expect(await one.status(voting[0])).toBe(STATUS.ok);
    for (const id of voting.slice(1)) expect(await two.status(id)).toBe(STATUS.ok);
    expect(leader.raft.configuration).toMatchObject({ voters: [1, 2, 3, 4, 5], outgoing: [] });
    const opposed = [one.ask("demote", 5), two.ask("remove", 5)] as const;
    const statuses = [await one.status(opposed[0]), await two.status(opposed[1])];
    expect(statuses.filter((status) => status === STATUS.ok).length).toBeGreaterThan(0);
    expect(statuses).not.toContain(ERROR_NUMBERS.UNAVAILABLE);
    await world.untilLeader();
  });

  test("does not let a node vote that is down, and lets go of a leader that shall not lead", async () => {
    const { world, leader, followers } = await startCluster({ joinerCount: 1 });
    const operator = new Operator(world, followers[0]);
    expect(await operator.change("add", 4)).toBe(STATUS.ok);
    expect(await operator.change("promote", 4)).toBe(ERROR_NUMBERS.BUSY);
    expect(await operator.change("demote", leader.id)).toBe(STATUS.ok);
    expect((await world.untilLeader()).id).not.toBe(leader.id);
    const { members } = await operator.members();
    expect(members.map(({ role }) => role).sort()).toEqual([
      "learner",
      "learner",
      "voter",
      "voter",
    ]);
    expect(await operator.change("promote", leader.id)).toBe(STATUS.ok);
    await useLocks(world, leader, 3);
    await expectAgreement(world);
    expect(leader.failures).toEqual([]);
  });

  test("is answered when no leader can be found, and not before the time is over", async () => {
    const { world, leader, followers } = await startCluster();
    const operator = new Operator(world, followers[0]);
    leader.crash();
    followers[1].crash();
    const askedMs = world.nowMs;
    expect(await operator.change("remove", leader.id)).toBe(ERROR_NUMBERS.UNAVAILABLE);
    expect(world.nowMs - askedMs).toBeLessThan(11 * world.tuning.electionTimeoutMs);
  });
});
