/**
 * A verdict as text for people: what was checked, violations in plain sentences with the lines to
 * look at, and, if a history cannot be explained, the orders that get furthest.
 */
import { withShortNumbers } from "../text/short-numbers.js";
import { wrapped } from "../text/wrapped-text.js";
import type { CheckResult } from "./check-history.js";
import { secondsText } from "./event-text.js";
import type { Counterexample, OperationView } from "./linearizable/counterexample.js";
import type { Finding } from "./lock/finding.js";
import type { Violation } from "./violation.js";

/** Violations of one check that are shown step by step; the others have only the sentence. */
const TOLD_MAX = 3;

export function verdictText(result: CheckResult): string {
  const { counts } = result;
  const parts = `${counts.parts} independent ${counts.parts === 1 ? "part" : "parts"}`;
  const lines = [
    `${verdictWord(result)} (model ${result.model})`,
    `${counts.operations} operations: ${counts.ok} ok, ${counts.fail} failed, ` +
      `${counts.info} of unknown outcome`,
    `${parts}; ${result.steps} steps of search`,
  ];
  if (result.checks.length > 1) lines.push("", ...result.checks.map(findingLine));
  for (const check of result.checks) lines.push(...violationLines(check));
  if (result.counterexample !== undefined) lines.push("", ...story(result.counterexample));
  const further = result.furtherCounterexamples ?? [];
  if (further.length > 0) {
    const where = further.map(({ keys, line }) => `${keys.join(", ")} (line ${line})`);
    lines.push("", `Also without an explanation: ${where.join("; ")}`);
  }
  if (result.undecided !== undefined && result.valid === "unknown") {
    lines.push("", "Undecided:", ...result.undecided.map((reason) => `  ${reason}`));
  }
  return lines.map((line) => wrapped(line, indentOf(line) + 2)).join("\n");
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function verdictWord(result: CheckResult): string {
  if (result.valid === "unknown") return "UNKNOWN";
  return result.valid ? "VALID" : "INVALID";
}

function findingLine(finding: Finding): string {
  const word = findingWord(finding);
  const figures = Object.entries(finding.figures ?? {}).map(([name, value]) => `${name} ${value}`);
  const what = finding.compared === 0 ? "nothing to compare" : `${finding.compared} compared`;
  return `  ${finding.check.padEnd(13)} ${word.padEnd(9)} ${[what, ...figures].join(", ")}`;
}

/** A check that compared nothing has shown nothing. */
function findingWord({ valid, compared }: Finding): string {
  if (valid === "unknown") return "unknown";
  if (!valid) return "VIOLATED";
  return compared === 0 ? "–" : "ok";
}

function violationLines(finding: Finding): string[] {
  if (finding.violations.length === 0) return [];
  const lines = ["", `${finding.check}: ${countsText(finding)}`];
  for (const [position, violation] of finding.violations.entries()) {
    const [text = "", ...steps] = toldIn(violation);
    const where = position < TOLD_MAX ? "" : ` (${lineNumbers(violation.lines)})`;
    lines.push(`  ${position + 1}. ${violation.kind}: ${text}${where}`);
    if (position < TOLD_MAX) lines.push(...steps.map((step) => `       ${step}`));
  }
  if (finding.more > 0) lines.push(`  … and ${finding.more} more`);
  return lines;
}

function countsText({ anomalies }: Finding): string {
  return Object.entries(anomalies)
    .map(([kind, times]) => `${kind} × ${times}`)
    .join(", ");
}

/** The sentence, and each of its lines; long numbers shortened to what distinguishes them. */
function toldIn({ text, steps }: Violation): string[] {
  const told = steps.map((step) => {
    const at = step.timeNs === undefined ? "" : `, ${secondsText(step.timeNs)}`;
    return `line ${step.line}${at}: ${step.text}`;
  });
  return withShortNumbers([text, ...told]);
}

function story(counterexample: Counterexample): string[] {
  const { keys, line, index, isShortest, lastStates, concurrent } = counterexample;
  const names = keys.map((key) => JSON.stringify(key)).join(", ");
  const lines = [
    `${keys.length === 0 ? "" : `Key ${names}: `}up to line ${line} (index ${index}) there is ` +
      "no order of operations that explains every answer.",
  ];
  if (!isShortest) {
    lines.push("  (an earlier line may be the first; the budget ended before that was certain)");
  }
  if (concurrent.length > 0) lines.push("", "  Open then:", ...concurrent.map(openLine));
  lines.push("", "  The explanations that get furthest, and where they end:");
  for (const [position, { state, after, refused }] of lastStates.entries()) {
    lines.push(`  ${position + 1}. state: ${state}`);
    if (after.length > 0) lines.push(...after.map((step) => `       ${step}`));
    lines.push(...refused.map((reason) => `     ✗ ${reason}`));
  }
  return withShortNumbers(lines);
}

function openLine({ process, text, outcome, invokeLine, completeLine }: OperationView): string {
  const end = completeLine === undefined ? "no answer" : `${outcome} in line ${completeLine}`;
  return `  • process ${process} ${text} (line ${invokeLine}): ${end}`;
}

function lineNumbers(lines: readonly number[]): string {
  return `${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}`;
}
