import { describe, expect, test } from "vitest";
import { MESSAGE } from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";
import { World } from "../world/world.js";

describe("redirecting clients", () => {
  test("sends clients of an isolated node away, once each", async () => {
    const { world, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    world.network.cut(
      [followers[0].id],
      world.nodes.filter((node) => node !== followers[0]).map(({ id }) => id),
    );
    await world.until("moved", () => client.received.some(({ kind }) => kind === MESSAGE.move));
    await world.run(5_000);
    expect(client.received.filter(({ kind }) => kind === MESSAGE.move)).toHaveLength(1);
  });

  test("moves nobody when the leader merely changes, and names the new one", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    leader.crash();
    const next = await world.untilLeader();
    await world.run(3_000);
    expect(client.received.some(({ kind }) => kind === MESSAGE.move)).toBe(false);
    const notice = client.received.find((message) => message.kind === MESSAGE.leader);
    expect(notice).toMatchObject({ leaderId: next.id });
  });

  test("lets clients of a node that never heard anybody attach, and wait", async () => {
    const world = new World();
    world.node(1).start();
    const client = world.client();
    client.connect(world.node(1));
    client.attach();
    await world.run(100);
    expect(client.hello?.leaderId).toBe(0);
    expect(client.attached(1)).toBeUndefined();
    world.node(2).start();
    await world.until("attached", () => client.attached(1) !== undefined);
  });
});
