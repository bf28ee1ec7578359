/** What a node still does for a connection that asked only to read. */
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  type Answer,
  MESSAGE,
  OP,
  type OrderCommand,
  STATUS,
} from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const READ_ONLY_ID = 2 ** 40;
const { FORBIDDEN } = ERROR_NUMBERS;
const head = { sequence: 2 ** 32, mark: 0, acknowledged: [] } as const;
const force = { graceMs: 0, now: true, reason: "" } as const;

let world: World;
let leader: WorldNode;
let followers: readonly [WorldNode, WorldNode];

beforeEach(async () => {
  ({ world, leader, followers } = await startCluster());
});

function connected(node: WorldNode): TestClient {
  const client = world.client();
  client.connect(node);
  return client;
}

async function answerOf(client: TestClient, id: number): Promise<Answer> {
  await world.until("an answer", () => client.answer(id) !== undefined);
  return client.answer(id) as Answer;
}

async function reader(node: WorldNode): Promise<TestClient> {
  const client = connected(node);
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.readOnly, id: READ_ONLY_ID });
  expect(await answerOf(client, READ_ONLY_ID)).toMatchObject({ status: STATUS.ok, payload: null });
  return client;
}

const ORDERS: readonly OrderCommand[] = [
  { op: OP.revoke, ...head, key: "a", token: 0, ...force },
  { op: OP.endSession, ...head, session: 1, ...force },
  { op: OP.setLimit, ...head, key: "a", limit: 3 },
  { op: OP.changeSetting, ...head, name: "waitersMax", value: 7 },
  { op: OP.putIdentity, ...head, name: "eve" },
  { op: OP.removeIdentity, ...head, name: "eve" },
  { op: OP.removeCredential, ...head, name: "eve", label: "t" },
  { op: OP.setGrant, ...head, name: "anonymous", key: "", isPrefix: true, level: "none" },
];

describe("a connection that asked only to read", () => {
  test("gives no order, at the leader or elsewhere, and the log hears nothing of it", async () => {
    const lastIndex = leader.raft.lastIndex;
    for (const node of [leader, followers[0]]) {
      const client = await reader(node);
      for (const [at, order] of ORDERS.entries()) {
        const sequence = 2 ** 32 + at;
        client.send({ ...order, sequence });
        const { result } = await client.untilReply(sequence);
        expect(result).toEqual({ status: FORBIDDEN });
      }
    }
    expect(leader.raft.lastIndex).toBe(lastIndex);
  });

  test("attaches to no session", async () => {
    const client = await reader(followers[0]);
    client.attach();
    await world.until("an answer to open", () => client.attached(1) !== undefined);
    expect(client.attached(1)?.status).toBe(FORBIDDEN);
    expect(leader.table.counts().sessions).toBe(0);
  });

  test("changes nothing of the cluster, and learns why", async () => {
    const client = await reader(followers[0]);
    client.operate({ op: OP.transfer, id: 1, node: 0 });
    client.operate({ op: OP.changeMember, id: 2, action: "remove", node: 3, address: undefined });
    client.operate({ op: OP.saveSnapshot, id: 3, isStale: true });
    client.operate({ op: OP.saveSnapshot, id: 4, isStale: false });
    client.operate({ op: OP.readSnapshot, id: 5, checksum: "ab".repeat(32), chunk: 0 });
    for (const id of [1, 2, 3, 4, 5]) {
      const { status, payload } = await answerOf(client, id);
      expect(status).toBe(FORBIDDEN);
      expect(payload).toEqual({ message: "this connection may only read" });
    }
    expect(world.leader).toBe(leader);
  });

  test("reads, watches and lists members as before", async () => {
    const holder = connected(leader);
    holder.attach();
    await world.until("attached", () => holder.session !== 0);
    const client = await reader(followers[1]);
    client.query({ op: OP.watch, id: 1, key: "jobs/", isPrefix: true, after: undefined });
    client.query({ op: OP.whoAmI, id: 2 });
    client.query({ op: OP.query, id: 3, prefix: "", after: undefined, limit: 10 });
    client.query({ op: OP.sessions, id: 4, after: 0, limit: 10 });
    client.operate({ op: OP.members, id: 5 });
    for (const id of [1, 2, 3, 4, 5]) {
      expect((await answerOf(client, id)).status).toBe(STATUS.ok);
    }
    holder.acquire("jobs/1");
    const isTold = () =>
      client.received.some((message) => {
        if (message.kind !== MESSAGE.changes) return false;
        const { changes = [] } = (message.payload ?? {}) as { changes?: readonly unknown[] };
        return changes.length > 0;
      });
    await world.until("the change", isTold);
    expect(client.closed).toBeUndefined();
  });

  test("stays so for good", async () => {
    const client = await reader(leader);
    client.query({ op: OP.readOnly, id: READ_ONLY_ID + 1 });
    await answerOf(client, READ_ONLY_ID + 1);
    client.send({ op: OP.putIdentity, ...head, name: "eve" });
    expect((await client.untilReply(head.sequence)).result).toEqual({ status: FORBIDDEN });
  });

  test("may be one of a stranger, who learns nothing by it", async () => {
    const admin = connected(leader);
    const all = { key: "", isPrefix: true } as const;
    const ops = { name: "ops", label: "c", kind: "certificate" } as const;
    const orders = [
      { op: OP.putIdentity, name: "ops" },
      { op: OP.setGrant, name: "ops", ...all, level: "admin" },
      { op: OP.putCredential, ...ops, digest: undefined, expiresWallMs: 0 },
      { op: OP.setGrant, name: "anonymous", ...all, level: "none" },
    ] as const;
    for (const [mark, order] of orders.entries()) {
      const sequence = 2 ** 32 + mark;
      admin.send({ ...order, sequence, mark, acknowledged: [] });
      expect((await admin.untilReply(sequence)).result.status).toBe(STATUS.ok);
    }
    await world.run(100);
    const stranger = await reader(followers[0]);
    stranger.query({ op: OP.inspect, id: 1, key: "a" });
    expect((await answerOf(stranger, 1)).status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
  });
});

test("a connection with a session, or one that waits for it, is not made one that only reads", async () => {
  const reason = "a connection with a session cannot only read";
  const attached = connected(leader);
  attached.attach();
  await world.until("attached", () => attached.session !== 0);
  attached.query({ op: OP.readOnly, id: READ_ONLY_ID });
  await world.until("closed", () => attached.closed !== undefined);
  expect(attached.closed).toEqual({ code: 1008, reason });
  const attaching = connected(leader);
  await world.until("hello", () => attaching.hello !== undefined);
  attaching.attach();
  attaching.query({ op: OP.readOnly, id: READ_ONLY_ID });
  await world.until("closed", () => attaching.closed !== undefined);
  expect(attaching.closed).toEqual({ code: 1008, reason });
});
