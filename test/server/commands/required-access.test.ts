/**
 * What `anonymous` may do at a node that knows better than its table: one that was told to let in no
 * client without a name, and one that starts in a cluster that was closed.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { ANONYMOUS, OP, STATUS } from "../../../src/protocol/index.js";
import { CLOSED, grant, order, putIdentity, putToken } from "../world/access-orders.js";
import { startCluster } from "../world/cluster.js";
import type { Shown } from "../world/memory-gateway.js";
import type { TestClient } from "../world/test-client.js";
import { World, type WorldNode } from "../world/world.js";

const { UNAUTHENTICATED } = ERROR_NUMBERS;
const TRY_AGAIN = 1013;

/** A cluster whose first node lets in no client without a name. */
async function startRequired(): Promise<{ readonly world: World; readonly node: WorldNode }> {
  const world = new World();
  const node = world.node(1);
  node.access = { isRequired: true, wasClosed: false };
  world.startAll();
  await world.untilLeader();
  return { world, node };
}

async function greeted(world: World, node: WorldNode, shown: Shown = {}): Promise<TestClient> {
  const client = world.client();
  client.connect(node, shown);
  await world.until("hello", () => client.hello !== undefined);
  return client;
}

async function statusOf(world: World, client: TestClient, id: number): Promise<number> {
  await world.until(`answer ${id}`, () => client.answer(id) !== undefined);
  return client.answer(id)?.status as number;
}

/** The answers to one request of each kind. */
async function tried(world: World, client: TestClient): Promise<number[]> {
  client.query({ op: OP.inspect, id: 1, key: "public/a" });
  client.query({ op: OP.watch, id: 2, key: "public/a", isPrefix: false, after: undefined });
  client.operate({ op: OP.members, id: 3 });
  client.operate({ op: OP.saveSnapshot, id: 4, isStale: true });
  const answers: number[] = [];
  for (const id of [1, 2, 3, 4]) answers.push(await statusOf(world, client, id));
  client.send(putIdentity("mallory")({ sequence: 99, mark: 0, acknowledged: [] }));
  answers.push((await client.untilReply(99)).result.status);
  client.attach();
  await world.until("an answer to open", () => client.attached(1) !== undefined);
  return [...answers, client.attached(1)?.status as number];
}

const CI = [putIdentity("ci"), putToken("ci", "ci-token"), grant("ci", "acquire")];

describe("a node that requires a name", () => {
  test("lets anonymous do nothing, though the table lets it do everything", async () => {
    const { world, node } = await startRequired();
    const stranger = await greeted(world, node);
    expect(stranger.hello).toMatchObject({ leaderId: 0, endpoints: [], voters: [] });
    expect(await tried(world, stranger)).toEqual(Array(6).fill(UNAUTHENTICATED));
    expect(node.driver.judgePage({ isTrusted: false })).toBe("refused");
    expect(node.table.counts().sessions).toBe(0);
    // The other nodes were not told to.
    const other = await greeted(world, world.node(2));
    expect(await tried(world, other)).toEqual(Array(6).fill(STATUS.ok));
    await world.run(100);
    expect(node.table.accessRevision).toBeGreaterThan(0);
  });

  test("serves tokens, and its local socket", async () => {
    const { world, node } = await startRequired();
    const local = await greeted(world, node, { isLocal: true });
    local.attach();
    await world.until("attached", () => local.attached(1) !== undefined);
    await order(local, ...CI);
    const client = await greeted(world, node);
    client.query({ op: OP.signIn, id: 1, token: "ci-token" });
    await world.run(300);
    client.attach();
    await world.until("attached", () => client.attached(1) !== undefined);
    expect(client.attached(1)?.status).toBe(STATUS.ok);
  });

  test("lets anonymous do what a closed cluster grants it, and nothing when it is opened", async () => {
    const { world, node } = await startRequired();
    const local = await greeted(world, node, { isLocal: true });
    local.attach();
    await world.until("attached", () => local.attached(1) !== undefined);
    await order(local, ...CLOSED, grant(ANONYMOUS, "observe", "public/"));
    const client = await greeted(world, node);
    client.query({ op: OP.inspect, id: 1, key: "public/a" });
    client.query({ op: OP.inspect, id: 2, key: "a" });
    expect(await statusOf(world, client, 1)).toBe(STATUS.ok);
    expect(await statusOf(world, client, 2)).toBe(UNAUTHENTICATED);
    await order(local, grant(ANONYMOUS, "admin"));
    client.query({ op: OP.inspect, id: 3, key: "public/a" });
    expect(await statusOf(world, client, 3)).toBe(UNAUTHENTICATED);
  });
});

