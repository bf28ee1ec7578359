/** What nodes say of themselves when they are asked, whatever the others do. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { OP, STATUS, type VitalsView } from "../../../src/protocol/index.js";
import { CLOSED, grant, order } from "../world/access-orders.js";
import { startClosedCluster } from "../world/closed-cluster.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

/** What the node answers to a client that is connected to it. */
async function vitalsOf(world: World, node: WorldNode, after = 0): Promise<VitalsView> {
  const client = world.client();
  client.connect(node);
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.vitals, id: 1, node: 0, after });
  await world.until("vitals", () => client.answer(1) !== undefined);
  const { status, payload } = client.answer(1) ?? {};
  expect(status).toBe(STATUS.ok);
  client.disconnect();
  return payload as VitalsView;
}

async function take(client: TestClient, key: string): Promise<number> {
  const sequence = client.acquire(key);
  await client.untilReply(sequence);
  return sequence;
}

describe("every node of a cluster", () => {
  test("says how it is, and what its table has", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(leader);
    await take(client, "a");
    await world.run(200);
    const of = await vitalsOf(world, leader);
    expect(of).toMatchObject({ node: leader.id, role: "leader", leader: leader.id, isOpen: true });
    expect(of).toMatchObject({ sessions: 1, keys: 1, holds: 1, waiters: 0, auditState: "off" });
    expect(of).toMatchObject({ hasQuorumContact: true, isDiskFull: false, isDraining: false });
    expect(of.connections).toBe(2);
    expect(of.peers.map(({ node, isConnected }) => [node, isConnected])).toEqual(
      followers.map(({ id }) => [id, true]),
    );
    for (const { matchIndex } of of.peers) expect(matchIndex).toBe(of.commitIndex);
    for (const node of followers) {
      const view = await vitalsOf(world, node);
      expect(view).toMatchObject({ node: node.id, role: "follower", leader: leader.id, holds: 1 });
      expect(view.peers.map(({ matchIndex }) => matchIndex)).toEqual([null, null]);
    }
  });

  test("answers without a leader and without the others", async () => {
    const { world, leader, followers } = await startCluster();
    const [one, other] = followers;
    leader.crash();
    other.crash();
    await world.run(5_000);
    const view = await vitalsOf(world, one);
    expect(view).toMatchObject({ node: one.id, leader: 0, hasQuorumContact: false });
    expect(["follower", "candidate"]).toContain(view.role);
    expect(view.peers.every(({ isConnected }) => !isConnected)).toBe(true);
    expect(view.events.map(({ kind }) => kind)).toContain("noLeader");
  });

  test("counts grants, waits, failures and losses in five seconds each", async () => {
    const { world, leader, followers } = await startCluster();
    const [holder, waiting] = [world.client(), world.client()];
    await holder.start(leader, 2_000);
    await waiting.start(leader, 60_000);
    await take(holder, "a");
    await waiting.untilReply(waiting.acquire("a", 100));
    await world.run(200);
    await waiting.untilReply(waiting.acquire("a"));
    // The holder sends nothing, so that its session expires.
    await world.run(20_000);
    for (const node of [leader, ...followers]) {
      const { points } = await vitalsOf(world, node);
      const sum = (of: (point: VitalsView["points"][number]) => number): number =>
        points.reduce((total, point) => total + of(point), 0);
      expect(sum(({ grants }) => grants)).toBe(2);
      expect(sum(({ waits }) => waits)).toBe(2);
      expect(sum(({ failures }) => failures)).toBe(1);
      expect(sum(({ lost }) => lost)).toBe(1);
      const [first, second] = points;
      expect((second?.wallMs ?? 0) - (first?.wallMs ?? 0)).toBe(5_000);
    }
  });

  test("notes elections, links and the end of a process, and leaves out what is known", async () => {
    const { world, leader, followers } = await startCluster();
    const [one] = followers;
    const before = await vitalsOf(world, one);
    expect(before.events[0]).toMatchObject({ kind: "started" });
    expect(before.events.map(({ text }) => text)).toContain(
      `node ${leader.id} leads in term ${before.term}`,
    );
    leader.crash();
    await world.untilLeader();
    await world.run(2_000);
    const { wallMs } = before;
    const { events, term } = await vitalsOf(world, one, wallMs);
    const texts = events.map(({ text }) => text);
    expect(texts).toContain(`the link to node ${leader.id} is down`);
    expect(texts.some((text) => text.endsWith(`in term ${term}`))).toBe(true);
    expect(events.every((event) => event.wallMs > wallMs)).toBe(true);
  });
});

