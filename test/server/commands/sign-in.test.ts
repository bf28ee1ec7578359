/** As whom connections speak: by certificate, token or the local socket, on nodes that know more or less. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { ANONYMOUS, type Answer, LOCAL, MESSAGE, OP, STATUS } from "../../../src/protocol/index.js";
import {
  type AccessOrder,
  CLOSED,
  grant,
  order,
  putCertificate,
  putIdentity,
  putToken,
  removeCredential,
} from "../world/access-orders.js";
import { type StartedCluster, startCluster } from "../world/cluster.js";
import type { Shown } from "../world/memory-gateway.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const TRY_AGAIN = 1013;
const AT_FAULT = 1008;
const BILLING: readonly AccessOrder[] = [
  putIdentity("billing"),
  putCertificate("billing"),
  putToken("billing", "billing-token"),
  grant("billing", "acquire"),
];

async function started(...orders: readonly AccessOrder[]): Promise<StartedCluster> {
  const cluster = await startCluster();
  const admin = cluster.world.client();
  await admin.start(cluster.leader);
  await order(admin, ...orders);
  return cluster;
}

function connected(world: World, node: WorldNode, shown: Shown = {}): TestClient {
  const client = world.client();
  client.connect(node, shown);
  return client;
}

async function answer(world: World, client: TestClient, id: number): Promise<Answer> {
  await world.until(`answer ${id}`, () => client.answer(id) !== undefined);
  return client.answer(id) as Answer;
}

/** The name of whom the client speaks as, or the error. */
async function whoIs(world: World, client: TestClient): Promise<unknown> {
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.whoAmI, id: 77 });
  const { status, payload } = await answer(world, client, 77);
  return status === STATUS.ok ? (payload as { readonly name: string }).name : status;
}

/** `undefined` if the token was accepted. */
async function signIn(
  world: World,
  client: TestClient,
  token: string,
): Promise<number | undefined> {
  await world.until("hello", () => client.hello !== undefined);
  client.query({ op: OP.signIn, id: 1, token });
  const isGreeted = () => client.received.filter(({ kind }) => kind === MESSAGE.hello).length === 2;
  await world.until("an answer", () => isGreeted() || client.answer(1) !== undefined);
  return client.answer(1)?.status;
}

/** Nothing comes to that node from any other. */
function cutOff(world: World, node: WorldNode): void {
  world.network.filter = (from, to) => from !== node.id && to !== node.id;
}

/** Counts the questions that node asks for an index. */
function countBarriers(world: World, node: WorldNode): () => number {
  let count = 0;
  world.network.filter = (from, _, message) => {
    if (from === node.id && message.type === "readBarrier") count += 1;
    return true;
  };
  return () => count;
}