describe("a node that starts in a closed cluster", () => {
  /** One that was restarted and hears nothing of the others. */
  async function alone(): Promise<{ readonly world: World; readonly node: WorldNode }> {
    const { world, leader, followers } = await startCluster();
    const [node] = followers;
    const admin = world.client();
    await admin.start(leader);
    await order(admin, ...CLOSED);
    await world.until("it knows", () => node.access.wasClosed);
    node.crash();
    world.network.filter = (from, to) => from !== node.id && to !== node.id;
    await node.restart();
    return { world, node };
  }

  test("says hello to anonymous only after it has heard what is committed", async () => {
    const { world, node } = await alone();
    const client = world.client();
    client.connect(node);
    await world.until("the end", () => client.closed !== undefined);
    expect([client.closed?.code, client.received]).toEqual([TRY_AGAIN, []]);
    expect([node.table.accessRevision, node.driver.judgePage({ isTrusted: false })]).toEqual([
      0,
      "refused",
    ]);
    const local = await greeted(world, node, { isLocal: true });
    expect(local.hello).toBeDefined();
    world.network.filter = () => true;
    const next = await greeted(world, node);
    expect(await tried(world, next)).toEqual(Array(6).fill(UNAUTHENTICATED));
  });

  test("shows its pages to the first credential if it expects one", async () => {
    const { world, node } = await alone();
    node.driver.expectPages();
    await world.run(5_000);
    world.network.filter = () => true;
    await world.until("contact", () => node.driver.servingLeader !== 0);
    // Longer than one that began while it was alone can be under way.
    await world.run(3_000);
    const ops = { isTrusted: false, certifiedName: "ops" };
    expect(node.driver.judgePage(ops)).toBe("granted");
  });

  test("shows its pages to a credential only after it has heard what is committed", async () => {
    const { world, node } = await alone();
    const judge = (name: string) =>
      node.driver.judgePage({ isTrusted: false, certifiedName: name, token: undefined });
    for (let second = 0; second < 5; second += 1) {
      expect([judge("ops"), judge("removed")]).toEqual(["unsure", "unsure"]);
      await world.run(1_000);
    }
    expect(node.driver.judgePage({ isTrusted: true })).toBe("granted");
    world.network.filter = () => true;
    await world.until("contact", () => node.driver.servingLeader !== 0);
    await world.run(3_000);
    expect([judge("ops"), judge("removed")]).toEqual(["granted", "refused"]);
    // One barrier is enough, even if the node is alone again.
    world.network.filter = (from, to) => from !== node.id && to !== node.id;
    await world.run(5_000);
    expect([judge("ops"), judge("removed")]).toEqual(["granted", "refused"]);
  });

  test("does not take its old table for an open cluster", async () => {
    const { world, node } = await alone();
    await world.run(5_000);
    expect(node.access.wasClosed).toBe(true);
    world.network.filter = () => true;
    const ops = await greeted(world, node, { certifiedName: "ops" });
    ops.attach();
    await world.until("attached", () => ops.attached(1) !== undefined);
    await order(ops, grant(ANONYMOUS, "admin"));
    await world.until("it knows", () => !node.access.wasClosed);
  });

  test("of an open cluster greets everybody at once", async () => {
    const { world, followers } = await startCluster();
    const [node] = followers;
    node.crash();
    world.network.filter = (from, to) => from !== node.id && to !== node.id;
    await node.restart();
    expect((await greeted(world, node)).hello).toMatchObject({ leaderId: 0 });
  });
});
