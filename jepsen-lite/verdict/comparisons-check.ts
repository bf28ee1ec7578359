/**
 * Whether each check that a history is made for compared something. One that compared nothing has
 * shown nothing; with `--strict` the run is then not valid but unknown.
 */
import type { CheckResult } from "./check-result.js";

export function comparisonsCheck(checks: readonly CheckResult[]): CheckResult {
  const silent = checks.flatMap((check) => {
    return silentIn(check).map((name) => `${name} in ${check.subject}`);
  });
  const isComplete = silent.length === 0;
  return {
    subject: "cluster",
    name: "comparisons",
    valid: isComplete ? true : "unknown",
    summary: isComplete
      ? "every check that a workload is made for compared something"
      : `nothing was compared by ${silent.join(", ")}`,
    anomalies: [],
    anomalyCounts: {},
    remarks: [],
  };
}

/** The checks for which this history is made and which compared nothing. */
export function silentIn({ name, parts, figures = {} }: CheckResult): readonly string[] {
  if (parts === undefined) return figures["accepted"] === 0 ? [name] : [];
  return parts
    .filter(({ isAsked, compared }) => isAsked && compared === 0)
    .map((part) => part.name);
}
