/**
 * The table against the naive model: equal words in equal order, and equal views, after every entry.
 * Both count units of work alike, so that small limits, where a step's work goes on in later entries,
 * are compared as exactly as large ones. Only the steps of search are not modelled: no entry of these
 * histories uses them up.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { LockTable, type TableSettings } from "../../../src/lockfsm/index.js";
import { TableState } from "../../../src/lockfsm/records/state.js";
import { TOKENS_END } from "../../../src/lockfsm/token-counter.js";
import { runsOf } from "../../runs.js";
import { fewUnits, KEYS, plan, settings, shortPlan, type Turn } from "../plans/plans.js";
import { accessPlan, losingPlan } from "../plans/plans-access.js";
import { Clients } from "../plans/plans-clients.js";
import { convertingPlan, patientSettings } from "../plans/plans-converting.js";
import { handOverPlan } from "../plans/plans-hand-over.js";
import { forgetfulPlan, leasePlan } from "../plans/plans-leases.js";
import { roomySettings } from "../plans/plans-mixture.js";
import { cyclesIn, Recording } from "../plans/recording.js";
import { NaiveTable } from "./model.js";
import { closureOf } from "./views.js";

const RUNS = runsOf(15);
const EDGES_MAX = 10_000;

test("says and shows after every entry what the naive model says and shows", () => {
  check(settings, plan, RUNS);
}, 600_000);

test("does so in short histories where commands find what is due and was not swept", () => {
  check(fewUnits, shortPlan, 4 * RUNS);
}, 600_000);

test("does so where holds are converted, lost and taken over while little was read", () => {
  check(patientSettings, convertingPlan, 2 * RUNS);
}, 600_000);

test("does so where rights come and go", () => {
  check(settings, accessPlan, 3 * RUNS);
}, 600_000);

test("does so where they go while work of removed identities is left over", () => {
  check(fewUnits, accessPlan, 2 * RUNS);
}, 600_000);

test("does so where they go while much is waited for", () => {
  check(settings, losingPlan, 2 * RUNS);
}, 600_000);

test("does so where owners take, repeat, extend and give back leases from several sessions", () => {
  check(roomySettings, leasePlan, 4 * RUNS);
}, 600_000);

test("does so where they come upon leases and waits that are due and were not swept", () => {
  check(fewUnits, leasePlan, 2 * RUNS);
}, 600_000);

test("does so until it is forgotten how leases ended", () => {
  check(roomySettings, forgetfulPlan, 2 * RUNS);
}, 600_000);

test("does so where holds are handed over to owners and adopted by sessions of two identities", () => {
  check(roomySettings, handOverPlan, 4 * RUNS);
}, 600_000);

test("does so where they find what was handed over due and not swept", () => {
  check(fewUnits, handOverPlan, 2 * RUNS);
}, 600_000);

test("does so when tokens run out", () => {
  check(settings, plan, runsOf(15), fc.integer({ min: -3, max: 30 }));
}, 600_000);

test("with few units for each entry comes to the same once it had as many as it needs", () => {
  fc.assert(
    fc.property(settings, plan, fc.constantFrom(1, 2, 5), (limits, turns, unitsPerEntryMax) => {
      const ample = { grantsPerStepMax: 1_000_000 };
      const clients = new Clients();
      const table = new LockTable({ ...limits, ...ample, unitsPerEntryMax });
      const model = new NaiveTable({ ...limits, ...ample, unitsPerEntryMax: 1_000_000 });
      for (const turn of [...turns].flatMap(apart)) {
        const entry = clients.entryOf(turn);
        const nextEntry = () => clients.entryOf({ elapsedMs: 0, actions: [] });
        const actual = new Recording(clients);
        table.apply(entry, actual);
        while (isBusy(table)) table.apply(nextEntry(), actual);
        const expected = new Recording();
        const named = cyclesIn(actual.said);
        model.apply(entry, expected, named);
        while (isBusy(model)) model.apply(nextEntry(), expected, named);
        expectSame(table, actual, model, expected);
      }
    }),
    { numRuns: RUNS },
  );
}, 600_000);

function check(
  limits: fc.Arbitrary<TableSettings>,
  turns: fc.Arbitrary<readonly Turn[]>,
  numRuns: number,
  tokensLeft: fc.Arbitrary<number | undefined> = fc.constant(undefined),
): void {
  fc.assert(
    fc.property(limits, turns, tokensLeft, (chosen, history, left) => {
      const nextToken = left === undefined ? 0 : TOKENS_END - left;
      const state = new TableState(chosen, nextToken);
      const table = LockTable.of(state);
      const model = new NaiveTable(chosen, nextToken);
      const clients = new Clients();
      for (const turn of history) {
        const entry = clients.entryOf(turn);
        const actual = new Recording(clients);
        table.apply(entry, actual);
        const expected = new Recording();
        model.apply(entry, expected, cyclesIn(actual.said));
        expectSame(table, actual, model, expected);
      }
    }),
    { numRuns },
  );
}

/** Time passes in an entry of its own, so that no command finds what is due and was not swept. */
function apart({ elapsedMs, actions }: Turn): Turn[] {
  // A change of the limits would make the table and the model count differently.
  const others = actions.filter(({ kind }) => kind !== "changeSetting");
  const singles = others.map((action) => ({ elapsedMs: 0, actions: [action] }));
  return [{ elapsedMs, actions: [] }, ...singles];
}

/** Whether another entry of the same stamp would find something to do. */
function isBusy({ hasQueuedWork, nextDueAt, stamp }: LockTable | NaiveTable): boolean {
  return hasQueuedWork || (nextDueAt ?? Number.POSITIVE_INFINITY) <= stamp;
}

function expectSame(
  table: LockTable,
  actual: Recording,
  model: NaiveTable,
  expected: Recording,
): void {
  expectEqual(actual.said, expected.said);
  expectEqual(model.complaints, []);
  const keys = new Set([...KEYS, ...model.keysInUse()]);
  for (const key of keys) expectEqual(table.inspect(key), model.inspect(key));
  expectEqual(table.counts(), model.counts());
  expectEqual(table.accessCounts(), model.accessCounts());
  expectEqual(table.listIdentities(undefined, 100), model.access());
  expectEqual(table.accessRevision, model.accessRevision);
  const { nextDueAt, hasQueuedWork } = model;
  expectEqual([table.nextDueAt, table.hasQueuedWork], [nextDueAt, hasQueuedWork]);
  const shown = table.query("", undefined, 100).keys;
  expectEqual(
    shown.map(({ key }) => key),
    model.keysInUse(),
  );
  expectEqual(table.listSessions(0, 100).sessions, model.sessions());
  if (!isBusy(table)) expectEqual(closureIn(table), model.closure());
}

/** Who waits for whom, directly or not: a graph need not show what follows from it. */
function closureIn(table: LockTable): string[] {
  const { tasks, edges } = table.waitGraph(EDGES_MAX);
  const names = new Map(tasks.map(({ id, session, task }) => [id, `${session}/${task}`]));
  const nameOf = (id: number) => names.get(id) ?? `unknown ${id}`;
  return closureOf(edges.map(({ from, to }) => ({ from: nameOf(from), to: nameOf(to) })));
}

/** The comparison that explains is slow: it is asked only about what differs in writing. */
function expectEqual(actual: unknown, expected: unknown): void {
  if (JSON.stringify(actual) !== JSON.stringify(expected)) expect(actual).toEqual(expected);
}
