/** A node says that it is there to everybody who may ask, whatever else it can do for them. */
import { expect, test } from "vitest";
import { OP, STATUS } from "../../../src/protocol/index.js";
import { startClosedCluster } from "../world/closed-cluster.js";
import { startCluster } from "../world/cluster.js";
import type { World, WorldNode } from "../world/world.js";

async function answered(world: World, node: WorldNode): Promise<unknown> {
  const client = world.client();
  client.connect(node);
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.ping, id: 7 });
  await world.until("the answer", () => client.answer(7) !== undefined);
  return client.answer(7);
}

test("without a leader", async () => {
  const { world, leader, followers } = await startCluster();
  leader.crash();
  followers[0].crash();
  expect(await answered(world, followers[1])).toMatchObject({ status: STATUS.ok, payload: null });
});

test("in a closed cluster, to somebody without any right", async () => {
  const { world, leader } = await startClosedCluster({});
  expect(await answered(world, leader)).toMatchObject({ status: STATUS.ok, payload: null });
});
