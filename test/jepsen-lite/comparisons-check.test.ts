/** What `--strict` asks of a run: each check that a workload is made for has compared something. */
import { expect, test } from "vitest";
import { parseRunOptions } from "../../jepsen-lite/run/run-options.js";
import type { CheckPart, CheckResult } from "../../jepsen-lite/verdict/check-result.js";
import { comparisonsCheck } from "../../jepsen-lite/verdict/comparisons-check.js";

function part(name: string, compared: number, isAsked: boolean): CheckPart {
  return { name, valid: true, compared, isAsked, violations: 0, figures: {} };
}

function checked(subject: string, more: Partial<CheckResult>): CheckResult {
  const nothing = { summary: "", anomalies: [], anomalyCounts: {}, remarks: [] };
  return { subject, name: "model lock", valid: true, ...nothing, ...more };
}

test("a run in which each check for which a workload is made compared something is complete", () => {
  const checks = [
    checked("mutex", { parts: [part("tokens", 5, true), part("order", 0, false)] }),
    checked("guarded-store", { name: "no update lost", figures: { accepted: 3, lost: 0 } }),
    checked("cluster", {}),
  ];
  expect(comparisonsCheck(checks).valid).toBe(true);
});

test("a check that compared nothing leaves the verdict open, with its name and its history", () => {
  const checks = [
    checked("queue", { parts: [part("order", 0, true), part("leases", 1, true)] }),
    checked("guarded-store", { name: "no update lost", figures: { accepted: 0, lost: 0 } }),
  ];
  expect(comparisonsCheck(checks)).toMatchObject({
    subject: "cluster",
    valid: "unknown",
    summary: "nothing was compared by order in queue, no update lost in guarded-store",
  });
});

test("a run is strict on request only", () => {
  const isStrict = (...argv: string[]) => {
    const options = parseRunOptions(argv);
    if (typeof options === "string") throw new Error(options);
    return options.isStrict;
  };
  expect(isStrict()).toBe(false);
  expect(isStrict("--strict")).toBe(true);
});
