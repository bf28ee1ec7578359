/** The first seeds of the simulator, and those that found a bug before. */
import { describe, expect, test } from "vitest";
import { FAULT_MAKERS } from "./plan/fault-makers.js";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { TIMED_ONLY } from "./plan/timed-plan.js";
import { explained, runRange, runSeeds } from "./run/run-seeds.js";

const SEEDS = 10;
/** Whose plans are looked at. */
const PLANS = 300;
const TIMEOUT_MS = 600_000;

/**
 * What a seed found before is worth another look at every change. The seeds of seeded bugs run with
 * those.
 */
const REMEMBERED = [
  // The only voter was down when the storm was over: nobody remembered that it was one, and then
  // only a node that had been away for long.
  209_966, 303_505,
  // Requests for votes left a hung disk after another voter had joined.
  402_372,
  // A node that was added again, which only its newest entry said, ended itself with the leader.
  506_928,
  // A process that died in a write at once still said so, and was taken for one that failed.
  495,
  // A watch that was behind ended before its turn, and its node turned for it without an end.
  974_249,
  // A process died in the middle of a write, and was asked all the same what it held for committed.
  1_002_031,
  // A grant came over a new connection before the recall that asked for it, and is an answer all the same.
  20_456,
  // A vote that an earlier process had given was repeated, and did not bind.
  61_004_910,
  // The disk was to hang for less than a step of simulated time more.
  61_002_220,
  // The lock of a session whose end was ordered did not say that it was to go.
  6_000_081,
  // A client of the protocol had more commands under way than a node lets it have.
  7_300_075,
  // A stranger's word in a session that had just ended was refused as if it were an order.
  134,
  // A revoke ended a lease whose owner waited for the key again, and the law still gave it to the owner.
  97,
  // A limit that the plan had set refused an application while a node was silent.
  70_026_064,
  // Doors that had no leader to withdraw their requests ended after the supervisor had looked, and the
  // node stayed down.
  993_001_201,
  993_001_365,
  // A process that died as it went on still heard that its mark was synced, and its disk was empty by then.
  993_001_119,
  // The operator's removal of a node came late from a node outside, when that node was needed for a majority.
  993_000_950,
];

describe("whole clusters on lying disks, broken networks and drifting clocks", () => {
  test(
    `keep every promise through ${SEEDS} seeds`,
    async () => {
      const { failures, seeds } = await runRange(1, SEEDS);
      expect(failures.map(explained)).toEqual([]);
      expect(seeds).toBe(SEEDS);
    },
    TIMEOUT_MS,
  );

  test(
    "keep them through every seed that found a bug before",
    async () => {
      const results = await runSeeds([...new Set(REMEMBERED)]);
      const failed = results.filter(({ failure }) => failure !== undefined);
      expect(failed.map(explained)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

function kindsOf(seeds: number, isWanted: (plan: SimPlan) => boolean): Set<string> {
  const plans = Array.from({ length: seeds }, (_, at) => planOf(at + 1)).filter(isWanted);
  return new Set(plans.flatMap(({ faults }) => faults.map(({ kind }) => kind)));
}

test("every kind of fault is planned by some of the first seeds", () => {
  const kinds = kindsOf(PLANS, ({ isTimed }) => !isTimed);
  expect([...kinds].sort()).toEqual(Object.keys(FAULT_MAKERS).sort());
});

// An eighth of the seeds are timed.
test("every kind that only timed plans have is in some of the first of them", () => {
  const kinds = kindsOf(8 * PLANS, ({ isTimed }) => isTimed);
  expect([...kinds]).toEqual(expect.arrayContaining([...TIMED_ONLY]));
});
