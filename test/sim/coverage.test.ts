/** Counting coverage does not change a run, and plans lead to what is rare. */
import { describe, expect, test } from "vitest";
import { pairName } from "./checks/coverage.js";
import { ALL_FOCUSES } from "./plan/focus.js";
import { planOf } from "./plan/plan-of.js";
import { coverageLines, coverageReport, withCounts } from "./run/coverage-report.js";
import { runPlan } from "./run/run-plan.js";

const TIMEOUT_MS = 300_000;
const LEADS = pairName("role", "leader", "tick");
const FOLLOWS = pairName("role", "follower", "tick");
const HANDS_OVER = pairName("members", "joint", "timeoutNow");

describe("the count of states and events", () => {
  test(
    "changes no run, and has what every run comes to",
    async () => {
      const plan = planOf(6);
      const [counted, not] = [await runPlan(plan, { counts: true }), await runPlan(plan)];
      expect(counted.hash).toBe(not.hash);
      expect(not.coverage).toEqual({});
      for (const pair of [LEADS, FOLLOWS, pairName("attaching", "open", "ok")]) {
        expect(counted.coverage[pair], pair).toBeGreaterThan(0);
      }
    },
    TIMEOUT_MS,
  );

  test("is summed over runs, the rarest first, and names what was never seen", () => {
    const one = withCounts({}, { [LEADS]: 5, [FOLLOWS]: 1 });
    const report = coverageReport(withCounts(one, { [LEADS]: 7 }));
    expect(report.seen).toBe(2);
    expect(report.rarest).toEqual([
      { pair: FOLLOWS, seeds: 1, times: 1 },
      { pair: LEADS, seeds: 2, times: 12 },
    ]);
    expect(report.never).toContain(HANDS_OVER);
    expect(report.never.length).toBe(report.pairs - 2);
    expect(coverageLines(report).join("\n")).toContain(`   2     12  ${LEADS}`);
  });
});

describe("a focus", () => {
  test("of each kind is in the plan of some of the first seeds, and many have none", () => {
    const names = Array.from({ length: 400 }, (_, at) => planOf(at + 1).focus);
    expect(new Set(names)).toEqual(new Set(["", ...ALL_FOCUSES.map(({ name }) => name)]));
    expect(names.filter((name) => name === "").length).toBeGreaterThan(180);
  });
});
