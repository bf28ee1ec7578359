/** Every query that a node answers from its table, sent to every node. */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  END_REASON,
  type ExplainView,
  MESSAGE,
  OP,
  type Query,
  type SessionsView,
  type SettingView,
  STATUS,
  type WaitGraphView,
} from "../../../src/protocol/index.js";
import { startCluster } from "../world/cluster.js";
import type { TestClient } from "../world/test-client.js";
import type { World } from "../world/world.js";

const SECRET = "5e".repeat(16);

type Unnumbered = Query extends infer Each
  ? Each extends Query
    ? Omit<Each, "id">
    : never
  : never;

/** The payloads that all nodes answer with, in the order of their ids. */
async function askAll(world: World, question: Unnumbered): Promise<unknown[]> {
  const readers = world.nodes.map((node) => {
    const reader = world.client();
    reader.connect(node);
    reader.query({ ...question, id: 1 } as Query);
    return reader;
  });
  await world.until("all answers", () => readers.every((reader) => reader.answer(1) !== undefined));
  return readers.map((reader) => {
    const { status, payload } = reader.answer(1) ?? {};
    expect(status).toBe(STATUS.ok);
    reader.disconnect();
    return payload;
  });
}

async function take(client: TestClient, key: string): Promise<number> {
  const sequence = client.acquire(key, 0);
  await client.untilReply(sequence);
  return client.token(sequence);
}

describe("a node", () => {
  test("explains why a request waits, and for how long that usually is", async () => {
    const { world, leader } = await startCluster();
    const [holder, waiting] = [world.client(), world.client()];
    await holder.start(leader);
    await waiting.start(leader);
    for (let round = 0; round < 3; round += 1) {
      await take(holder, "a");
      await world.run(500);
      await holder.untilReply(holder.end(holder.lastSequence));
    }
    const token = await take(holder, "a");
    const sequence = waiting.acquire("a");
    await waiting.untilReply(sequence);
    const asked = { op: OP.explain, key: "a", session: waiting.session, sequence } as const;
    for (const payload of await askAll(world, asked)) {
      const { request, keys } = payload as ExplainView;
      expect(request).toMatchObject({ session: waiting.session, sequence });
      expect(keys).toMatchObject([{ key: "a", isEligible: false, aheadCount: 0 }]);
      expect(keys[0]?.blockers).toMatchObject([{ token }]);
      const { expectedWaitMs } = keys[0] ?? {};
      expect(expectedWaitMs).toBeGreaterThan(300);
      expect(expectedWaitMs).toBeLessThan(600);
    }
    const newcomer = { op: OP.explain, key: "a", session: 0, sequence: 0 } as const;
    for (const payload of await askAll(world, newcomer)) {
      expect(payload).toMatchObject({ request: null, keys: [{ aheadCount: 1 }] });
    }
    const unknown = { op: OP.explain, key: "b", session: 0, sequence: 0 } as const;
    for (const payload of await askAll(world, unknown)) {
      expect(payload).toMatchObject({ keys: [{ isEligible: true, expectedWaitMs: 0 }] });
    }
  });

  test("shows who waits for whom", async () => {
    const { world, leader } = await startCluster();
    const [holder, waiting] = [world.client(), world.client()];
    await holder.start(leader);
    await waiting.start(leader);
    await take(holder, "a");
    await waiting.untilReply(waiting.acquire("a"));
    for (const payload of await askAll(world, { op: OP.waitGraph, limit: 100 })) {
      const { tasks, edges, isTruncated } = payload as WaitGraphView;
      expect(isTruncated).toBe(false);
      expect(edges).toMatchObject([{ key: "a", mode: "exclusive", why: "holds" }]);
      const [edge] = edges;
      const sessionOf = (wanted: number | undefined) =>
        tasks.find(({ id }) => id === wanted)?.session;
      expect(sessionOf(edge?.from)).toBe(waiting.session);
      expect(sessionOf(edge?.to)).toBe(holder.session);
    }
  });

  test("verifies a token: current while it is held, and which is the newest", async () => {
    const { world, leader } = await startCluster();
    const client = world.client();
    await client.start(leader);
    const old = await take(client, "a");
    await client.untilReply(client.end(client.lastSequence));
    const token = await take(client, "a");
    for (const payload of await askAll(world, { op: OP.verify, key: "a", token })) {
      expect(payload).toEqual({ isCurrent: true, newestToken: token });
    }
    for (const payload of await askAll(world, { op: OP.verify, key: "a", token: old })) {
      expect(payload).toEqual({ isCurrent: false, newestToken: token });
    }
    await client.untilReply(client.end(client.lastSequence));
    for (const payload of await askAll(world, { op: OP.verify, key: "a", token })) {
      expect(payload).toEqual({ isCurrent: false, newestToken: 0 });
    }
  });

  test("shows settings, changed for all nodes by one command", async () => {
    const { world, leader, followers } = await startCluster();
    const client = world.client();
    await client.start(followers[0]);
    const change = async (name: string, value: number | undefined): Promise<number> => {
      const head = { sequence: client.lastSequence + 1, mark: 1, acknowledged: [] };
      client.lastSequence = head.sequence;
      client.send({ op: OP.changeSetting, ...head, name, value });
      return (await client.untilReply(head.sequence)).result.status;
    };
    const settingsOf = async (): Promise<SettingView[]> => {
      const [first, ...others] = await askAll(world, { op: OP.settings });
      for (const other of others) expect(other).toEqual(first);
      return first as SettingView[];
    };
    const before = await settingsOf();
    for (const { value, defaultValue, least, most } of before) {
      expect(value).toBe(defaultValue);
      expect(least).toBeLessThanOrEqual(value);
      expect(most).toBeGreaterThanOrEqual(value);
    }
    const waitersMax = before.find(({ name }) => name === "waitersMax");
    expect(await change("waitersMax", 7)).toBe(STATUS.ok);
    expect(await settingsOf()).toContainEqual({ ...waitersMax, value: 7 });
    expect(await change("waitersMax", 0)).toBe(ERROR_NUMBERS.INVALID_ARGUMENT);
    expect(await change("nonsense", 1)).toBe(ERROR_NUMBERS.INVALID_ARGUMENT);
    leader.crash();
    await leader.restart();
    await world.untilLeader();
    expect(await settingsOf()).toContainEqual({ ...waitersMax, value: 7 });
    expect(await change("waitersMax", undefined)).toBe(STATUS.ok);
    expect(await settingsOf()).toEqual(before);
  });

  test("lists sessions page by page", async () => {
    const { world, leader } = await startCluster();
    const clients = [world.client(), world.client(), world.client()] as const;
    for (const client of clients) await client.start(leader, 20_000);
    await take(clients[1], "a");
    const numbers: number[] = [];
    for (let after: number | null = 0; after !== null; ) {
      const [page, ...others] = (await askAll(world, {
        op: OP.sessions,
        after,
        limit: 2,
      })) as SessionsView[];
      for (const { sessions } of others) {
        expect(sessions.map(({ session }) => session)).toEqual(
          page?.sessions.map(({ session }) => session),
        );
      }
      numbers.push(...(page?.sessions ?? []).map(({ session }) => session));
      for (const { session, holds, ttlMs } of page?.sessions ?? []) {
        expect(ttlMs).toBe(20_000);
        expect(holds).toBe(session === clients[1].session ? 1 : 0);
      }
      after = page?.next ?? null;
    }
    expect(numbers).toEqual(clients.map(({ session }) => session).sort((a, b) => a - b));
  });
});