describe("a connection with a client certificate", () => {
  test("speaks as its name, with no hello before that is known", async () => {
    const { world, followers } = await started(...BILLING);
    const [node] = followers;
    const client = connected(world, node, { certifiedName: "billing" });
    expect(await whoIs(world, client)).toBe("billing");
    // Known now, and so at once.
    const barriers = countBarriers(world, node);
    const next = connected(world, node, { certifiedName: "billing" });
    await world.until("hello", () => next.hello !== undefined);
    expect(barriers()).toBe(0);
  });

  test("is not taken for a stranger by a node that has not heard of it", async () => {
    const { world, leader, followers } = await startCluster();
    const [lagging] = followers;
    world.network.filter = (_, to, message) =>
      !(to === lagging.id && message.type === "raft" && message.message.type === "append");
    const admin = world.client();
    await admin.start(leader);
    await order(admin, ...BILLING);
    const client = connected(world, lagging, { certifiedName: "billing" });
    await world.run(200);
    expect([client.hello, lagging.table.accessRevision]).toEqual([undefined, 0]);
    world.network.filter = () => true;
    expect(await whoIs(world, client)).toBe("billing");
  });

  test("that names nobody speaks as anonymous, after a barrier", async () => {
    const { world, followers } = await started(...BILLING);
    const [node] = followers;
    const client = connected(world, node, { certifiedName: "shipping" });
    expect(await whoIs(world, client)).toBe(ANONYMOUS);
    const barriers = countBarriers(world, node);
    const local = connected(world, node, { certifiedName: LOCAL });
    expect([await whoIs(world, local), barriers() > 0]).toEqual([ANONYMOUS, true]);
  });

  test("gets no hello without a majority, and is told to try again", async () => {
    const { world, followers } = await started(...BILLING);
    const [node] = followers;
    cutOff(world, node);
    const client = connected(world, node, { certifiedName: "billing" });
    const plain = connected(world, node);
    await world.until("the end", () => client.closed !== undefined);
    expect([client.closed?.code, client.received]).toEqual([TRY_AGAIN, []]);
    expect(plain.hello).toBeDefined();
  });

  test("whose credential was removed or has expired ends", async () => {
    const { world, leader, followers } = await started(...BILLING, putIdentity("old"));
    const [node] = followers;
    const client = connected(world, node, { certifiedName: "billing" });
    expect(await whoIs(world, client)).toBe("billing");
    const admin = world.client();
    await admin.start(leader);
    await order(admin, removeCredential("billing", "certificate"), putCertificate("old", 1));
    await world.until("the end", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(AT_FAULT);
    const old = connected(world, node, { certifiedName: "old" });
    await world.until("the end", () => old.closed !== undefined);
    expect([old.closed?.code, old.hello]).toEqual([AT_FAULT, undefined]);
  });

  test("may not ask before its hello", async () => {
    const { world, followers } = await started(...BILLING);
    const client = connected(world, followers[0], { certifiedName: "billing" });
    client.query({ op: OP.whoAmI, id: 1 });
    await world.until("the end", () => client.closed !== undefined);
    expect(client.closed).toEqual({ code: AT_FAULT, reason: "a request before hello" });
  });
});

describe("a token", () => {
  const CI = [putIdentity("ci"), putToken("ci", "ci-token")];

  test("counts where the certificate has no identity, or the same", async () => {
    const { world, followers } = await started(...BILLING, ...CI);
    const [node] = followers;
    for (const certifiedName of ["billing", "shipping", undefined]) {
      const client = connected(world, node, certifiedName === undefined ? {} : { certifiedName });
      expect(await signIn(world, client, "billing-token")).toBeUndefined();
      expect(await whoIs(world, client)).toBe("billing");
    }
  });

  test.each<[string, Shown]>([
    ["a certificate", { certifiedName: "billing" }],
    ["the local socket", { isLocal: true }],
  ])("of another identity than %s is refused", async (_what, shown) => {
    const { world, followers } = await started(...BILLING, ...CI);
    const client = connected(world, followers[0], shown);
    expect(await signIn(world, client, "ci-token")).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
    await world.until("the end", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(AT_FAULT);
    expect(client.closed?.reason).toMatch(/not of the identity that this connection has already/);
  });

  test("that cannot be checked ends the connection so that the client tries another node", async () => {
    const { world, followers } = await started(...CI);
    const [node] = followers;
    cutOff(world, node);
    const client = connected(world, node);
    expect(await signIn(world, client, "ci-token")).toBe(ERROR_NUMBERS.UNAVAILABLE);
    await world.until("the end", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(TRY_AGAIN);
  });

  test("comes once, before anything else", async () => {
    const { world, followers } = await started(...CI);
    const client = connected(world, followers[0]);
    expect(await signIn(world, client, "ci-token")).toBeUndefined();
    client.query({ op: OP.signIn, id: 2, token: "ci-token" });
    await world.until("the end", () => client.closed !== undefined);
    expect(client.closed?.code).toBe(AT_FAULT);
  });
});

test("a connection through the socket in the directory is local, with a quorum and without", async () => {
  const { world, followers } = await started(...CLOSED);
  const [node] = followers;
  expect(await whoIs(world, connected(world, node, { isLocal: true }))).toBe(LOCAL);
  cutOff(world, node);
  await world.run(5_000);
  const client = connected(world, node, { isLocal: true });
  await world.until("hello", () => client.hello !== undefined);
  client.operate({ op: OP.saveSnapshot, id: 5, isStale: true });
  expect((await answer(world, client, 5)).status).toBe(STATUS.ok);
});

test("an admin saves a stale snapshot of a node that may know it only through the socket", async () => {
  const { world, followers } = await started(...CLOSED);
  const [node] = followers;
  const admin = connected(world, node, { certifiedName: "ops" });
  expect(await whoIs(world, admin)).toBe("ops");
  cutOff(world, node);
  await world.run(5_000);
  admin.operate({ op: OP.saveSnapshot, id: 5, isStale: true });
  expect((await answer(world, admin, 5)).status).toBe(ERROR_NUMBERS.UNAVAILABLE);
});

test("a token that is looked at before the certificate has to be of the same identity", async () => {
  const other = [putIdentity("other"), putToken("other", "other-token"), grant("other", "acquire")];
  const { world, followers } = await started(...BILLING, ...other);
  const [node] = followers;
  let lost = 0;
  world.network.filter = (_, to, message) => {
    const isFirst = to === node.id && message.type === "readIndex" && lost === 0;
    if (isFirst) lost += 1;
    return !isFirst;
  };
  const client = connected(world, node, { certifiedName: "billing" });
  await world.until("a lost answer", () => lost === 1);
  client.query({ op: OP.signIn, id: 1, token: "other-token" });
  await world.until("closed", () => client.closed !== undefined);
  expect(client.closed?.code).toBe(AT_FAULT);
  expect(client.closed?.reason).toContain("not of the identity that this connection has already");
  expect(client.received.filter(({ kind }) => kind === MESSAGE.hello)).toHaveLength(1);
});

test("a storm of strangers costs ten barriers a second, and keeps no known client out", async () => {
  const { world, followers } = await started(...BILLING);
  const [node] = followers;
  expect(await whoIs(world, connected(world, node, { certifiedName: "billing" }))).toBe("billing");
  const barriers = countBarriers(world, node);
  const strangers: TestClient[] = [];
  for (let ms = 0; ms < 2_000; ms += 1) {
    const stranger = connected(world, node, ms % 2 === 0 ? {} : { certifiedName: `no-${ms}` });
    if (ms % 2 === 0) stranger.query({ op: OP.signIn, id: 1, token: `guess-${ms}` });
    strangers.push(stranger);
    await world.run(1);
  }
  expect(barriers()).toBeGreaterThan(10);
  expect(barriers()).toBeLessThanOrEqual(21);
  await world.run(500);
  const refused = strangers.filter(({ closed }) => closed?.code === AT_FAULT);
  const anonymous = strangers.filter(({ hello, closed }) => hello && closed === undefined);
  expect([refused.length, anonymous.length]).toEqual([1_000, 1_000]);
});
