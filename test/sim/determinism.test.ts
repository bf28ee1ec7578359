/** A seed gives the same run wherever and however it is run. */
import { describe, expect, test } from "vitest";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { runPlan } from "./run/run-plan.js";
import { WorkerPool } from "./run/worker-pool.js";

const SEEDS = [1, 5];

describe("the same plan gives the same run", () => {
  test("in two other processes, to the last event", async () => {
    const one = new WorkerPool({ jobs: 1 });
    const other = new WorkerPool({ jobs: 1 });
    try {
      for (const seed of SEEDS) {
        const [left, right] = await Promise.all(
          [one, other].map((pool) => pool.run({ seed, tellsStory: false })),
        );
        expect(left?.hash).toMatch(/^[0-9a-f]{16}$/);
        expect(right).toEqual(left);
      }
    } finally {
      one.close();
      other.close();
    }
  });

  test("told as a story or in silence", async () => {
    for (const seed of SEEDS) {
      const quick = await runPlan(planOf(seed));
      const told = await runPlan(planOf(seed), { storyLines: 100 });
      expect(told.hash).toBe(quick.hash);
    }
  });

  test("after the plan was written to a file and read again", async () => {
    const plan = planOf(4);
    const copy = JSON.parse(JSON.stringify(plan)) as SimPlan;
    expect((await runPlan(copy)).hash).toBe((await runPlan(plan)).hash);
  });
});

test("two seeds give two plans and two runs", async () => {
  expect(planOf(6)).not.toEqual(planOf(7));
  const [one, other] = await Promise.all([runPlan(planOf(6)), runPlan(planOf(7))]);
  expect(one.hash).not.toBe(other.hash);
});
