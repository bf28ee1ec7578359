/**
 * Whether a run sees what the workloads of holds that others end, of long polls and of lock clients of
 * Redis are there for: builds with one bug each are attacked, and must be found not valid.
 */
import { expect, test } from "vitest";
import type { AnomalyKind } from "../../jepsen-lite/checker/index.js";
import { MutatedBuild } from "../e2e/power/mutated-build.js";
import { MUTANTS } from "../sim/mutants/catalogue.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const RUN_MS_MAX = 240_000;

interface Attack {
  readonly bug: string;
  readonly workload: string;
  readonly nemesis: string;
  /** One of these is found. */
  readonly kinds: readonly AnomalyKind[];
}

const ATTACKS: readonly Attack[] = [
  {
    bug: "revoke-before-the-lease-ends",
    workload: "endings",
    nemesis: "pause-clients",
    kinds: ["two holders", "unexplained answer"],
  },
  {
    bug: "one-value-taken-at-two-nodes",
    workload: "redis",
    nemesis: "kill",
    kinds: ["two holders"],
  },
  {
    bug: "trust-counts-from-the-grant",
    workload: "polls",
    nemesis: "pause",
    kinds: ["two holders"],
  },
];

test.concurrent.each(ATTACKS)(
  "a run of $workload finds $bug",
  async ({ bug, workload, nemesis, kinds }) => {
    const mutant = MUTANTS.find(({ name }) => name === bug);
    if (mutant === undefined) throw new RangeError(`there is no bug ${bug}`);
    using build = await MutatedBuild.make(mutant);
    await using out = await resultDirectory();
    const words = [
      `--workload=${workload}`,
      `--nemesis=${nemesis}`,
      "--time=20",
      "--seed=5",
      "--keys=1",
    ];
    const attacked = { HOLDFAST_TEST_COMMAND: build.command };
    const run = startJepsen([...words, `--out=${out.directory}`], attacked);
    const { code, stdout, stderr } = await run.ended;
    expect(code, `${stdout}\n${stderr}`).toBe(1);
    const found = Object.keys((await out.results()).anomalies);
    expect(
      found.filter((kind) => kinds.some((each) => each === kind)),
      stdout,
    ).not.toEqual([]);
  },
  RUN_MS_MAX,
);
