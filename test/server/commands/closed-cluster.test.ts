/**
 * What a node of a closed cluster says and does for whom: strangers, tokens, credentials that end.
 */
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { type Answer, type Command, MESSAGE, OP, STATUS } from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World, WorldNode } from "../world/world.js";

const TOKENS = { admin: "admin token", worker: "worker token", expired: "expired token" } as const;
const SIGN_IN_ID = 2 ** 40;
const EXPIRES_AFTER_MS = 60_000;

let world: World;
let leader: WorldNode;
let followers: readonly [WorldNode, WorldNode];
let admin: TestClient;
let orders = 0;

type Order = Exclude<Command, { readonly nonce: string }>;

/** Gives an order as the admin; it must succeed. */
async function order(fields: object): Promise<void> {
  const head = { sequence: 2 ** 32 + orders, mark: orders, acknowledged: [] };
  orders += 1;
  admin.send({ ...head, ...fields } as unknown as Order);
  const { result } = await admin.untilReply(head.sequence);
  expect(result.status).toBe(STATUS.ok);
}

const digestOf = (token: string): string => createHash("sha256").update(token).digest("hex");

async function giveToken(name: string, token: string, expiresWallMs = 0): Promise<void> {
  const credential = { label: token, kind: "token", digest: digestOf(token), expiresWallMs };
  await order({ op: OP.putCredential, name, ...credential });
}

beforeEach(async () => {
  orders = 0;
  ({ world, leader, followers } = await startCluster());
  admin = world.client();
  admin.connect(leader);
  await order({ op: OP.putIdentity, name: "alice" });
  await order({ op: OP.setGrant, name: "alice", key: "", isPrefix: true, level: "admin" });
  await giveToken("alice", TOKENS.admin);
  await order({ op: OP.putIdentity, name: "worker" });
  await order({ op: OP.setGrant, name: "worker", key: "jobs/", isPrefix: true, level: "acquire" });
  await giveToken(
    "worker",
    TOKENS.worker,
    Math.floor(1_800_000_000_000 + world.nowMs + EXPIRES_AFTER_MS),
  );
  await giveToken("worker", TOKENS.expired, 1);
  admin.disconnect();
  admin = await signedIn(leader, TOKENS.admin);
  await order({ op: OP.setGrant, name: "anonymous", key: "", isPrefix: true, level: "none" });
  await world.run(100);
});

/** A client that has shown a token and got an answer, whatever it is. */
async function signedIn(node: WorldNode, token: string): Promise<TestClient> {
  const client = world.client();
  client.connect(node);
  client.query({ op: OP.signIn, id: SIGN_IN_ID, token });
  const isAnswered = () => hellosOf(client).length === 2 || client.closed !== undefined;
  await world.until("an answer to the token", isAnswered);
  return client;
}

const hellosOf = (client: TestClient) =>
  client.received.filter((message) => message.kind === MESSAGE.hello);

async function answerOf(client: TestClient, id: number): Promise<Answer> {
  await world.until("an answer", () => client.answer(id) !== undefined);
  return client.answer(id) as Answer;
}

