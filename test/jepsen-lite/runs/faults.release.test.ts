/**
 * The faults that take the most from nodes, for real: members replaced, clocks of other rates, slow
 * processors, nodes killed while stopped, losses of power, no memory. A right cluster stays valid.
 */
import { expect, test } from "vitest";
import { NEMESES } from "../../../jepsen-lite/nemeses/catalogue.js";
import { resultDirectory, startJepsen } from "./run-jepsen.js";

const RUN_MS_MAX = 300_000;
const NAMES = [
  ...["replace", "clock-rate", "slow-cpu", "pause-kill", "cut-hand-overs"],
  ...["power-loss", "out-of-memory"],
];
const refusals = await Promise.all(
  NAMES.map((name) => {
    const nemesis = NEMESES.find((each) => each.name === name);
    return nemesis?.refusal?.({ nodes: 3, network: "proxies" });
  }),
);
for (const why of refusals) if (why !== undefined) console.warn(`NOT TESTED: a fault: ${why}`);
const possible = NAMES.filter((_, index) => refusals[index] === undefined);

test(
  "a right cluster is found valid under each of them",
  async () => {
    await using out = await resultDirectory();
    const { code, stdout, stderr } = await startJepsen([
      "--workload=mutex,queue,endings,hand-overs",
      `--nemesis=${possible.join(",")}`,
      ...["--time=60", "--seed=4", "--clients=3", "--workers=1"],
      `--out=${out.directory}`,
    ]).ended;
    expect(code, `${stdout}\n${stderr}`).toBe(0);
    const { coverage } = await out.results();
    expect(coverage.map(({ nemesis }) => nemesis)).toEqual(possible.toSorted());
  },
  RUN_MS_MAX,
);
