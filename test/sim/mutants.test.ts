/**
 * Every seeded bug applies to the sources. That each is found is shown by `npm run sim --
 * --mutants`.
 */
import { describe, expect, test } from "vitest";
import { findNamed } from "../../lab/command-line.js";
import { MUTANTS } from "./mutants/catalogue.js";
import { mutated, readMutated } from "./mutants/mutant.js";
import { planOf } from "./plan/plan-of.js";
import { reaches } from "./plan/scenarios.js";

describe("a seeded bug", () => {
  test.each(MUTANTS.map((mutant) => [mutant.name, mutant] as const))(
    "%s has exactly one place in the sources",
    (_name, mutant) => {
      expect(readMutated(mutant)).toContain(mutant.replace);
      expect(mutant.replace).not.toBe(mutant.find);
    },
  );

  test.each(MUTANTS.flatMap((mutant) => mutant.seeds.map((seed) => [mutant.name, seed] as const)))(
    "%s has its scenario in the plan of seed %i",
    (name, seed) => {
      const { scenario } = findNamed("mutant", name, MUTANTS);
      expect(reaches(scenario, planOf(seed)), scenario).toBe(true);
    },
  );

  test("whose place is gone, or there twice, is refused by name", () => {
    const change = { file: "f.ts", find: "a", replace: "b" };
    const mutant = { name: "m", rule: "", scenario: "any plan", ...change, seeds: [] } as const;
    expect(() => mutated("xyz", mutant)).toThrow("mutant m: its place is found 0 times in f.ts");
    expect(() => mutated("a a", mutant)).toThrow("2 times");
    expect(mutated("xay", mutant)).toBe("xby");
  });

  test("has a name of its own", () => {
    expect(new Set(MUTANTS.map(({ name }) => name)).size).toBe(MUTANTS.length);
  });
});
