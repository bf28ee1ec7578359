/** Cycles of waits that may be deadlocks: tasks without owners look like several. */
import {
  array,
  boolean,
  assert as holds,
  integer,
  property as propertyOf,
  record,
  subarray,
} from "fast-check";
import { describe, expect, test } from "vitest";
import { type KeyView, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, shared } from "../plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };
const EDGES_MAX = 2_000;

function start(...names: string[]): [ClusterLog, ...Client[]] {
  const log = new ClusterLog();
  return [log, ...names.map((name) => log.open(name))];
}

function wait(client: Client, key: string, owner: number) {
  return client.acquire(exclusive(key), WAIT_FOREVER, { owner });
}

/** `["a:k", "b:l"]`: who waits for what in each possible deadlock. */
function possible({ table }: ClusterLog): string[][] {
  return table
    .waitGraph(EDGES_MAX)
    .possible.map(({ cycle }) => cycle.map(({ sessionName, key }) => `${sessionName}:${key}`));
}

describe("a possible deadlock", () => {
  test("of two tasks without owners is shown as possible, and nobody is refused", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { owner: 1 });
    a.take(exclusive("l"), { owner: 2 });
    expect([wait(a, "l", 3), possible(log)]).toEqual([QUEUED, []]);
    log.pass(2_000);
    expect(wait(a, "k", 4)).toEqual(QUEUED);
    expect(possible(log)).toEqual([["a:l", "a:k"]]);
    log.pass(1_000);
    const [first] = log.table.waitGraph(EDGES_MAX).possible;
    expect(first?.waitingMs).toBe(1_000);
    const explained = log.table.explain("k", { session: a.session, sequence: 4 }, () => undefined);
    expect(explained.possibleDeadlock.map(({ key }) => key)).toEqual(["k", "l"]);
    expect(log.table.counts().deadlocks).toBe(0);
  });

  test("may go through several sessions", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    a.take(exclusive("k"), { owner: 1 });
    b.take(shared("l"), { owner: 1 });
    expect([wait(a, "l", 2), wait(b, "k", 2)]).toEqual([QUEUED, QUEUED]);
    expect(possible(log)).toEqual([["a:l", "b:k"]]);
  });

  test("is none in a single key, in which tasks of one session take turns", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { owner: 1 });
    expect([wait(a, "k", 2), wait(a, "k", 3), possible(log)]).toEqual([QUEUED, QUEUED, []]);
  });

  test("is none where the wait is older than the hold, or owners show that tasks differ", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    b.take(exclusive("k"), { owner: 1 });
    expect(wait(a, "k", 1)).toEqual(QUEUED);
    log.pass(10);
    a.take(exclusive("l"), { owner: 2 });
    expect([wait(b, "l", 2), possible(log)]).toEqual([QUEUED, []]);
    // The owner of the hold has another one: it was named.
    const [other, c] = start("c") as [ClusterLog, Client];
    c.take(exclusive("k"), { owner: 1 });
    c.take(exclusive("m"), { owner: 1 });
    c.take(exclusive("l"), { owner: 2 });
    expect([wait(c, "l", 3), wait(c, "k", 4), possible(other)]).toEqual([QUEUED, QUEUED, []]);
  });

  test("is none of permits, which any holder may give back", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(permits("k", 1, 1), { owner: 1 });
    a.take(exclusive("l"), { owner: 2 });
    a.acquire(permits("k", 1), WAIT_FOREVER, { owner: 3 });
    expect([wait(a, "l", 4), possible(log)]).toEqual([QUEUED, []]);
  });

  test("counts for the health of a node once it has lasted a minute", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { owner: 1 });
    a.take(exclusive("l"), { owner: 2 });
    wait(a, "l", 3);
    wait(a, "k", 4);
    const counted: number[] = [];
    for (let passedMs = 0; passedMs <= 80_000; passedMs += 10_000) {
      counted.push(log.table.possibleDeadlocks());
      a.keepalive();
      log.pass(10_000);
    }
    expect(counted).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1]);
  });
});

interface Claim {
  readonly session: number;
  readonly owner: number;
  readonly keys: Set<string>;
  /** The keys in which a wait is not eligible. */
  readonly waitsIn: Set<string>;
  readonly since: number;
}

/** Requests in a possible deadlock, from what everybody can see of the keys. */
function bruteForce(views: readonly KeyView[]): boolean {
  const held = new Map<string, Claim>();
  const waits = new Map<string, Claim>();
  for (const { key, holds: all, waiters } of views) {
    for (const { session, owner, sequence, heldMs } of all) {
      const fresh = { session, owner, keys: new Set(""), waitsIn: new Set(""), since: -heldMs };
      const claim = held.get(`${session}/${sequence}`) ?? fresh;
      claim.keys.add(key);
      held.set(`${session}/${sequence}`, claim);
    }
    for (const { session, owner, sequence, waitingMs, isEligible } of waiters) {
      const fresh = { session, owner, keys: new Set(""), waitsIn: new Set(""), since: -waitingMs };
      const claim = waits.get(`${session}/${sequence}`) ?? fresh;
      claim.keys.add(key);
      if (!isEligible) claim.waitsIn.add(key);
      waits.set(`${session}/${sequence}`, claim);
    }
  }
  const claims = [...held.values(), ...waits.values()];
  const isAlone = ({ session, owner }: Claim): boolean =>
    claims.filter((one) => one.session === session && one.owner === owner).length === 1;
  const leads = (from: Claim, to: Claim): boolean =>
    [...held.values()].some((hold) => {
      if (hold.session !== to.session) return false;
      if (![...hold.keys].some((key) => from.waitsIn.has(key))) return false;
      if (hold.owner === to.owner) return true;
      const isApart = ![...hold.keys].some((key) => to.keys.has(key));
      return isAlone(hold) && isAlone(to) && isApart && to.since >= hold.since;
    });
  const all = [...waits.values()];
  const reaches = (from: Claim, to: Claim, seen: Set<Claim>): boolean =>
    all.some((next) => {
      if (!leads(from, next)) return false;
      if (next === to) return true;
      if (seen.has(next)) return false;
      seen.add(next);
      return reaches(next, to, seen);
    });
  return all.some((one) => reaches(one, one, new Set()));
}

test("a possible deadlock is what brute force finds", () => {
  const keys = ["a", "b", "c"];
  const step = record({
    client: integer({ min: 0, max: 1 }),
    owner: integer({ min: 1, max: 9 }),
    keys: subarray(keys, { minLength: 1, maxLength: 2 }),
    isShared: boolean(),
    passMs: integer({ min: 0, max: 1 }),
    ends: integer({ min: 0, max: 5 }),
  });
  let found = 0;
  holds(
    propertyOf(array(step, { minLength: 4, maxLength: 16 }), (steps) => {
      const [log, ...clients] = start("a", "b");
      for (const { client: at, owner, keys: wanted, isShared, passMs, ends } of steps) {
        const client = clients[at] as Client;
        const view = log.table.inspect(wanted[0] as string);
        const own = view.holds.find(({ session }) => session === client.session);
        if (ends === 0 && own !== undefined) client.end({ sequence: own.sequence });
        else {
          const items = isShared ? shared(...wanted) : exclusive(...wanted);
          client.acquire(items, WAIT_FOREVER, { owner });
        }
        log.pass(passMs);
        const cycles = possible(log);
        if (cycles.length > 0) found += 1;
        const views = keys.map((key) => log.table.inspect(key));
        expect(cycles.length > 0).toBe(bruteForce(views));
      }
    }),
    { numRuns: 400 },
  );
  expect(found).toBeGreaterThan(50);
});
