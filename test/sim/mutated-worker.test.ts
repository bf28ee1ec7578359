/** The worker that runs plans over sources with a bug in them. */
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import type { Mutant } from "./mutants/mutant.js";
import { planOf } from "./plan/plan-of.js";
import { runPlan } from "./run/run-plan.js";
import { WorkerPool } from "./run/worker-pool.js";

const workerPath = fileURLToPath(new URL("./mutants/runs/mutated-worker.ts", import.meta.url));
const pool = new WorkerPool({ jobs: 1, workerPath });
afterAll(() => pool.close());

const SEED = 138;
const task = { seed: SEED, tellsStory: false };

/** `code` in the file that every run begins with. */
function changed(code: string): Mutant {
  const find = "export async function runPlan";
  const file = "test/sim/run/run-plan.ts";
  const replace = `${code}${find}`;
  return { name: "change", rule: "", scenario: "any plan", file, find, replace, seeds: [] };
}

test("a change without effect gives the run of the sources as they are", async () => {
  const result = await pool.run({ ...task, mutant: changed("const unused = 1;\n") });
  expect(result).toEqual(await runPlan(planOf(SEED)));
});

test("a bug is gone when the next one is seeded", async () => {
  const mutant = changed("Simulation.prototype.run = async () => { throw new Error('bug'); };\n");
  const { failure } = await pool.run({ ...task, mutant });
  expect(failure?.message).toContain("Error: bug");
  const result = await pool.run({ ...task, mutant: changed("const unused = 1;\n") });
  expect(result.failure).toBeUndefined();
});

test("a bug that cannot be loaded, or is in no run, fails without a failed run", async () => {
  const unloadable = pool.run({ ...task, mutant: changed("throw new Error('at once');\n") });
  await expect(unloadable).rejects.toThrow("at once");
  const nonsense = pool.run({ ...task, mutant: changed("const const;\n") });
  await expect(nonsense).rejects.toThrow("Transform failed");
  const elsewhere = { ...changed(""), file: "test/sim/seeds.test.ts", find: "describe(" };
  const unused = pool.run({ ...task, mutant: { ...elsewhere, replace: "describe.skip(" } });
  await expect(unused).rejects.toThrow("no run loads");
  const result = await pool.run({ ...task, mutant: changed("const unused = 1;\n") });
  expect(result.failure).toBeUndefined();
});
