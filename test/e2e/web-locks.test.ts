/**
 * Web Locks on a cluster of real processes: what shows only if reads and commands take different
 * ways. The API's statements one by one are in `test/client/web-locks/*.test.ts`.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Client, connect, type RequestedLock } from "../../src/index.js";
import { type ClusterProcess, startCluster } from "./world/cluster-process.js";

let cluster: ClusterProcess;
let one: Client;
let two: Client;

beforeAll(async () => {
  cluster = await startCluster();
  await cluster.leader();
  [one, two] = (await Promise.all(
    ["one", "two"].map((name) => connect({ endpoints: cluster.endpoints, name })),
  )) as [Client, Client];
});

afterAll(async () => {
  await Promise.all([one?.close(), two?.close()]);
  await cluster?.stop();
});

/** Resolves when the lock is held, with how to end that. */
function hold(client: Client, name: string, steal = false): Promise<() => void> {
  return new Promise((resolve, reject) => {
    const held = (lock: RequestedLock | null): Promise<void> => {
      return new Promise((release) => resolve(lock === null ? reject : release));
    };
    client.locks.request(name, { steal }, held).catch(() => undefined);
  });
}

test("a snapshot shows what was asked for in the same turn, every time", async () => {
  for (let round = 0; round < 50; round++) {
    const name = `same turn ${round}`;
    const ends: (() => void)[] = [];
    const holding = one.locks.request(name, () => new Promise<void>((end) => ends.push(end)));
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = one.locks.request(name, { signal }, () => "never").catch(() => "aborted");
    const { held, pending } = await one.locks.query();
    const count = (list: typeof held) => list.filter((each) => each.name === name).length;
    expect([count(held), count(pending)]).toEqual([1, 1]);
    controller.abort();
    expect(await waiting).toBe("aborted");
    expect(count((await one.locks.query()).pending)).toBe(0);
    for (const end of ends) end();
    await holding;
    expect(count((await one.locks.query()).held)).toBe(0);
  }
});

test("requests and locks are listed in the order of the log, over names and clients", async () => {
  const names = ["order a", "order b", "order c"];
  const releases = await Promise.all(names.map((name) => hold(one, name)));
  const backwards = names.toReversed();
  const next = backwards.map((name) => hold(one, name));
  const listed = async (which: "held" | "pending") => {
    const snapshot = await two.locks.query();
    return snapshot[which].map(({ name }) => name).filter((name) => names.includes(name));
  };
  // Each client's own snapshot waits for its own requests only.
  await one.locks.query();
  expect(await listed("pending")).toEqual(backwards);
  for (const at of [1, 2, 0]) releases[at]?.();
  const others = await Promise.all(next);
  expect(await listed("held")).toEqual(["order b", "order c", "order a"]);
  const thieves = await Promise.all(backwards.map((name) => hold(two, name, true)));
  expect(await listed("held")).toEqual(backwards);
  for (const end of [...others, ...thieves]) end();
});

test("clients take turns, and each turn has a larger token", async () => {
  let inside = 0;
  const tokens: number[] = [];
  const work = async (client: Client): Promise<void> => {
    for (let i = 0; i < 25; i++) {
      await client.locks.request("turns", async (lock) => {
        inside += 1;
        tokens.push(lock?.token ?? 0);
        await new Promise((resolve) => setImmediate(resolve));
        expect(inside).toBe(1);
        inside -= 1;
      });
    }
  };
  await Promise.all([work(one), work(two), work(one)]);
  expect(tokens).toHaveLength(75);
  expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
});

test("any string is a name, through the log and back", async () => {
  for (const name of ["", "abc\u0000def", "\ud800", "\udc00\ud800", "\uffff", "~locks/", "🔒"]) {
    const end = await hold(one, name);
    const { held } = await two.locks.query();
    expect(held).toContainEqual({ name, mode: "exclusive", clientId: String(one.session) });
    end();
  }
});
