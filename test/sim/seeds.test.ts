/** The first seeds of the simulator, and what the first plans have. */
import { describe, expect, test } from "vitest";
import { FAULT_MAKERS } from "./plan/fault-makers.js";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { TIMED_ONLY } from "./plan/timed-plan.js";
import { explained, runRange } from "./run/run-seeds.js";

const SEEDS = 3;
/** Whose plans are looked at. */
const PLANS = 300;
const TIMEOUT_MS = 600_000;

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
