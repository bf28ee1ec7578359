/** Converts the checker's answer about one history into one result with its anomalies. */
import type { AnomalyKind, CheckResult as Answer } from "../checker/index.js";
import { type Anomaly, anomalyOf, mostOf } from "./anomaly.js";
import type { CheckPart, CheckResult } from "./check-result.js";

/** How many of each kind in each check are shown step by step; all of them are counted. */
const TOLD_MAX = 3;
/** Every history gives these something to compare, or it shows nothing at all. */
const ALWAYS_ASKED: ReadonlySet<string> = new Set(["linearizable", "tokens", "exclusion"]);

/** `asked`: further checks that the history was made for. */
export function resultOfAnswer(
  subject: string,
  answer: Answer,
  asked: readonly string[],
): CheckResult {
  const { valid, model, counts, checks, undecided = [] } = answer;
  const parts = checks.map((finding): CheckPart => {
    const { check, valid: holds, compared, violations, more, figures = {} } = finding;
    const isAsked = ALWAYS_ASKED.has(check) || asked.includes(check);
    return {
      name: check,
      valid: holds,
      compared,
      isAsked,
      violations: violations.length + more,
      figures,
    };
  });
  const broken = parts.filter((part) => part.valid !== true).map(({ name }) => name);
  const overlaps = parts.reduce((sum, part) => {
    return sum + (part.figures["overlapsWithoutDeadline"] ?? 0);
  }, 0);
  const forbidden = parts.reduce((sum, part) => sum + (part.figures["forbiddenAttempts"] ?? 0), 0);
  const summary =
    `${counts.operations} operations: ${counts.ok} succeeded, ${counts.fail} refused, ` +
    `${counts.info} of unknown outcome` +
    (overlaps === 0
      ? ""
      : `; ${overlaps} overlaps with holders past their deadline (allowed: tokens are for that)`) +
    (forbidden === 0 ? "" : `; ${forbidden} attempts at what no grant allowed`) +
    (broken.length === 0
      ? ""
      : `; ${valid === false ? "broken" : "undecided"}: ${broken.join(", ")}`);
  return {
    subject,
    name: `model ${model}`,
    valid,
    summary,
    anomalies: toldIn(answer),
    anomalyCounts: mostOf(checks.map(({ anomalies }) => anomalies)),
    // Keys that were not searched because another one decided the verdict need no remark.
    remarks: valid === "unknown" ? undecided : [],
    parts,
    details: answer,
  };
}

/**
 * In the order of time, those without a time last. The search does not repeat an anomaly that
 * another check explains better.
 */
function toldIn({ checks }: Answer): Anomaly[] {
  const plain = checks.filter(({ check }) => check !== "linearizable");
  const nameOf = (kind: AnomalyKind, line: number | undefined) => `${kind} ${line}`;
  const known = new Set(
    plain.flatMap(({ violations }) =>
      violations.flatMap(({ kind, lines }) => lines.map((line) => nameOf(kind, line))),
    ),
  );
  const told = checks.flatMap((finding) => {
    const isSearch = finding.check === "linearizable";
    const violations = finding.violations.filter(({ kind, lines }) => {
      return !(isSearch && known.has(nameOf(kind, lines.at(-1))));
    });
    const kinds = new Set(violations.map(({ kind }) => kind));
    return [...kinds].flatMap((kind) => {
      return violations
        .filter((each) => each.kind === kind)
        .slice(0, TOLD_MAX)
        .map(anomalyOf);
    });
  });
  const timeOf = ({ fromMs = Number.POSITIVE_INFINITY }: Anomaly) => fromMs;
  return told.sort((one, other) => timeOf(one) - timeOf(other) || 0);
}
