/**
 * What ended holds keep closed: against whose limit it counts, and that an operator can open it.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import { MESSAGE, OP, STATUS, WAIT_MS_MAX } from "../../../src/protocol/index.js";
import {
  type Client,
  ClusterLog,
  exclusive,
  permits,
  resultOf,
  shared,
} from "../plans/cluster-log.js";
import { copyOf } from "../plans/snapshots.js";

const QUOTA = { status: ERROR_NUMBERS.QUOTA };
const INVALID = { status: ERROR_NUMBERS.INVALID_ARGUMENT };
const HOUR_MS = 3_600_000;

/** Takes keys for an hour and releases them at once, until that is refused or `most` are closed. */
function leaveClosed(client: Client, most: number, prefix = "k"): number {
  for (let count = 0; count < most; count += 1) {
    const items = exclusive(`${prefix}${count}`);
    const result = client.acquire(items, 0, { options: { minHoldMs: HOUR_MS } });
    if (result?.status === ERROR_NUMBERS.QUOTA) return count;
    if (result?.status !== STATUS.granted) throw new Error(`status ${result?.status}`);
    client.end(client.sequence);
  }
  return most;
}

/** One key closed by the hold of a session, and another one that waits for it. */
function closed() {
  const log = new ClusterLog();
  const [a, b, operator] = [log.open("a"), log.open("b", 600_000), log.open("operator", 600_000)];
  const hold = a.take(exclusive("k"), { options: { minHoldMs: HOUR_MS } });
  a.end(hold);
  b.acquire(exclusive("k"));
  return { log, operator, token: hold.token };
}

const opened = (count: number, revoked = 0, remaining = 0) => {
  const left = { endsInMs: expect.any(Number) as number, leasesLeft: 0 };
  return { status: STATUS.revoked, count: revoked, remaining, opened: count, ...left };
};

describe("the keys that a session left closed", () => {
  test("are no more than it may hold, however often it releases (20,000 keys closed for 49 days)", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 10 });
    expect(leaveClosed(log.open("a"), 20_000)).toBe(10);
    expect(log.table.counts()).toMatchObject({ cooldowns: 10, holds: 0 });
  });

  test("give it room again when they open", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 3 });
    const [a, operator] = [log.open("a", 600_000), log.open("operator")];
    expect(leaveClosed(a, 9)).toBe(3);
    expect(a.acquire(exclusive("x"), 0)).toEqual(QUOTA);
    operator.revokeKey("k1");
    expect(a.acquire(exclusive("x"), 0)).toMatchObject({ status: STATUS.granted });
    expect(a.acquire(exclusive("y"), 0)).toEqual(QUOTA);
  });

  test("count against it alone, and by their bytes as well", () => {
    const log = new ClusterLog({ bytesPerSessionMax: 1_000 });
    const [a, b] = [log.open("a"), log.open("b")];
    const count = leaveClosed(a, 100);
    expect(count).toBeLessThan(20);
    expect(leaveClosed(b, 5, "other")).toBe(5);
  });

  test("keep it from adopting a hold too", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.handOver(a.take(exclusive("left")), "00".repeat(16), 60_000);
    expect(leaveClosed(b, 9)).toBe(1);
    expect(b.adopt("left", "00".repeat(16))).toEqual(QUOTA);
  });

  test("are bounded by the bytes of the table where session after session leaves some", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 10, tableBytesMax: 20_000 });
    let cooldowns = 0;
    for (let number = 1; number <= 100; number += 1) {
      const client = log.open(`c${number}`);
      if (log.attached.at(-1)?.status !== STATUS.ok) break;
      cooldowns += leaveClosed(client, 10, `${number}/`);
      client.close();
    }
    expect(log.table.counts().cooldowns).toBe(cooldowns);
    expect(cooldowns).toBeLessThan(320);
    expect(log.table.counts().tableBytes).toBeLessThan(20_000 + 200);
  });

  test("count the same after a snapshot was restored, and open the same", () => {
    const log = new ClusterLog({ holdsPerSessionMax: 3 });
    const [a, operator] = [log.open("a"), log.open("operator")];
    leaveClosed(a, 2);
    const copy = copyOf(log.table);
    expect(copy.hash()).toBe(log.table.hash());
    log.table.become(copy);
    expect(leaveClosed(a, 9, "l")).toBe(1);
    operator.revokeKey("k0");
    expect(leaveClosed(a, 9, "m")).toBe(1);
  });
});

