/** A seed gives the same run wherever and however it is run. */
import { beforeAll, describe, expect, test } from "vitest";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { runPlan } from "./run/run-plan.js";
import type { SeedResult } from "./run/seed-result.js";
import { WorkerPool } from "./run/worker-pool.js";

const SEEDS = [2, 6] as const;
/** The results of the runs in this process, in silence, by seed. */
const results = new Map<number, SeedResult>();

beforeAll(async () => {
  for (const seed of SEEDS) results.set(seed, await runPlan(planOf(seed)));
});

describe("the same plan gives the same run", () => {
  test("in another process, to the last event", async () => {
    const pool = new WorkerPool({ jobs: 1 });
    try {
      for (const seed of SEEDS) {
        const result = await pool.run({ seed, tellsStory: false });
        expect(result.hash).toMatch(/^[0-9a-f]{16}$/);
        expect(result).toEqual(results.get(seed));
      }
    } finally {
      pool.close();
    }
  });

  test("told as a story or in silence", async () => {
    for (const seed of SEEDS) {
      const told = await runPlan(planOf(seed), { storyLines: 100 });
      expect(told.hash).toBe(results.get(seed)?.hash);
    }
  });

  test("after the plan was written to a file and read again", async () => {
    const [seed] = SEEDS;
    const copy = JSON.parse(JSON.stringify(planOf(seed))) as SimPlan;
    expect((await runPlan(copy)).hash).toBe(results.get(seed)?.hash);
  });
});

test("two seeds give two plans and two runs", () => {
  const [one, other] = SEEDS;
  expect(planOf(one)).not.toEqual(planOf(other));
  expect(results.get(one)?.hash).not.toBe(results.get(other)?.hash);
});
