/** Every seeded bug is found by the seed that is known to find it. */
import "../low-priority.js";
import { afterAll, describe, expect, test } from "vitest";
import { MUTANTS } from "./mutants/catalogue.js";
import { MutantRuns } from "./mutants/runs/mutant-runs.js";

const TIMEOUT_MS = 600_000;

// Two processes: the other one runs the same seeds without a bug.
const runs = new MutantRuns(1);
afterAll(() => runs.close());

describe.concurrent("the checks find", () => {
  test.each(MUTANTS.filter(({ seeds }) => seeds.length > 0))(
    "$name by the seed that found it before",
    async (mutant) => {
      const { seed } = await runs.search(mutant, mutant.seeds);
      expect(seed).toBeDefined();
    },
    TIMEOUT_MS,
  );
});
