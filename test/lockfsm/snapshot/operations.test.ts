/** Whatever happens while a snapshot is taken, it shows the table as it was at the beginning. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LockTable, TableEntry } from "../../../src/lockfsm/index.js";
import { OP, type SessionMessage, WAIT_FOREVER } from "../../../src/protocol/index.js";
import { runsOf } from "../../runs.js";
import { arbitraryEntries, entriesFor } from "../plans/arbitrary-commands.js";
import { type Client, ClusterLog, exclusive, shared } from "../plans/cluster-log.js";
import { type Everything, everything, SECRET } from "../plans/everything.js";
import { letEverythingEnd, Recording } from "../plans/recording.js";
import { copyOf, draw, rest, restored } from "../plans/snapshots.js";

/** What anybody learns by asking for everything. */
function recallAll({ a, b, c, d, operator }: Everything): SessionMessage[] {
  const sequences = Array.from({ length: 30 }, (_, at) => at + 1);
  return [a, b, c, d, operator].flatMap((one) => one.recall(...sequences));
}

describe("a table with something of everything", () => {
  test("is the same after a restore: what it shows, what it says, and how all of it ends", () => {
    const [from, to] = [everything(), everything()];
    to.log.table.become(copyOf(from.log.table));
    expect(to.log.table.hash()).toBe(from.log.table.hash());
    const { log } = from;
    expect(to.log.table.query("", undefined, 99)).toEqual(log.table.query("", undefined, 99));
    expect(to.log.table.listSessions(0, 99)).toEqual(log.table.listSessions(0, 99));
    expect(to.log.table.settings()).toEqual(log.table.settings());
    expect(to.log.table.waitGraph(1_000)).toEqual(log.table.waitGraph(1_000));
    expect(recallAll(to)).toEqual(recallAll(from));
    expect(to.log.table.hash()).toBe(log.table.hash());
    expect(letEverythingEnd(to.log.table, log.index)).toEqual(
      letEverythingEnd(log.table, log.index),
    );
  });

  test("is saved whole, be it in blocks of one record or all in one", () => {
    const { table } = everything().log;
    const hash = table.hash();
    for (const bytes of [1, 60, 1_000, 1 << 20]) {
      expect(restored(rest(table.snapshot(bytes))).hash()).toBe(hash);
    }
  });
});

describe("a request that is to be looked at again", () => {
  /** Its search for cycles is deferred in the entry that closes its session. */
  function closed(grantsPerStepMax: number): LockTable {
    const log = new ClusterLog({ grantsPerStepMax, unitsPerEntryMax: 1 });
    const [a, b] = [log.open("a"), log.open("b")];
    for (const key of ["x", "y", "z"]) b.take(exclusive(key));
    a.acquire(exclusive("z"), WAIT_FOREVER, { task: 2 });
    a.take(exclusive("own"));
    const asking = a.acquiring(exclusive("x", "y"));
    a.sequence += 1;
    const head = { sequence: a.sequence, mark: 1, acknowledged: [] };
    log.state.searchStepsMax = 0;
    log.apply(asking, a.make({ op: OP.close, ...head }));
    expect(log.table.counts().searchesDeferred).toBe(1);
    return log.table;
  }

  test("is not an obstacle to a snapshot where it went with its session", () => {
    const table = closed(8);
    expect(table.counts()).toMatchObject({ waiters: 0, holds: 3 });
    expect(copyOf(table).hash()).toBe(table.hash());
  });

  test("nor where its session has ended before it", () => {
    const table = closed(1);
    expect(table.counts()).toMatchObject({ sessions: 1, waiters: 1, holds: 4 });
    expect(copyOf(table).hash()).toBe(table.hash());
  });
});

