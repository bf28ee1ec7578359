/**
 * Random sequences of everything that a program can do with sessions and locks, under all kinds of
 * faults, with the SDK and the table of production: no promise is broken at any moment.
 *
 * `HOLDFAST_RUNS=500 npx vitest run test/client/fuzz` runs 3,000 random seeds. A
 * failing plan is reduced as far as possible and reported with what happened in it.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { runsOf } from "../../runs.js";
import { plan } from "./plan.js";
import { Trial } from "./trial.js";

const RANDOM_RUNS = runsOf(6);
const RUNS_PER_SEED = runsOf(8);
const MINUTE_MS = 60_000;

const property = fc.asyncProperty(plan, (given) => new Trial(given).run());

it.each([1, 2, 3, 4])(
  "keeps its promises, seed %i",
  async (seed) => {
    await fc.assert(property, { seed, numRuns: RUNS_PER_SEED });
  },
  5 * MINUTE_MS,
);

it(
  "keeps its promises, whatever the seed",
  async () => {
    expect(RANDOM_RUNS).toBeGreaterThan(0);
    await fc.assert(property, { numRuns: RANDOM_RUNS });
  },
  60 * MINUTE_MS,
);
