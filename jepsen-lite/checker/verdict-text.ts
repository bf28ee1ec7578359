/**
 * A verdict as text for people: what was checked, what was found, and where a history cannot be
 * explained the story of it, with the lines to look at.
 */
import type { CheckResult } from "./check-history.js";
import type { Counterexample, OperationView } from "./linearizable/counterexample.js";
import type { Finding } from "./lock/finding.js";

export function verdictText(result: CheckResult): string {
  const { counts } = result;
  const lines = [
    `${verdictWord(result)} (model ${result.model})`,
    `${counts.operations} operations: ${counts.ok} ok, ${counts.fail} failed, ` +
      `${counts.info} of unknown outcome; ${counts.parts} independent ` +
      `${counts.parts === 1 ? "part" : "parts"}; ${result.steps} steps of search`,
  ];
  if (result.checks.length > 1) lines.push("", ...result.checks.map(findingLine));
  for (const check of result.checks) {
    if (check.check !== "linearizable") lines.push(...violationLines(check));
  }
  if (result.counterexample !== undefined) lines.push("", ...story(result.counterexample));
  const further = result.furtherCounterexamples ?? [];
  if (further.length > 0) {
    const where = further.map(({ keys, line }) => `${keys.join(", ")} (line ${line})`);
    lines.push("", `Also without an explanation: ${where.join("; ")}`);
  }
  if (result.undecided !== undefined && result.valid === "unknown") {
    lines.push("", "Undecided:", ...result.undecided.map((reason) => `  ${reason}`));
  }
  return lines.join("\n");
}

function verdictWord(result: CheckResult): string {
  if (result.valid === "unknown") return "UNKNOWN";
  return result.valid ? "VALID" : "INVALID";
}

function findingLine(finding: Finding): string {
  const word = findingWord(finding);
  const figures = Object.entries(finding.figures ?? {}).map(([name, value]) => `${name} ${value}`);
  const what = finding.compared === 0 ? "compared nothing" : `${finding.compared} compared`;
  return `  ${finding.check.padEnd(13)} ${word.padEnd(9)} ${[what, ...figures].join(", ")}`;
}

/** What compared nothing has shown nothing. */
function findingWord({ valid, compared }: Finding): string {
  if (valid === "unknown") return "unknown";
  if (!valid) return "VIOLATED";
  return compared === 0 ? "–" : "ok";
}

function violationLines(finding: Finding): string[] {
  if (finding.violations.length === 0) return [];
  const lines = ["", `${finding.check}:`];
  for (const [position, { text, lines: where }] of finding.violations.entries()) {
    lines.push(`  ${position + 1}. ${text} (${lineNumbers(where)})`);
  }
  if (finding.more > 0) lines.push(`  … and ${finding.more} more`);
  return lines;
}

function story(counterexample: Counterexample): string[] {
  const { keys, operation, concurrent, lastStates, previous } = counterexample;
  const where =
    keys.length === 0 ? "" : `Key ${keys.map((key) => JSON.stringify(key)).join(", ")}: `;
  const lines = [
    `${where}up to line ${counterexample.line} (index ${counterexample.index}) there is no order ` +
      "of operations that explains every answer.",
    "",
    `  cannot be explained: ${viewText(operation)}`,
  ];
  if (!counterexample.isShortest) {
    lines.push("  (an earlier line may be the first; the budget ended before that was certain)");
  }
  if (previous !== undefined) lines.push(`  explained before it:  ${viewText(previous)}`);
  if (concurrent.length > 0) {
    lines.push("  open at that moment:", ...concurrent.map((view) => `    ${viewText(view)}`));
  }
  lines.push("", "  The explanations that get furthest, and where they end:");
  for (const [position, { state, after, refused }] of lastStates.entries()) {
    lines.push(`  ${position + 1}. state: ${state}`);
    if (after.length > 0) lines.push(...after.map((step) => `       ${step}`));
    lines.push(...refused.map((reason) => `     ✗ ${reason}`));
  }
  return lines;
}

function viewText(view: OperationView): string {
  const end =
    view.completeLine === undefined
      ? `asked in line ${view.invokeLine}, never answered`
      : `lines ${view.invokeLine} to ${view.completeLine}, ${view.outcome}`;
  return `process ${view.process} ${view.text} (${end})`;
}

function lineNumbers(lines: readonly number[]): string {
  return `${lines.length === 1 ? "line" : "lines"} ${lines.join(", ")}`;
}