describe("a client that asks a node for its vitals again and again", () => {
  test("gets only some of them in a turn, and more in the next", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    client.connect(leader);
    await world.until("hello", () => client.hello !== undefined);
    const asked = 200;
    for (let id = 1; id <= asked; id += 1) client.query({ op: OP.vitals, id, node: 0, after: 0 });
    await world.until("the last answer", () => client.answer(asked) !== undefined);
    const statuses = Array.from({ length: asked }, (_, at) => client.answer(at + 1)?.status);
    const told = statuses.filter((status) => status === STATUS.ok);
    const refused = statuses.filter((status) => status === ERROR_NUMBERS.BUSY);
    expect(told.length).toBeGreaterThan(0);
    expect(refused.length).toBeGreaterThan(asked / 2);
    expect(told.length + refused.length).toBe(asked);
    client.query({ op: OP.vitals, id: asked + 1, node: 0, after: 0 });
    await world.until("one more", () => client.answer(asked + 1) !== undefined);
    expect(client.answer(asked + 1)?.status).toBe(STATUS.ok);
  });
});

describe("the points of a node", () => {
  test("have the times of commits on the leader alone, and of waits everywhere", async () => {
    const { world, leader, followers } = await startCluster();
    const [holder, waiting] = [world.client(), world.client()];
    await holder.start(leader, 60_000);
    await waiting.start(leader, 60_000);
    const held = await take(holder, "a");
    await waiting.untilReply(waiting.acquire("a"));
    await world.run(700);
    await holder.untilReply(holder.end(held));
    await world.run(6_000);
    for (const node of [leader, ...followers]) {
      const { points } = await vitalsOf(world, node);
      const isLeader = node === leader;
      expect(points.some(({ commitP50Ms }) => commitP50Ms !== null)).toBe(isLeader);
      const longest = Math.max(...points.map(({ waitP99Ms }) => waitP99Ms ?? 0));
      // The bucket of 700 ms.
      expect(longest).toBeGreaterThan(500);
      expect(longest).toBeLessThanOrEqual(1_000);
    }
  });
});

describe("the vitals of a closed cluster", () => {
  test("are for those who may observe something, and for nobody else", async () => {
    const { world, leader, signedIn } = await startClosedCluster({ nothing: "none" });
    const root = await signedIn("root", leader);
    const stranger = world.client();
    stranger.connect(leader);
    const nothing = await signedIn("nothing", leader);
    for (const client of [root, stranger, nothing]) {
      client.query({ op: OP.vitals, id: 9, node: 0, after: 0 });
      await world.until("an answer", () => client.answer(9) !== undefined);
    }
    expect(root.answer(9)?.payload).toMatchObject({ node: leader.id, isOpen: false });
    expect(stranger.answer(9)).toMatchObject({ status: ERROR_NUMBERS.UNAUTHENTICATED });
    expect(nothing.answer(9)).toMatchObject({ status: ERROR_NUMBERS.FORBIDDEN, payload: null });
  });

  test("say when the cluster is closed", async () => {
    const { world, leader } = await startCluster();
    const admin = world.client();
    await admin.start(leader);
    await order(admin, ...CLOSED.slice(0, -1), grant("anonymous", "observe"));
    await world.run(1_500);
    const { isOpen, events } = await vitalsOf(world, leader);
    expect(isOpen).toBe(false);
    expect(events.map(({ kind }) => kind)).toContain("access");
  });
});