describe("a session", () => {
  test("that an operator ends at once is notified, and its locks go to others", async () => {
    const { world, leader, followers } = await startCluster();
    const [victim, operator] = [world.client(), world.client()];
    await victim.start(followers[0], 600_000);
    await operator.start(followers[1], 600_000);
    await take(victim, "a");
    const head = { sequence: 1, mark: 1, acknowledged: [] };
    operator.lastSequence = 1;
    const { session } = victim;
    operator.send({ op: OP.endSession, ...head, session, graceMs: 0, now: true, reason: "test" });
    expect((await operator.untilReply(1)).result.status).toBe(STATUS.ok);
    const ended = () => victim.received.find(({ kind }) => kind === MESSAGE.ended);
    await world.until("the end is reported", () => ended() !== undefined);
    expect(ended()).toMatchObject({ session, reason: END_REASON.revoked });
    expect(await take(operator, "a")).toBeGreaterThan(0);
    expect(leader.driver.status.observation.endsByReason[END_REASON.revoked]).toBe(1);
  });
});

describe("a hold", () => {
  test("is handed over at one node and adopted at another, each time under a new token", async () => {
    const { world, followers } = await startCluster();
    const [giver, adopter] = [world.client(), world.client()];
    await giver.start(followers[0], 600_000);
    await adopter.start(followers[1], 600_000);
    const head = (sequence: number) => ({ sequence, mark: 1, acknowledged: [] });
    const options = { ...ACQUIRE_DEFAULTS, value: "v" };
    const items = [{ key: "a", mode: "exclusive" }] as const;
    giver.send({ op: OP.acquire, ...head(1), task: 1, items, waitMs: 0, options });
    await giver.untilReply(1);
    const bearer = { to: SECRET, isBearer: true, ttlMs: 60_000 };
    giver.send({ op: OP.handOver, ...head(2), target: 1, ...bearer });
    const { result: handed } = await giver.untilReply(2);
    const [between = 0] = handed.status === STATUS.leased ? handed.tokens : [];
    expect(between).toBeGreaterThan(giver.token(1));
    const inspect = { op: OP.inspect, key: "a", owner: undefined } as const;
    for (const payload of await askAll(world, inspect)) {
      const held = { holder: "bearer", session: 0, token: between, value: "v" };
      expect(payload).toMatchObject({ holds: [held] });
    }
    adopter.send({ op: OP.adopt, ...head(1), key: "a", secret: SECRET, task: 1 });
    adopter.lastSequence = 1;
    const { result } = await adopter.untilReply(1);
    expect(result).toMatchObject({ status: STATUS.adopted, value: "v" });
    expect(adopter.token(1)).toBeGreaterThan(between);
    for (const payload of await askAll(world, inspect)) {
      const held = { holder: "session", session: adopter.session, token: adopter.token(1) };
      expect(payload).toMatchObject({ holds: [held] });
    }
    const history = { op: OP.history, key: "a", limit: 10 } as const;
    for (const payload of await askAll(world, history)) {
      const giversName = `client-${giver.nonce}`;
      expect(payload).toMatchObject({
        tenures: [
          { holder: "session", session: adopter.session, reason: null },
          { holder: "bearer", sessionName: giversName, token: between, reason: END_REASON.moved },
          { holder: "session", session: giver.session, reason: END_REASON.moved },
        ],
      });
    }
    expect((await adopter.untilReply(adopter.end(1))).result.status).toBe(STATUS.released);
    expect(followers.map(({ driver }) => driver.status.keptBytes)).toEqual([0, 0]);
  });
});
