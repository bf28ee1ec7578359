/** Every target with everything found so far, and with a few hundred changes by a fixed seed. */
import { describe, expect, test } from "vitest";
import { runsOf } from "../runs.js";
import { corpusFiles, corpusFolders } from "./engine/corpus-files.js";
import { fuzz } from "./engine/fuzzer.js";
import { FUZZ_TARGETS } from "./targets/index.js";

const SEED = 1;
const EXECUTIONS = runsOf(40);

describe.each(FUZZ_TARGETS.map((target) => [target.name, target] as const))(
  "%s",
  (name, target) => {
    test("ends in one of its documented ways, whatever it is fed", async () => {
      const executionsMax = target.shortRuns ?? EXECUTIONS;
      const report = await fuzz(target, { seed: SEED, executionsMax, untilMs: Infinity });
      expect(report.findings.map(({ message }) => message)).toEqual([]);
      expect(report.executions).toBeGreaterThan(executionsMax);
      // An oracle that refuses everything would find nothing.
      expect(report.taken).toBeGreaterThan(0);
      expect(report.taken).toBeLessThan(report.executions);
      expect(corpusFiles(name).every((file) => file.name.endsWith(".hex"))).toBe(true);
    });
  },
);

test("every folder of the corpus belongs to a target", () => {
  const names = FUZZ_TARGETS.map((target) => target.name);
  expect(names).toEqual([...new Set(names)]);
  expect(names).toEqual(expect.arrayContaining(corpusFolders()));
});
