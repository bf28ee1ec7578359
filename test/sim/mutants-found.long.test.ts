/** Every seeded bug is found by the seed that is known to find it. */
import { afterAll, describe, expect, test } from "vitest";
import { MUTANTS } from "./mutants/catalogue.js";
import { findMutant, SoundRuns } from "./mutants/find-mutant.js";

const TIMEOUT_MS = 600_000;

const sound = new SoundRuns();
afterAll(() => sound.close());

describe("the checks find", () => {
  test.each(MUTANTS.filter(({ seeds }) => seeds.length > 0))(
    "$name by the seed that found it before",
    async (mutant) => {
      const { found } = await findMutant(mutant, sound, mutant.seeds);
      expect(found).toBe(true);
    },
    TIMEOUT_MS,
  );
});
