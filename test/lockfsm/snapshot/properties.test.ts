/** Random histories with snapshots taken between their entries, and restored. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  LockTable,
  type TableCounts,
  type TableEntry,
  type TableSettings,
} from "../../../src/lockfsm/index.js";
import { runsOf } from "../../runs.js";
import { fewUnits, plan, settings, type Turn } from "../plans/plans.js";
import { accessPlan, losingPlan } from "../plans/plans-access.js";
import { Clients } from "../plans/plans-clients.js";
import { convertingPlan, patientSettings } from "../plans/plans-converting.js";
import { forgetfulPlan, leasePlan } from "../plans/plans-leases.js";
import { roomySettings } from "../plans/plans-mixture.js";
import { letEverythingEnd, Recording, type Said } from "../plans/recording.js";
import { copyOf, type Drawn, draw, joined, rest, restored } from "../plans/snapshots.js";

const NUM_RUNS = runsOf(15);

/** An entry, and what a table says and is after it. */
interface Step {
  readonly entry: TableEntry;
  readonly said: string;
  readonly hash: string;
}

/** The log of a plan, as a table without snapshots takes it. */
function stepsOf(limits: TableSettings, turns: readonly Turn[]): Step[] {
  const table = new LockTable(limits);
  const clients = new Clients();
  return turns.map((turn) => stepOf(table, clients.entryOf(turn), clients));
}

function stepOf(table: LockTable, entry: TableEntry, listener?: Clients): Step {
  const outbox = new Recording(listener);
  table.apply(entry, outbox);
  return { entry, said: JSON.stringify(outbox.said), hash: table.hash() };
}

/** Applies the entries of `steps`, and compares. */
function expectSame(table: LockTable, steps: readonly Step[]): void {
  for (const step of steps) {
    const { said, hash } = stepOf(table, step.entry);
    if (said !== step.said) expect(JSON.parse(said)).toEqual(JSON.parse(step.said) as Said[]);
    expect(hash).toBe(step.hash);
  }
}

/** Applies the entries of `steps` while a snapshot is drawn; all of its chunks. */
function drawWhile(drawn: Drawn, table: LockTable, steps: readonly Step[], perEntry: number[]) {
  const chunks: Uint8Array[] = [];
  for (const [at, step] of steps.entries()) {
    expectSame(table, [step]);
    chunks.push(...draw(drawn, perEntry[at % perEntry.length] as number));
  }
  return [...chunks, ...rest(drawn)];
}

const at = fc.nat(999);
const chunkBytes = fc.constantFrom(1, 1, 50, 400, 100_000);
const perEntry = fc.array(fc.constantFrom(0, 0, 1, 1, 2, 5), { minLength: 1, maxLength: 7 });

interface Run {
  readonly limits: TableSettings;
  /** Where the snapshot is to begin: `earlier` is applied before, `later` while it is drawn. */
  readonly earlier: readonly Step[];
  readonly later: readonly Step[];
  /** Index of the last entry. */
  readonly index: number;
  readonly bytes: number;
  readonly draws: number[];
}

function check(property: (run: Run) => void, limited = settings, plans = plan): void {
  fc.assert(
    fc.property(limited, plans, at, chunkBytes, perEntry, (limits, turns, from, bytes, draws) => {
      const steps = stepsOf(limits, turns);
      const begin = from % steps.length;
      const [earlier, later] = [steps.slice(0, begin), steps.slice(begin)];
      property({ limits, earlier, later, index: steps.length, bytes, draws });
    }),
    { numRuns: NUM_RUNS },
  );
}

/** Without what a table counts for itself. */
function replicated({
  searchesDeferred: _,
  searchesGivenUp: __,
  deadlocks: ___,
  limited: ____,
  ...counts
}: TableCounts) {
  return counts;
}

function tableAfter(limits: TableSettings, steps: readonly Step[]): LockTable {
  const table = new LockTable(limits);
  for (const { entry } of steps) table.apply(entry, new Recording());
  return table;
}

describe("a snapshot drawn while entries are applied", () => {
  test.each([
    [
      "is the table at its beginning, says the same from there on, and disturbs nothing",
      settings,
      plan,
    ],
    [
      "does so where holds are converted, lost and taken over while little was read",
      patientSettings,
      convertingPlan,
    ],
    ["does so where rights come and go", settings, accessPlan],
    ["does so where they go while much is waited for", settings, losingPlan],
    ["does so while removed identities are swept", fewUnits, accessPlan],
    ["does so where leases are taken, moved and given back", roomySettings, leasePlan],
    ["does so until it is forgotten how leases ended", roomySettings, forgetfulPlan],
  ])("%s", (_, limited, plans) => {
    check(
      ({ limits, earlier, later, index, bytes, draws }) => {
        const table = tableAfter(limits, earlier);
        const drawn = table.snapshot(bytes);
        const copy = restored(drawWhile(drawn, table, later, draws));
        expect(copy.hash()).toBe(earlier.at(-1)?.hash ?? new LockTable(limits).hash());
        expectSame(copy, later);
        expect([replicated(copy.counts()), copy.nextDueAt, copy.shortestTtlMs]).toEqual([
          replicated(table.counts()),
          table.nextDueAt,
          table.shortestTtlMs,
        ]);
        expect(letEverythingEnd(copy, index)).toEqual(letEverythingEnd(table, index));
      },
      limited,
      plans,
    );
  });

  test("may be given up at any time, and leaves nothing of itself in the next one", () => {
    check(({ limits, earlier, later, index, bytes, draws }) => {
      const table = tableAfter(limits, earlier);
      const givenUp = table.snapshot(bytes);
      for (const [number, { entry }] of later.entries()) {
        if (number === later.length >> 1) givenUp.return();
        draw(givenUp, draws[number % draws.length] as number);
        table.apply(entry, new Recording());
      }
      givenUp.return();
      const copies = [copyOf(table), restored(rest(table.snapshot(bytes)))];
      const hash = table.hash();
      const said = letEverythingEnd(table, index);
      for (const copy of copies) {
        expect(copy.hash()).toBe(hash);
        expect(letEverythingEnd(copy, index)).toEqual(said);
      }
    });
  });
});

test("a snapshot of a restored table, drawn while it goes on, is like one of the first", () => {
  check(({ limits, earlier, later, bytes, draws }) => {
    const table = copyOf(tableAfter(limits, earlier));
    const hash = table.hash();
    const copy = restored(drawWhile(table.snapshot(bytes), table, later, draws));
    expect(copy.hash()).toBe(hash);
    expectSame(copy, later);
  });
});

test("a snapshot comes out the same however its bytes are sliced", () => {
  check(({ limits, earlier, bytes, draws }) => {
    const table = tableAfter(limits, earlier);
    const whole = joined(rest(table.snapshot(bytes)));
    const slices: Uint8Array[] = [];
    for (let from = 0; from < whole.length; ) {
      const end = from + 1 + 11 * (draws[slices.length % draws.length] as number);
      slices.push(whole.subarray(from, end));
      from = end;
    }
    expect(restored(slices).hash()).toBe(table.hash());
    expect(restored([whole]).hash()).toBe(table.hash());
  });
});
