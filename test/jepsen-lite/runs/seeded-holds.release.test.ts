/**
 * Whether a run sees what the workloads of holds that others end, of callers that leave, of heirs, of long
 * polls and of lock clients of Redis are there for: builds with one bug each, of nodes or of the SDK, are
 * attacked and must be found not valid.
 */
import { expect, test } from "vitest";
import type { AnomalyKind } from "../../../jepsen-lite/checker/index.js";
import { MutatedBuild } from "../../e2e/power/mutated-build.js";
import { MUTANTS } from "../../sim/mutants/catalogue.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const RUN_MS_MAX = 240_000;

interface Attack {
  readonly bug: string;
  readonly workload: string;
  readonly nemesis: string;
  /** One, unless it takes more. */
  readonly keys?: number;
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
    // A bug of the SDK, in the clients.
    bug: "abandoned-grant-not-given-back",
    workload: "aborts",
    nemesis: "pause",
    kinds: ["lost wake-up"],
  },
  {
    // A bug of the SDK, in the clients.
    bug: "second-heir-goes-on",
    workload: "heirs",
    keys: 2,
    nemesis: "pause",
    kinds: ["two heirs"],
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

/** On a busy machine a fault may find no client in the wrong place. */
const SEEDS = [5, 6, 7];

test.each(ATTACKS)(
  "a run of $workload finds $bug",
  async ({ bug, workload, nemesis, keys = 1, kinds }) => {
    const mutant = MUTANTS.find(({ name }) => name === bug);
    if (mutant === undefined) throw new RangeError(`there is no bug ${bug}`);
    using build = await MutatedBuild.make(mutant);
    const runs: string[] = [];
    for (const seed of SEEDS) {
      await using out = await resultDirectory();
      const words = [`--workload=${workload}`, `--nemesis=${nemesis}`, `--seed=${seed}`];
      const how = ["--time=20", `--keys=${keys}`, `--out=${out.directory}`];
      const { code, stdout, stderr } = await startJepsen([...words, ...how], build.attacked).ended;
      runs.push(stdout, stderr);
      if (code === 0) continue;
      expect(code, runs.join("\n")).toBe(1);
      const found = Object.keys((await out.results()).anomalies);
      const isMeant = (kind: string) => kinds.some((each) => each === kind);
      expect(found.filter(isMeant), stdout).not.toEqual([]);
      return;
    }
    expect.unreachable(runs.join("\n"));
  },
  SEEDS.length * RUN_MS_MAX,
);