describe("a revoke of a key that is closed", () => {
  test.each([
    ["with a grace", { graceMs: 60_000 }],
    ["at once", { now: true }],
  ])("opens it, and the next who waits is granted: %s", (_name, force) => {
    const { log, operator } = closed();
    const [reply, outcome] = operator.revokeKey("k", force);
    expect(reply).toMatchObject({ result: opened(1) });
    expect(outcome).toMatchObject({ kind: MESSAGE.outcome, result: { status: STATUS.granted } });
    expect(log.line("k")).toEqual(["b", "|"]);
    expect(log.table.counts()).toMatchObject({ cooldowns: 0 });
  });

  test("opens that key, and no other of the hold that it was", () => {
    const log = new ClusterLog();
    const [a, operator] = [log.open("a"), log.open("operator")];
    const items = [...exclusive("x"), ...shared("y"), ...permits("s", 2, 3)];
    a.end(a.take(items, { options: { minHoldMs: HOUR_MS } }));
    expect(resultOf(operator.revokeKey("y"))).toEqual(opened(1));
    expect(a.acquire(exclusive("y"), 0)).toMatchObject({ status: STATUS.granted });
    expect(a.acquire(exclusive("x"), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(resultOf(operator.revokeKey("s"))).toEqual(opened(1));
    expect(resultOf(operator.revokeKey("x"))).toEqual(opened(1));
    expect(log.table.counts()).toMatchObject({ cooldowns: 0, keys: 1 });
  });

  test("leaves closed what its own end of a hold closes; a second one opens that", () => {
    const log = new ClusterLog();
    const [a, operator] = [log.open("a"), log.open("operator")];
    a.take(exclusive("k"), { options: { lockDelayMs: 60_000 } });
    expect(resultOf(operator.revokeKey("k", { now: true }))).toEqual(opened(0, 1));
    expect(log.table.inspect("k").cooldowns).toHaveLength(1);
    expect(resultOf(operator.revokeKey("k", { now: true }))).toEqual(opened(1));
    expect(log.table.inspect("k").kind).toBeNull();
  });

  test("deals with few holds and cooldowns at a time, and says how many are left", () => {
    const log = new ClusterLog({ holdsPerStepMax: 2 });
    const [a, operator] = [log.open("a"), log.open("operator")];
    const options = { options: { minHoldMs: HOUR_MS } };
    const tokens = [1, 2, 3, 4].map((task) => a.take(shared("k"), { task, ...options }));
    for (const token of tokens.slice(0, 3)) a.end(token);
    expect(resultOf(operator.revokeKey("k", { graceMs: 9_000 }))).toEqual(opened(2, 0, 2));
    expect(resultOf(operator.revokeKey("k", { graceMs: 9_000 }))).toEqual(opened(1, 1, 0));
    expect(resultOf(operator.revokeKey("k", { graceMs: 9_000 }))).toEqual(opened(0, 0, 0));
  });

  test("opens nothing that was left closed by a newer token than it names", () => {
    const { operator, token } = closed();
    const head = { sequence: 1, mark: 1, acknowledged: [] };
    const order = { op: OP.revoke, ...head, key: "k", graceMs: 0, now: true, reason: "" } as const;
    expect(resultOf(operator.send({ ...order, token: token - 1 }))).toEqual(opened(0));
    expect(resultOf(operator.send({ ...order, sequence: 2, token }))).toEqual(opened(1));
  });
});

describe("how long keys may stay closed", () => {
  test("is a day of minHoldMs and a minute of lockDelayMs, unless settings say otherwise", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const day = 24 * HOUR_MS;
    const asking = (options: Parameters<Client["acquire"]>[2]) =>
      a.acquire(exclusive("k"), 0, options);
    expect(asking({ options: { minHoldMs: day + 1 } })).toEqual(INVALID);
    a.changeSetting("minHoldMsMax", WAIT_MS_MAX);
    expect(asking({ options: { minHoldMs: day + 1 } })).toMatchObject({ status: STATUS.granted });
    a.changeSetting("minHoldMsMax", 0);
    a.changeSetting("lockDelayMsMax", 999);
    const other = exclusive("l");
    expect(a.acquire(other, 0, { options: { minHoldMs: 1 } })).toEqual(INVALID);
    expect(a.acquire(other, 0, { options: { lockDelayMs: 1_000 } })).toEqual(INVALID);
    expect(a.acquire(other, 0, { options: { lockDelayMs: 999 } })).toMatchObject({
      status: STATUS.granted,
    });
  });

  test("is not shortened for those who hold or wait already", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const token = a.take(exclusive("k"), { options: { minHoldMs: HOUR_MS } });
    b.acquire(exclusive("k"), 60_000, { options: { lockDelayMs: 5_000 } });
    a.changeSetting("minHoldMsMax", 0);
    a.changeSetting("lockDelayMsMax", 0);
    a.end(token);
    expect(log.table.inspect("k")).toMatchObject({ cooldowns: [{ endsInMs: HOUR_MS }] });
    expect(log.table.inspect("k").waiters).toHaveLength(1);
  });
});

test("a cooldown is opened by the token of its hold, in all its keys, and no other one is", () => {
  const log = new ClusterLog();
  const [a, operator] = [log.open("a", 600_000), log.open("operator", 600_000)];
  const options = { options: { minHoldMs: HOUR_MS } };
  const first = a.take(shared("k", "l"), options);
  const second = a.take(shared("k"), { task: 2, ...options });
  a.end(first);
  a.end(second);
  const identity = "anonymous";
  expect(log.table.inspect("k").cooldowns).toMatchObject([{ identity }, { identity }]);
  log.table.become(copyOf(log.table));
  expect(resultOf(operator.revokeToken(first.token))).toEqual(opened(1));
  expect(log.table.inspect("k").cooldowns).toMatchObject([{ token: second.token }]);
  expect(log.table.inspect("l").cooldowns).toEqual([]);
  const none = { status: ERROR_NUMBERS.NOT_HELD };
  expect(resultOf(operator.revokeToken(first.token))).toEqual(none);
});
