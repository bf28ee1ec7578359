/** Cycles of waits that may be deadlocks: a task that no acquire names looks like several. */
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
import { type Item, type KeyView, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { type Client, ClusterLog, exclusive, permits, shared } from "../plans/cluster-log.js";

const QUEUED = { status: STATUS.queued };
const EDGES_MAX = 2_000;

function start(...names: string[]): [ClusterLog, ...Client[]] {
  const log = new ClusterLog();
  return [log, ...names.map((name) => log.open(name))];
}

function wait(client: Client, key: string, task: number) {
  return client.acquire(exclusive(key), WAIT_FOREVER, { task });
}

/** `["a:k", "b:l"]`: who waits for what in each possible deadlock. */
function possible({ table }: ClusterLog): string[][] {
  return table
    .waitGraph(EDGES_MAX)
    .possible.map(({ cycle }) => cycle.map(({ sessionName, key }) => `${sessionName}:${key}`));
}

describe("a possible deadlock", () => {
  test("of two tasks that nobody names is shown as possible, and nobody is refused", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { task: 1 });
    a.take(exclusive("l"), { task: 2 });
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
    a.take(exclusive("k"), { task: 1 });
    b.take(shared("l"), { task: 1 });
    expect([wait(a, "l", 2), wait(b, "k", 2)]).toEqual([QUEUED, QUEUED]);
    expect(possible(log)).toEqual([["a:l", "b:k"]]);
  });

  test("is none in a single key, in which tasks of one session take turns", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { task: 1 });
    expect([wait(a, "k", 2), wait(a, "k", 3), possible(log)]).toEqual([QUEUED, QUEUED, []]);
  });

  test("is none where the wait is older than the hold, or their names show that tasks differ", () => {
    const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
    b.take(exclusive("k"), { task: 1 });
    expect(wait(a, "k", 1)).toEqual(QUEUED);
    log.pass(10);
    a.take(exclusive("l"), { task: 2 });
    expect([wait(b, "l", 2), possible(log)]).toEqual([QUEUED, []]);
    // The task of the hold has another one: it was named.
    const [other, c] = start("c") as [ClusterLog, Client];
    c.take(exclusive("k"), { task: 1 });
    c.take(exclusive("m"), { task: 1 });
    c.take(exclusive("l"), { task: 2 });
    expect([wait(c, "l", 3), wait(c, "k", 4), possible(other)]).toEqual([QUEUED, QUEUED, []]);
  });

  test("is one of permits unless holders that wait for nothing give back enough of them", () => {
    const waitsFor = (others: number, wanted: number): string[][] => {
      const [log, a, b] = start("a", "b") as [ClusterLog, Client, Client];
      a.take(permits("k", 2, 4), { task: 1 });
      b.take(permits("k", others), { task: 1 });
      a.take(exclusive("l"), { task: 2 });
      a.acquire(permits("k", wanted), WAIT_FOREVER, { task: 3 });
      expect(wait(a, "l", 4)).toEqual(QUEUED);
      return possible(log);
    };
    expect([waitsFor(1, 2), waitsFor(2, 2)]).toEqual([[], []]);
    expect([waitsFor(1, 3), waitsFor(2, 3)]).toEqual([[["a:k", "a:l"]], [["a:k", "a:l"]]]);
  });

  test("is one of permits behind a request for more of them", () => {
    const [log, a, b, c] = start("a", "b", "c") as [ClusterLog, Client, Client, Client];
    a.take(permits("k", 1, 2), { task: 1 });
    b.take(exclusive("l"), { task: 1 });
    expect(c.acquire(permits("k", 2), WAIT_FOREVER, { task: 1 })).toEqual(QUEUED);
    expect(b.acquire(permits("k", 1), WAIT_FOREVER, { task: 2 })).toEqual(QUEUED);
    expect(possible(log)).toEqual([]);
    expect([wait(a, "l", 2), possible(log)]).toEqual([QUEUED, [["a:l", "b:k"]]]);
  });

  test("is found among hundreds of other waits", () => {
    const [log, crowd, a] = start("crowd", "a") as [ClusterLog, Client, Client];
    crowd.take(exclusive("x"), { task: 1 });
    crowd.take(permits("y", 1, 1), { task: 2 });
    for (let at = 0; at < 150; at += 1) {
      expect(wait(crowd, "x", 10 + at)).toEqual(QUEUED);
      a.take(exclusive(`k${at}`), { task: 1_000 + at });
    }
    expect(possible(log)).toEqual([]);
    for (let at = 0; at < 150; at += 1) {
      a.acquire(permits("y", 1), WAIT_FOREVER, { task: 2_000 + at });
    }
    expect(possible(log)).toEqual([]);
    expect(wait(a, "k0", 3_000)).toEqual(QUEUED);
    expect([wait(a, "k1", 3_001), possible(log)]).toEqual([QUEUED, [["a:k0", "a:k1"]]]);
  });

  test("counts for the health of a node once it has lasted a minute", () => {
    const [log, a] = start("a") as [ClusterLog, Client];
    a.take(exclusive("k"), { task: 1 });
    a.take(exclusive("l"), { task: 2 });
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
  readonly task: number;
  /** The permits that it has in each of its keys; 1 in a lock. */
  readonly keys: Map<string, number>;
  /** What has to be free in each key in which a wait is not eligible: in a lock, everything. */
  readonly waitsIn: Map<string, number>;
  readonly since: number;
}

/** Whether there are requests in a possible deadlock, from what everybody can see of the keys. */
function bruteForce(views: readonly KeyView[]): boolean {
  const held = new Map<string, Claim>();
  const waits = new Map<string, Claim>();
  for (const { key, kind, limit, holds: all, waiters } of views) {
    for (const { session, task, sequence, heldMs, permits: count } of all) {
      const fresh = { session, task, keys: new Map(), waitsIn: new Map(), since: -heldMs };
      const claim = held.get(`${session}/${sequence}`) ?? fresh;
      claim.keys.set(key, Math.max(1, count));
      held.set(`${session}/${sequence}`, claim);
    }
    let need = 0;
    for (const { session, task, sequence, waitingMs, isEligible, permits: count } of waiters) {
      const fresh = { session, task, keys: new Map(), waitsIn: new Map(), since: -waitingMs };
      const claim = waits.get(`${session}/${sequence}`) ?? fresh;
      need = Math.max(need, count);
      claim.keys.set(key, count);
      if (!isEligible) claim.waitsIn.set(key, kind === "semaphore" ? limit - need : 0);
      waits.set(`${session}/${sequence}`, claim);
    }
  }
  const claims = [...held.values(), ...waits.values()];
  const isAlone = ({ session, task }: Claim): boolean =>
    claims.filter((one) => one.session === session && one.task === task).length === 1;
  const mayWaitFor = (hold: Claim, to: Claim): boolean => {
    if (hold.session !== to.session) return false;
    if (hold.task === to.task) return true;
    const isApart = ![...hold.keys].some(([key]) => to.keys.has(key));
    return isAlone(hold) && isAlone(to) && isApart && to.since >= hold.since;
  };
  let stuck = [...waits.values()];
  const keptIn = (key: string): Claim[] =>
    [...held.values()].filter((hold) => {
      return hold.keys.has(key) && stuck.some((one) => mayWaitFor(hold, one));
    });
  const blockedIn = ({ waitsIn }: Claim): string[] =>
    [...waitsIn.keys()].filter((key) => {
      const kept = keptIn(key).reduce((sum, { keys }) => sum + (keys.get(key) ?? 0), 0);
      return kept > (waitsIn.get(key) ?? 0);
    });
  for (let before = 0; before !== stuck.length; ) {
    before = stuck.length;
    stuck = stuck.filter((one) => blockedIn(one).length > 0);
  }
  const nextOf = (from: Claim): Claim[] =>
    blockedIn(from)
      .flatMap(keptIn)
      .flatMap((hold) => stuck.filter((one) => mayWaitFor(hold, one)));
  return stuck.some((one) => {
    const seen = new Set(nextOf(one));
    for (const next of seen) for (const other of nextOf(next)) seen.add(other);
    return seen.has(one);
  });
}

test("a possible deadlock is what brute force finds", () => {
  const keys = ["a", "b", "c", "s"];
  const step = record({
    client: integer({ min: 0, max: 1 }),
    task: integer({ min: 1, max: 9 }),
    keys: subarray(keys, { minLength: 1, maxLength: 2 }),
    isShared: boolean(),
    count: integer({ min: 1, max: 2 }),
    passMs: integer({ min: 0, max: 1 }),
    ends: integer({ min: 0, max: 5 }),
  });
  let found = 0;
  holds(
    propertyOf(array(step, { minLength: 4, maxLength: 16 }), (steps) => {
      const [log, ...clients] = start("a", "b");
      for (const { client: at, task, keys: wanted, isShared, count, passMs, ends } of steps) {
        const client = clients[at] as Client;
        const view = log.table.inspect(wanted[0] as string);
        const own = view.holds.find(({ session }) => session === client.session);
        if (ends === 0 && own !== undefined) client.end({ sequence: own.sequence });
        else {
          const mode = isShared ? "shared" : "exclusive";
          const items: Item[] = wanted.map((key) => {
            return key === "s" ? { key, mode: "permits", permits: count, limit: 3 } : { key, mode };
          });
          client.acquire(items, WAIT_FOREVER, { task });
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
