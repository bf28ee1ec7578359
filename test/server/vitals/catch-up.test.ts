/** What a node that starts again replays is not work that it does: no counter and no point has it. */
import { expect, test } from "vitest";
import { OP, type VitalsView } from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const GRANTS = 40;

async function vitalsOf(world: World, node: WorldNode): Promise<VitalsView> {
  const client = world.client();
  client.connect(node);
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.vitals, id: 1, node: 0, after: 0 });
  await world.until("vitals", () => client.answer(1) !== undefined);
  client.disconnect();
  return client.answer(1)?.payload as VitalsView;
}

/** What the points of the node and its counters have. */
async function workOf(world: World, node: WorldNode) {
  const { points, deadlocks } = await vitalsOf(world, node);
  const { changesByType, endsByReason } = node.driver.status.observation;
  return {
    grants: points.reduce((sum, point) => sum + point.grants, 0),
    hasWaits: points.some(({ waitP99Ms }) => waitP99Ms !== null),
    counted: changesByType.granted,
    ended: endsByReason.reduce((sum, count) => sum + count, 0),
    commands: node.driver.status.commandsAppliedTotal,
    deadlocks,
  };
}

async function takeAndGive(client: TestClient, key: string): Promise<void> {
  const sequence = client.acquire(key);
  await client.untilReply(sequence);
  await client.untilReply(client.end(sequence));
}

/** Grants, one of them after a wait of seconds, and a deadlock. */
async function work(world: World, node: WorldNode): Promise<TestClient> {
  const [client, other] = [world.client(), world.client()];
  await client.start(node, 600_000);
  await other.start(node, 600_000);
  for (let at = 0; at < GRANTS; at += 1) await takeAndGive(client, `k/${at}`);
  const held = client.acquire("a");
  await client.untilReply(held);
  await other.untilReply(other.acquire("b"));
  const waiting = other.acquire("a");
  await world.run(3_000);
  await client.untilReply(client.acquire("b"));
  await client.untilReply(client.end(held));
  await other.untilReply(waiting);
  return client;
}

async function caughtUp(world: World, node: WorldNode, index: number): Promise<void> {
  await world.until("the log is applied", () => node.driver.status.appliedIndex >= index);
  await world.run(11_000);
}

test("a node that starts again counts from where it has caught up", async () => {
  const { world, leader, followers } = await startCluster();
  const client = await work(world, leader);
  const [node] = followers;
  await world.run(500);
  const index = node.driver.status.appliedIndex;
  expect((await workOf(world, leader)).counted).toBeGreaterThan(GRANTS);
  node.crash();
  await node.restart();
  await world.run(3_000);
  await caughtUp(world, node, index);
  const before = await workOf(world, node);
  expect(before).toMatchObject({ grants: 0, hasWaits: false, counted: 0, deadlocks: 0 });
  await takeAndGive(client, "later");
  await world.run(6_000);
  expect(await workOf(world, node)).toMatchObject({ grants: 1, counted: 1, ended: 1 });
});

test("nor does it count what was committed while it was away", async () => {
  const { world, leader, followers } = await startCluster();
  const [node] = followers;
  node.crash();
  await work(world, leader);
  await node.restart();
  await caughtUp(world, node, leader.raft.commitIndex);
  expect(await workOf(world, node)).toMatchObject({ grants: 0, hasWaits: false, counted: 0 });
});

test("nor does any node after all were stopped", async () => {
  const { world, leader } = await startCluster();
  await work(world, leader);
  const index = leader.raft.commitIndex;
  for (const node of world.nodes) node.crash();
  for (const node of world.nodes) await node.restart();
  await world.untilLeader();
  for (const node of world.nodes) {
    await caughtUp(world, node, index);
    const { commands, ...rest } = await workOf(world, node);
    expect(rest).toEqual({ grants: 0, hasWaits: false, counted: 0, ended: 0, deadlocks: 0 });
    // Sessions live on, and nothing else is asked for.
    expect(commands).toBeLessThan(GRANTS);
  }
});