describe("a stranger", () => {
  test("hears nothing of the other nodes, in hello and afterwards", async () => {
    const stranger = world.client();
    stranger.connect(followers[0]);
    await world.run(10);
    expect(stranger.hello).toMatchObject({ leaderId: 0, endpoints: [], voters: [] });
    leader.crash();
    await world.until("another leader", () => world.leader !== undefined);
    await world.run(1_000);
    const kinds = stranger.received.map(({ kind }) => kind);
    expect(kinds).not.toContain(MESSAGE.leader);
  });

  test("can neither read nor open a session nor give an order", async () => {
    const stranger = world.client();
    stranger.connect(followers[0]);
    await world.until("hello", () => stranger.hello !== undefined);
    stranger.query({ op: OP.query, id: 1, prefix: "", after: undefined, limit: 10 });
    stranger.query({ op: OP.watch, id: 2, key: "jobs/1", isPrefix: false, after: undefined });
    stranger.operate({ op: OP.members, id: 3 });
    for (const id of [1, 2, 3]) {
      const { status, payload } = await answerOf(stranger, id);
      expect([status, payload]).toEqual([ERROR_NUMBERS.UNAUTHENTICATED, null]);
    }
    stranger.attach();
    await world.until("an answer to open", () => stranger.attached(1) !== undefined);
    expect(stranger.attached(1)?.status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
  });

  test("costs the log nothing, and no operator a place", async () => {
    const lastIndex = leader.raft.lastIndex;
    const strangers = [leader, ...followers].map((node) => {
      const stranger = world.client();
      stranger.connect(node);
      return stranger;
    });
    await world.run(10);
    const head = { mark: 0, acknowledged: [] };
    for (const stranger of strangers) {
      for (let id = 1; id <= 200; id += 1) {
        const sequence = 2 ** 33 + id;
        const all = { name: "anonymous", key: "", isPrefix: true, level: "admin" } as const;
        stranger.send({ op: OP.setGrant, sequence, ...head, ...all } as unknown as Order);
        stranger.operate({ op: OP.members, id });
        stranger.query({ op: OP.sessions, id: 1_000 + id, after: 0, limit: 10 });
      }
      stranger.attach();
    }
    const operator = await signedIn(followers[0], TOKENS.admin);
    operator.operate({ op: OP.members, id: 1 });
    expect((await answerOf(operator, 1)).status).toBe(STATUS.ok);
    for (const stranger of strangers) {
      const { result } = await stranger.untilReply(2 ** 33 + 200);
      expect(result.status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
      for (const id of [200, 1_200])
        expect((await answerOf(stranger, id)).status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
      await world.until("an answer to open", () => stranger.attached(1) !== undefined);
      expect(stranger.attached(1)?.status).toBe(ERROR_NUMBERS.UNAUTHENTICATED);
    }
    await world.run(1_000);
    expect(leader.raft.lastIndex).toBe(lastIndex);
  });

  test("whose session was ended hears nothing more of what it says in it", async () => {
    const all = { name: "anonymous", key: "", isPrefix: true } as const;
    await order({ op: OP.setGrant, ...all, level: "acquire" });
    await world.run(100);
    const stranger = world.client();
    stranger.connect(followers[0]);
    await world.until("hello", () => stranger.hello !== undefined);
    stranger.attach();
    await world.until("attached", () => stranger.attached(1) !== undefined);
    await order({ op: OP.setGrant, ...all, level: "none" });
    const now = { graceMs: 0, now: true, reason: "" };
    await order({ op: OP.endSession, session: stranger.session, ...now });
    const isEnded = () => stranger.received.at(-1)?.kind === MESSAGE.ended;
    await world.until("the end of its session", isEnded);
    stranger.acquire("jobs/1");
    await world.run(100);
    expect(isEnded()).toBe(true);
    expect(followers[0].driver.status.refusals.every(({ count }) => count === 0)).toBe(true);
  });

  test("reads no page about the cluster", () => {
    const judge = (caller: object) => leader.driver.judgePage({ isTrusted: false, ...caller });
    expect(judge({})).toBe("refused");
    expect(judge({ token: "another" })).toBe("refused");
    expect(judge({ token: TOKENS.expired })).toBe("refused");
    expect(judge({ certifiedName: "worker" })).toBe("refused");
    expect(judge({ token: TOKENS.worker })).toBe("granted");
    expect(judge({ isTrusted: true })).toBe("granted");
    expect([1, 4].map((certifiedNode) => judge({ certifiedNode }))).toEqual(["granted", "refused"]);
  });
});

/** What a node has logged, without times and fields. */
function linesOf(node: WorldNode, event: string): string[] {
  const start = ` node ${node.id} `;
  return world.story.filter((line) => line.includes(start) && line.includes(event));
}

describe("operators", () => {
  test("learn from the leader alone who has changed what", () => {
    const lines = linesOf(leader, "access changed");
    expect(lines).toHaveLength(8);
    expect(lines[0]).toContain('{"by":"anonymous","request":"putIdentity","identity":"alice"}');
    const closing = '"request":"setGrant","identity":"anonymous","grants":"none","key":"*"';
    expect(lines[7]).toContain(`{"by":"alice",${closing}}`);
    for (const node of followers) expect(linesOf(node, "access changed")).toEqual([]);
  });

  test("learn from the node of a client what it was refused, and how often", async () => {
    const worker = await signedIn(followers[0], TOKENS.worker);
    worker.attach();
    await world.until("attached", () => worker.attached(1) !== undefined);
    const refused = worker.acquire("other/1", 0);
    await worker.untilReply(refused);
    worker.query({ op: OP.inspect, id: 1, key: "other/2" });
    worker.query({ op: OP.access, id: 2, after: undefined, limit: 10 });
    for (const id of [1, 2]) await answerOf(worker, id);
    await worker.untilReply(worker.acquire("other/3", 0));
    const stranger = world.client();
    stranger.connect(followers[0]);
    const head = { sequence: 2 ** 33, mark: 0, acknowledged: [] };
    stranger.send({ ...head, op: OP.setLimit, key: "s", limit: 1 } as unknown as Order);
    await stranger.untilReply(head.sequence);
    stranger.attach();
    await world.until("an answer to open", () => stranger.attached(1) !== undefined);

    expect(followers[0].driver.status.refusals.filter(({ count }) => count > 0)).toEqual([
      { verb: "observe", code: "FORBIDDEN", count: 1 },
      { verb: "acquire", code: "FORBIDDEN", count: 2 },
      { verb: "acquire", code: "UNAUTHENTICATED", count: 1 },
      { verb: "operate", code: "UNAUTHENTICATED", count: 1 },
      { verb: "admin", code: "FORBIDDEN", count: 1 },
    ]);
    const lines = linesOf(followers[0], "request refused").join("\n");
    expect(lines.split("\n")).toHaveLength(5);
    expect(lines).toContain('"identity":"worker","request":"acquire","key":"other/1"');
    expect(lines).toContain('"identity":"worker","request":"inspect","key":"other/2"');
    expect(lines).toContain('"identity":"worker","request":"access"');
    expect(lines).toContain('"identity":"anonymous","request":"setLimit","key":"s"');
    expect(lines).toContain('"identity":"anonymous","request":"open"');
    for (const node of [leader, followers[1]]) {
      expect(linesOf(node, "request refused")).toEqual([]);
      expect(node.driver.status.refusals.every(({ count }) => count === 0)).toBe(true);
    }
  });

  test("learn of tokens that were refused, and never see one", async () => {
    for (let at = 0; at < 3; at += 1) await signedIn(followers[1], "a secret that nobody gave");
    expect(followers[1].driver.status.signInsRefusedTotal).toBe(3);
    expect(linesOf(followers[1], "sign-in refused")).toHaveLength(1);
    expect(world.story.join("\n")).not.toContain("a secret that nobody gave");
  });

  test("learn of a wait that its identity lost the right to", async () => {
    const worker = await signedIn(followers[0], TOKENS.worker);
    worker.attach();
    await world.until("attached", () => worker.attached(1) !== undefined);
    const held = worker.acquire("jobs/1", 0);
    await worker.untilReply(held);
    const other = await signedIn(followers[0], TOKENS.worker);
    other.attach();
    await world.until("attached", () => other.attached(1) !== undefined);
    await other.untilReply(other.acquire("jobs/1", 60_000));
    await order({ op: OP.setGrant, name: "worker", key: "jobs/", isPrefix: true, level: "none" });
    await worker.untilReply(worker.end(held));
    await world.run(100);
    expect(linesOf(followers[0], "request refused").at(-1)).toContain('"key":"jobs/1"');
  });
});

describe("a token", () => {
  test("is followed by a hello with the other nodes", async () => {
    for (const node of [leader, ...followers]) {
      const client = await signedIn(node, TOKENS.worker);
      const [, hello] = hellosOf(client);
      expect(hello).toMatchObject({ leaderId: leader.id, voters: [1, 2, 3] });
      client.attach();
      await world.until("attached", () => client.attached(1) !== undefined);
      expect(client.attached(1)?.status).toBe(STATUS.ok);
    }
  });

  test.each([
    [
      "that nobody gave",
      "another token",
      "unknown credential: it was removed or replaced, or belongs to another cluster",
    ],
    ["that has expired", TOKENS.expired, "the credential has expired"],
  ])("%s ends the connection and says why", async (_, token, message) => {
    const client = await signedIn(followers[1], token);
    expect(client.answer(SIGN_IN_ID)).toMatchObject({
      status: ERROR_NUMBERS.UNAUTHENTICATED,
      payload: { message },
    });
    expect(client.closed).toEqual({ code: 1008, reason: message });
  });

  test("comes before any other request", async () => {
    const client = world.client();
    client.connect(leader);
    client.query({ op: OP.whoAmI, id: 1 });
    client.query({ op: OP.signIn, id: SIGN_IN_ID, token: TOKENS.admin });
    await world.until("closed", () => client.closed !== undefined);
    expect(client.closed).toEqual({
      code: 1008,
      reason: "a sign-in comes before any other request",
    });
  });

  test("that expires ends the connection", async () => {
    const client = await signedIn(followers[0], TOKENS.worker);
    await world.run(EXPIRES_AFTER_MS - 5_000);
    expect(client.closed).toBeUndefined();
    await world.run(10_000);
    expect(client.closed).toEqual({ code: 1008, reason: "the credential has expired" });
  });

  test("that is removed ends the connection at every node", async () => {
    const clients = [
      await signedIn(leader, TOKENS.worker),
      await signedIn(followers[0], TOKENS.worker),
    ];
    const label = TOKENS.worker;
    await order({ op: OP.removeCredential, name: "worker", label });
    await world.run(1_000);
    for (const { closed } of clients) {
      expect(closed).toEqual({
        code: 1008,
        reason: "unknown credential: it was removed or replaced, or belongs to another cluster",
      });
    }
    expect(admin.closed).toBeUndefined();
  });
});
