/** The table of a cluster that is restored from a snapshot of another one (decision 17). */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  LockTable,
  type RefoundOptions,
  type TableSettings,
  TOKEN_FLOOR_MAX,
} from "../../../src/lockfsm/index.js";
import { END_REASON, OP, STATUS, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import { NaiveTable } from "../model/model.js";
import {
  ClusterLog,
  exclusive,
  OTHER_OWNER,
  OWNER,
  permits,
  shared,
} from "../plans/cluster-log.js";
import { fewUnits, KEYS, plan, settings, shortPlan, type Turn } from "../plans/plans.js";
import { Clients } from "../plans/plans-clients.js";
import { leasePlan } from "../plans/plans-leases.js";
import { roomySettings } from "../plans/plans-mixture.js";
import { cyclesIn, Recording } from "../plans/recording.js";
import { copyOf, joined, rest } from "../plans/snapshots.js";

const NUM_RUNS = runsOf(20);
const A_DAY_OF_TOKENS = 86_400 * 2 ** 21;
const INDEX = 1_000_000;

const OPTIONS: RefoundOptions = {
  index: INDEX,
  quietMs: 60_000,
  tokenFloor: 0,
  savedWallMs: 5_000,
};

/** A log that goes on in a table restored from the table of `log`. */
function restoredFrom(log: ClusterLog, options: Partial<RefoundOptions> = {}): ClusterLog {
  const founded = new ClusterLog();
  founded.table.become(log.table.refounded({ ...OPTIONS, ...options }));
  founded.skipTo(INDEX);
  founded.stamp = log.stamp;
  founded.wallMs = log.wallMs;
  return founded;
}

/** With one entry, so that time has begun. */
function begunLog(): ClusterLog {
  const log = new ClusterLog();
  log.apply();
  return log;
}

function statusOfOpening(log: ClusterLog, name: string): number {
  const command = {
    op: OP.open,
    nonce: name,
    attempt: 1,
    ttlMs: 15_000,
    name,
    metadata: "",
  } as const;
  log.apply({ session: 0, epoch: 0, command });
  return log.attached.at(-1)?.status ?? -1;
}

describe("what survives a restore", () => {
  test("is neither session, hold nor waiter, in whatever state they were", () => {
    const log = new ClusterLog();
    const [a, b, c] = [log.open("a"), log.open("b"), log.open("c")];
    a.take(exclusive("k"));
    b.acquire(exclusive("k"));
    a.take(exclusive("other", "k2"));
    c.take(permits("pool", 2, 4));
    const before = log.table.hash();
    const founded = restoredFrom(log);
    expect(founded.table.counts()).toMatchObject({ sessions: 0, holds: 0, waiters: 0, keys: 0 });
    expect(founded.table.query("", undefined, 100).keys).toEqual([]);
    expect([founded.table.hasQueuedWork, founded.table.shortestTtlMs]).toEqual([false, undefined]);
    // The old one is left as it was.
    expect(log.table.hash()).toBe(before);
    expect(log.line("k")).toEqual(["a", "|", "b"]);
  });

  test("is neither a lease, nor why one ended, but what keeps the keys of one closed", () => {
    const log = new ClusterLog({ endlessLeases: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    a.lease(exclusive("k"), { ttlMs: 0 });
    a.lease(exclusive("kept"), { owner: OTHER_OWNER, options: { minHoldMs: 60_000 } });
    b.lease(exclusive("k"), { owner: OTHER_OWNER, waitMs: WAIT_FOREVER });
    a.lease(exclusive("ended"));
    a.giveBack(["ended"]);
    const founded = restoredFrom(log, { quietMs: 0 });
    expect(founded.table.counts()).toMatchObject({ holds: 0, leases: 0, endlessLeases: 0 });
    expect(founded.table.counts()).toMatchObject({ waiters: 0, cooldowns: 1, keys: 1 });
    expect(founded.table.inspect("kept").cooldowns).toMatchObject([{ endsInMs: 60_000 }]);
    const c = founded.open("c");
    const notHeld = { status: ERROR_NUMBERS.NOT_HELD, reason: END_REASON.unknown };
    expect(["k", "ended"].map((key) => c.extend([key], 1_000))).toEqual([notHeld, notHeld]);
    expect(c.lease(exclusive("k", "ended"))).toMatchObject({ status: STATUS.leased });
    expect(c.lease(exclusive("kept"))).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
  });

  test("is not a hold of a bearer, whose time keeps no key closed, but its minHoldMs does", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const options = { minHoldMs: 700_000, lockDelayMs: 60_000 };
    a.handOver(a.take(exclusive("left"), { options: { lockDelayMs: 60_000 } }), OWNER, 600_000);
    a.handOver(a.take(exclusive("kept"), { options }), OWNER, 600_000);
    a.handOver(a.take(exclusive("given")), OWNER, 600_000, false);
    log.pass(1_000);
    const founded = restoredFrom(log, { quietMs: 10_000 });
    expect(founded.table.counts()).toMatchObject({ holds: 0, leases: 0, cooldowns: 2 });
    expect(founded.table.inspect("kept").cooldowns).toMatchObject([{ endsInMs: 699_000 }]);
    expect(founded.table.inspect("given").cooldowns).toMatchObject([{ endsInMs: 600_000 }]);
    founded.pass(10_000);
    const c = founded.open("c", 600_000);
    const unknown = { status: ERROR_NUMBERS.NOT_HELD, reason: END_REASON.unknown };
    expect(c.adopt("left", OWNER)).toEqual(unknown);
  });

  test("is a key for as long as the lease of it in the file may have been extended, if that is longer", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    a.lease(exclusive("day"), { ttlMs: 86_400_000, options: { lockDelayMs: 5_000 } });
    a.lease(exclusive("short"), { owner: OTHER_OWNER, ttlMs: 60_000 });
    log.pass(3_600_000);
    const founded = restoredFrom(log, { quietMs: 660_000 });
    expect(founded.table.inspect("day").cooldowns).toMatchObject([{ endsInMs: 86_405_000 }]);
    expect(founded.table.counts()).toMatchObject({ cooldowns: 1, keys: 1 });
    // The other keys wait no longer than before there were such leases.
    expect(founded.table.quietMs).toBe(660_000);
    founded.pass(660_000);
    const c = founded.open("c");
    expect(c.lease(exclusive("short"), { ttlMs: 1_000 })).toMatchObject({ status: STATUS.leased });
    expect(c.lease(exclusive("day"))).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(restoredFrom(log, { quietMs: 0 }).table.counts()).toMatchObject({
      cooldowns: 0,
      keys: 0,
    });
  });

  test("are the settings of the cluster and the limits that were set, not those that were named", () => {
    const log = new ClusterLog({ waitersMax: 77 });
    const a = log.open("a");
    a.setLimit("set", 7);
    a.take(permits("set", 3));
    a.take(permits("named", 1, 4));
    const founded = restoredFrom(log, { quietMs: 0 });
    expect(founded.table.settings().find(({ name }) => name === "waitersMax")?.value).toBe(77);
    const b = founded.open("b");
    expect(b.acquire(permits("set", 7), 0)).toMatchObject({ slots: [[0, 1, 2, 3, 4, 5, 6]] });
    expect(b.acquire(permits("named", 9, 9), 0)).toMatchObject({ status: STATUS.granted });
  });

  test("is what keeps keys closed, to the same moment and in the same way", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hourly = { options: { minHoldMs: 3_600_000 } };
    a.take(exclusive("held"), hourly);
    const hold = b.take(exclusive("ended"), hourly);
    b.take(shared("both"), hourly);
    b.take([...permits("pool", 2, 5)], hourly);
    log.pass(1_000);
    b.end(hold);
    const founded = restoredFrom(log, { quietMs: 0 });
    for (const key of ["held", "ended"]) {
      expect(founded.table.inspect(key)).toMatchObject({
        holds: [],
        cooldowns: [{ mode: "exclusive", endsInMs: 3_599_000 }],
      });
    }
    const c = founded.open("c");
    expect(c.acquire(exclusive("held"), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(c.acquire(exclusive("both"), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(c.acquire(shared("both"), 0)).toMatchObject({ status: STATUS.granted });
    expect(c.acquire(permits("pool", 4), 0)).toMatchObject({ status: ERROR_NUMBERS.LOCK_HELD });
    expect(c.acquire(permits("pool", 3), 0)).toMatchObject({ slots: [[2, 3, 4]] });
    founded.pass(3_599_000 - 1);
    expect(founded.table.inspect("held").cooldowns).toHaveLength(1);
    founded.pass(1);
    expect(founded.table.inspect("held").cooldowns).toEqual([]);
  });
});

describe("in the quiet time", () => {
  test("no session is opened, from its first millisecond to its last", () => {
    const log = new ClusterLog();
    log.open("a").take();
    const founded = restoredFrom(log);
    expect(founded.table.quietMs).toBe(60_000);
    expect(statusOfOpening(founded, "b")).toBe(ERROR_NUMBERS.UNAVAILABLE);
    founded.pass(59_999);
    expect(founded.table.quietMs).toBe(1);
    expect(statusOfOpening(founded, "b")).toBe(ERROR_NUMBERS.UNAVAILABLE);
    expect(founded.table.counts().sessions).toBe(0);
    founded.pass(1);
    expect(founded.table.quietMs).toBe(0);
    expect(statusOfOpening(founded, "b")).toBe(STATUS.ok);
  });

  test("sessions of the old cluster are unknown", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const founded = restoredFrom(log);
    const { session, nonce } = a;
    const resume = { op: OP.resume, session, nonce, attempt: 2 } as const;
    founded.apply({ session: 0, epoch: 0, command: resume });
    expect(founded.attached.at(-1)?.status).toBe(ERROR_NUMBERS.SESSION_EXPIRED);
  });

  test("the leader is made to stamp entries until it is over, so that it ends without clients", () => {
    const founded = restoredFrom(begunLog(), { quietMs: 500 });
    expect(founded.table.nextDueAt).toBe(founded.stamp + 500);
    founded.pass(500);
    expect(founded.table.nextDueAt).toBe(undefined);
  });

  test("it goes on in a snapshot, and is over in one that is taken behind it", () => {
    const founded = restoredFrom(begunLog());
    founded.pass(10_000);
    const copy = copyOf(founded.table);
    expect([copy.quietMs, copy.hash()]).toEqual([50_000, founded.table.hash()]);
    founded.pass(70_000);
    const later = copyOf(founded.table);
    expect([later.quietMs, later.hash()]).toEqual([0, founded.table.hash()]);
  });
});

describe("tokens after a restore", () => {
  const second = 2 ** 21;

  test("are above a day of the old ones, a floor, the clock, and what the time since had room for", () => {
    const anyWall = fc.integer({ min: 0, max: 4_000_000_000_000 });
    fc.assert(
      fc.property(
        anyWall,
        anyWall,
        anyWall,
        fc.nat({ max: 2 ** 52 }),
        (begun, saved, now, floor) => {
          const log = new ClusterLog();
          log.wallMs = begun;
          const { token: last } = log.open("a").take();
          const savedWallMs = Math.max(1, saved);
          const founded = restoredFrom(log, { quietMs: 0, tokenFloor: floor, savedWallMs });
          founded.wallMs = now;
          const { token: next } = founded.open("b").take();
          const elapsed = Math.floor(now / 1_000) - Math.floor(savedWallMs / 1_000);
          expect(next).toBeGreaterThan(last + A_DAY_OF_TOKENS);
          expect(next).toBeGreaterThanOrEqual(floor);
          expect(next).toBeGreaterThanOrEqual(Math.floor(now / 1_000) * second);
          expect(next).toBeGreaterThan(Math.min(last + elapsed * second, TOKEN_FLOOR_MAX - 1));
          expect(next).toBeLessThanOrEqual(2 ** 53 - second);
        },
      ),
      { numRuns: NUM_RUNS },
    );
  });

  test("are settled by the first entry, once, and by no later clock", () => {
    const log = new ClusterLog();
    log.open("a").take();
    const founded = restoredFrom(log, { quietMs: 0 });
    founded.wallMs = log.wallMs + 7_000;
    founded.apply();
    const settled = founded.table.nextToken;
    expect(settled).toBe(log.table.nextToken + A_DAY_OF_TOKENS + 7 * second);
    founded.wallMs += 1_000_000;
    founded.apply();
    expect(founded.table.nextToken).toBe(settled);
  });

  test("rise again when what was restored is restored, be it before its first entry", () => {
    const log = new ClusterLog();
    log.open("a").take();
    const options = { ...OPTIONS, savedWallMs: 9_000 };
    const once = log.table.refounded(OPTIONS);
    const twice = once.refounded({ ...options, index: 2 * INDEX });
    expect(twice.nextToken).toBe(once.nextToken + A_DAY_OF_TOKENS);
    const said = { toSession: () => {}, attached: () => {} };
    const wallMs = 15_000;
    twice.apply({ index: 3 * INDEX, stamp: twice.stamp, wallMs, commands: [] }, said);
    // Since the first of both was saved nothing was granted that anybody told of.
    expect(twice.nextToken).toBe(once.nextToken + A_DAY_OF_TOKENS + 10 * second);
  });
});

test("a table is restored to the same bytes on every node", () => {
  fc.assert(
    fc.property(settings, plan, (limits, turns) => {
      const table = tableAfter(limits, turns);
      const snapshots = [table, copyOf(table), copyOf(copyOf(table))].map((one) =>
        joined(rest(one.refounded(OPTIONS).snapshot())),
      );
      expect(snapshots[1]).toEqual(snapshots[0]);
      expect(snapshots[2]).toEqual(snapshots[0]);
      const founded = table.refounded(OPTIONS);
      expect(copyOf(founded).hash()).toBe(founded.hash());
    }),
    { numRuns: NUM_RUNS },
  );
});

test("says and shows after a restore what the naive model says and shows", () => {
  const quietMs = fc.constantFrom(0, 1, 2_000, 40_000);
  for (const [limits, turns] of [
    [settings, plan],
    [fewUnits, shortPlan],
    [roomySettings, leasePlan],
  ] as const) {
    fc.assert(
      fc.property(limits, turns, turns, quietMs, (chosen, before, after, quiet) => {
        const clients = new Clients();
        const old = new LockTable(chosen);
        const oldModel = new NaiveTable(chosen);
        for (const turn of before) step(clients, old, oldModel, turn);
        const options = { ...OPTIONS, quietMs: quiet };
        const table = old.refounded(options);
        const model = oldModel.refounded(options);
        expectSame(table, model);
        const later = new Clients(INDEX, old.stamp);
        for (const turn of after) {
          const { actual, expected } = step(later, table, model, turn);
          expectEqual(actual.said, expected.said);
          expectSame(table, model);
        }
      }),
      { numRuns: NUM_RUNS },
    );
  }
}, 600_000);

function tableAfter(limits: TableSettings, turns: readonly Turn[]): LockTable {
  const table = new LockTable(limits);
  const clients = new Clients();
  for (const turn of turns) table.apply(clients.entryOf(turn), new Recording(clients));
  return table;
}

function step(clients: Clients, table: LockTable, model: NaiveTable, turn: Turn) {
  const entry = clients.entryOf(turn);
  const actual = new Recording(clients);
  table.apply(entry, actual);
  const expected = new Recording();
  model.apply(entry, expected, cyclesIn(actual.said));
  return { actual, expected };
}

/** The comparison that explains is slow: it is asked only about what differs in writing. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}

function expectSame(table: LockTable, model: NaiveTable): void {
  for (const key of KEYS) expectEqual(table.inspect(key), model.inspect(key));
  expectEqual(table.counts(), model.counts());
  expect(table.nextDueAt).toBe(model.nextDueAt);
  expect(table.hasQueuedWork).toBe(model.hasQueuedWork);
  const shown = table.query("", undefined, 100).keys.map(({ key }) => key);
  expectEqual(shown, model.keysInUse());
  expectEqual(table.listSessions(0, 100).sessions, model.sessions());
}
