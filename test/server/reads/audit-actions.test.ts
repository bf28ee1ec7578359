/** What operators did and what nodes refused, in the audits of whole drivers. */
import { expect, test } from "vitest";
import {
  type AuditEntry,
  type AuditPage,
  type AuditQuery,
  OP,
  STATUS,
  WALL_MS_MAX,
} from "../../../src/protocol/index.js";
import { expectAgreement, startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const KEEP_MS = 3_600_000;
const ALL: AuditQuery = {
  ...{ op: OP.audit, id: 1, block: 0, at: 0, limit: 200, key: undefined, isPrefix: false },
  ...{ identity: undefined, kind: undefined, since: 0, until: WALL_MS_MAX },
};

/** Oldest first. */
async function auditOf(
  world: World,
  node: WorldNode,
  wanted: Partial<AuditQuery> = {},
): Promise<readonly AuditEntry[]> {
  const reader = world.client();
  reader.connect(node);
  const found: AuditEntry[] = [];
  for (let id = 1, next: AuditPage["next"] = { block: 0, at: 0 }; next !== null; id += 1) {
    const query: AuditQuery = { ...ALL, ...wanted, id, block: next.block, at: next.at };
    reader.query(query);
    await world.until("the audit", () => reader.answer(id) !== undefined);
    expect(reader.answer(id)?.status).toBe(STATUS.ok);
    const page = reader.answer(id)?.payload as AuditPage;
    expect(page.lost).toBe(0);
    found.push(...page.entries);
    next = page.next;
  }
  reader.disconnect();
  return found.reverse();
}

async function order(client: TestClient, fields: object): Promise<void> {
  const sequence = client.acquire("of-the-operator", 0);
  await client.untilReply(sequence);
  client.send({ ...fields, sequence: sequence + 1, mark: sequence, acknowledged: [] } as never);
  await client.untilReply(sequence + 1);
}

function orders(entries: readonly AuditEntry[]): readonly string[] {
  return entries
    .filter(({ kind }) => kind === "order" || kind === "access")
    .map(
      ({ what, key, outcome, details }) => `${what} ${key} ${outcome} ${JSON.stringify(details)}`,
    );
}

const SETTING = { op: OP.changeSetting, name: "waitersMax", value: 70 };
const LIMIT = { op: OP.setLimit, key: "pool", limit: 3 };
const GRANT = {
  ...{ op: OP.setGrant, name: "billing", level: "acquire", key: "orders/", isPrefix: true },
};
const ORDERS = [
  'changeSetting  done {"setting":"waitersMax","value":70}',
  'setLimit pool done {"limit":3}',
  'putIdentity  done {"of":"billing"}',
  'setGrant  done {"of":"billing","level":"acquire","on":"orders/","isPrefix":true}',
];

test("every node has each order once and in order, though each of them was killed", async () => {
  const tuning = { snapshotLogBytes: 1_500, trailingLogBytes: 200 };
  const { world } = await startCluster({ seed: 4, tuning, auditKeepMs: KEEP_MS });
  for (const [at, fields] of [
    SETTING,
    LIMIT,
    { op: OP.putIdentity, name: "billing" },
    GRANT,
  ].entries()) {
    const client = world.client();
    await client.start(world.leader as WorldNode, 600_000);
    await order(client, fields);
    client.disconnect();
    const node = world.node(1 + (at % 3));
    node.crash();
    await node.restart();
    await world.untilLeader();
    await expectAgreement(world);
  }
  for (const node of world.nodes) {
    const entries = await auditOf(world, node);
    expect(orders(entries)).toEqual(ORDERS);
    expect(entries.every(({ record }, at) => record === at + 1)).toBe(true);
    expect(entries.filter(({ kind }) => kind === "gap")).toEqual([]);
    expect(entries.filter(({ kind }) => kind === "order")[0]).toMatchObject({
      ...{ identity: "anonymous", credential: "", block: expect.any(Number) as number },
    });
  }
});

test("a steal names the thief, and the hold that it ended names its victim", async () => {
  const { world, leader } = await startCluster({ auditKeepMs: KEEP_MS });
  const victim = world.client();
  await victim.start(leader);
  await victim.untilReply(victim.acquire("orders/1"));
  const thief = world.client();
  await thief.start(leader);
  const options = { ...{ priority: 0, maxHoldMs: 0, minHoldMs: 0, lockDelayMs: 0, value: "" } };
  thief.send({
    ...{ op: OP.acquire, sequence: 1, mark: 1, acknowledged: [], task: 1, waitMs: 0 },
    items: [{ key: "orders/1", mode: "exclusive" }],
    options: { ...options, steal: true, detect: false },
  } as never);
  await thief.untilReply(1);
  const entries = await auditOf(world, leader, { key: "orders/", isPrefix: true });
  expect(entries.map(({ kind, outcome, key }) => `${kind} ${outcome} ${key}`)).toEqual([
    "hold stolen orders/1",
    "steal done orders/1",
  ]);
  const [, steal] = entries;
  expect(steal?.details).toMatchObject({ holds: 1 });
});

test("a node without an audit says that it has none", async () => {
  const { world, leader } = await startCluster();
  const reader = world.client();
  reader.connect(leader);
  reader.query(ALL);
  await world.until("the answer", () => reader.answer(1) !== undefined);
  expect(reader.answer(1)?.payload).toEqual({
    message: "this node keeps no audit: start it with --audit",
  });
});