/** One of each that changes something, in a table with something of everything. */
const OPERATIONS: Readonly<Record<string, (of: Everything) => unknown>> = {
  "a grant": ({ a }) => a.take(exclusive("new"), { task: 50 }),
  "a request": ({ d }) => d.acquire(exclusive("lock"), 99, { task: 51 }),
  "a steal": ({ d }) => d.acquire(exclusive("lock", "up", "shut"), 0, { options: { steal: true } }),
  "a release": ({ a, hold }) => a.end(hold("set")),
  "a release of what is only a row": ({ c, hold }) => c.end(hold("alone")),
  "a release that leaves a cooldown": ({ a, hold }) => a.end(hold("lock")),
  "the withdrawal of a request": ({ b }) => b.end(1),
  "the withdrawal of an upgrade": ({ a, hold }) => a.end(hold("up").sequence + 1),
  "the end of an outcome": ({ d, hold }) => d.end(hold("raised").sequence + 1),
  "the end of a loss": ({ log, d }) => d.end(lossesOf(log, d)[0] as number),
  "an upgrade that waits": ({ c, b }) => {
    b.take(shared("both"), { task: 60 });
    c.upgrade(c.take(shared("both"), { task: 61 }), "both");
  },
  "an upgrade of what is exclusive": ({ c, hold }) => c.upgrade(hold("solo"), "solo"),
  "an upgrade that is granted": ({ b }) => b.end(2),
  "an upgrade that is refused": ({ b }) => b.upgrade(0, "up"),
  "a downgrade": ({ a, hold }) => a.downgrade(hold("lock")),
  "a downgrade that ends an upgrade": ({ a, hold }) => a.downgrade(hold("up"), "up"),
  "a new value": ({ a, hold }) => a.update(hold("set"), "changed"),
  "a revoke with grace": ({ operator, hold }) => {
    operator.revokeToken(hold("taken").token, { graceMs: 9, reason: "r" });
  },
  "a revoke of a key": ({ operator }) => operator.revokeKey("up", { graceMs: 9_000 }),
  "a revoke at once": ({ operator }) => operator.revokeKey("lock", { now: true }),
  "the end of a session": ({ operator, c }) => operator.endSession(c.session, { now: true }),
  "the coming end of a session": ({ operator, c }) => operator.endSession(c.session),
  "a close": ({ a }) => a.close(),
  "a higher limit": ({ operator }) => operator.setLimit("many", 9),
  "a lower limit": ({ operator }) => operator.setLimit("set", 1),
  "a limit that is forgotten": ({ operator }) => operator.setLimit("unused", undefined),
  "a new limit": ({ operator }) => operator.setLimit("fresh", 2),
  "a hand-over": ({ a, hold }) => a.handOver(hold("up"), SECRET),
  "a hand-over of a first-time hold": ({ d, hold }) => d.handOver(hold("taken"), SECRET),
  "a hand-over of what is only a row": ({ c, hold }) => c.handOver(hold("alone"), SECRET),
  "a hand-over to an owner": ({ a, hold }) => a.handOver(hold("set"), SECRET, 9_000, false),
  "an adoption": ({ d }) => d.adopt("left", SECRET, 9),
  "another setting": ({ operator }) => operator.changeSetting("sessionsMax", 9),
  "a resume": ({ a }) => a.resume(2),
  "what was read": ({ d }) => d.keepalive({ mark: d.sequence, acknowledged: [1, 2, 3, 4, 5, 6] }),
  "losses that were read": ({ log, d }) => d.keepalive({ acknowledged: lossesOf(log, d) }),
  "time for some to end": ({ log }) => log.pass(9_000),
  "time for all to end": ({ log }) => log.pass(10_000_000),
};

function lossesOf({ state }: ClusterLog, { session }: Client): number[] {
  const losses = [...(state.sessions.find(session)?.losses?.keys() ?? [])];
  expect(losses).not.toEqual([]);
  return losses;
}

describe("a snapshot that is drawn is not changed by", () => {
  test.each(Object.keys(OPERATIONS))("%s", (name) => {
    for (const drawnBefore of [0, 2, 30, 80]) {
      const of = everything();
      const { table } = of.log;
      const hash = table.hash();
      const drawn = table.snapshot(1);
      const chunks = draw(drawn, drawnBefore);
      OPERATIONS[name]?.(of);
      expect(table.hash()).not.toBe(hash);
      chunks.push(...draw(drawn, 5));
      of.log.finishWork();
      const after = table.hash();
      expect(restored([...chunks, ...rest(drawn)]).hash()).toBe(hash);
      expect(copyOf(table).hash()).toBe(after);
    }
  });
});

/** What a table says to an entry, and what it is then. */
function stepOf(table: LockTable, entry: TableEntry): readonly [said: string, hash: string] {
  const outbox = new Recording();
  table.apply(entry, outbox);
  return [JSON.stringify(outbox.said), table.hash()];
}

test("a snapshot drawn among any commands is the table of its moment, and goes on like it", () => {
  const pace = fc.array(fc.constantFrom(0, 1, 3, 40), { minLength: 1, maxLength: 5 });
  const chunkBytes = fc.constantFrom(1, 80, 100_000);
  fc.assert(
    fc.property(arbitraryEntries, fc.nat(), chunkBytes, pace, (wanted, from, bytes, draws) => {
      const before = everything();
      const entries = entriesFor(before, wanted);
      const { table } = before.log;
      const begin = from % entries.length;
      for (const entry of entries.slice(0, begin)) table.apply(entry, new Recording());
      const hash = table.hash();
      const drawn = table.snapshot(bytes);
      const chunks: Uint8Array[] = [];
      const later = entries.slice(begin);
      const steps = later.map((entry, at) => {
        const step = stepOf(table, entry);
        chunks.push(...draw(drawn, draws[at % draws.length] as number));
        return step;
      });
      const copy = restored([...chunks, ...rest(drawn)]);
      expect(copy.hash()).toBe(hash);
      for (const [at, entry] of later.entries()) expect(stepOf(copy, entry)).toEqual(steps[at]);
      const index = before.log.index + entries.length;
      expect(letEverythingEnd(copy, index)).toEqual(letEverythingEnd(table, index));
    }),
    { numRuns: runsOf(40) },
  );
});
