/** The flags of `npm run sim`. */
import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { readSimOptions } from "./run/sim-options.js";

test("what is left out has its default, and mutants have seeds of their own", () => {
  const defaults = {
    firstSeed: 1,
    seedCount: 100,
    minutesMax: Number.POSITIVE_INFINITY,
    jobs: availableParallelism(),
    counts: false,
    isJson: false,
    planFile: undefined,
    minimises: true,
    mutants: undefined,
    freshSearches: 0,
  };
  expect(readSimOptions([])).toEqual(defaults);
  expect(readSimOptions(["--mutants"])).toEqual({ ...defaults, seedCount: 500, mutants: [] });
  expect(readSimOptions(["one", "--mutants", "--seeds", "7", "two", "--fresh", "3"])).toEqual({
    ...defaults,
    seedCount: 7,
    mutants: ["one", "two"],
    freshSearches: 3,
  });
  const argv = ["--seed=0", "--seeds=1e6", "--minutes=.5", "--jobs=3", "--no-minimise"];
  expect(readSimOptions([...argv, "--coverage", "--json"])).toEqual({
    ...defaults,
    firstSeed: 0,
    seedCount: 1_000_000,
    minutesMax: 0.5,
    jobs: 3,
    counts: true,
    isJson: true,
    minimises: false,
  });
  expect(readSimOptions(["--plan", "a.json"])).toEqual({ ...defaults, planFile: "a.json" });
});

test.each([
  [["--sedes", "3"], "unknown option '--sedes' (Did you mean --seeds?)"],
  [["--seeds", "0"], "--seeds 0: a whole number of 1 or more is needed"],
  [["--seed", "1.5"], "--seed 1.5: a whole number of 0 or more is needed"],
  [["--jobs", "0"], "--jobs 0: a whole number from 1 to 1024 is needed"],
  [["stray"], "unexpected argument 'stray': names come with --mutants"],
  [["--fresh", "1"], "--fresh goes with --mutants only"],
  [["--plan", "a", "--mutants"], "option '--plan <file>' cannot be used with option '--mutants'"],
])("%j is refused", (argv, message) => {
  expect(() => readSimOptions(argv)).toThrow(
    expect.objectContaining({ name: "UsageError", message }),
  );
});

test("help fits into 80 columns", () => {
  const help = String(readSimOptions(["--help"]));
  expect(help).toContain("--seeds <n>");
  expect(help.split("\n").filter((line) => line.length > 80)).toEqual([]);
});
