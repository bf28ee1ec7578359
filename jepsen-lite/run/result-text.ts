/** The output at the end of a run, in lines of a terminal's usual width. */
import { ANOMALIES, type AnomalyKind } from "../checker/index.js";
import { withShortNumbers } from "../text/short-numbers.js";
import { COLUMNS, named, wrapped } from "../text/wrapped-text.js";
import type { Anomaly } from "../verdict/anomaly.js";
import type { CheckResult, Validity } from "../verdict/check-result.js";
import { silentIn } from "../verdict/comparisons-check.js";
import { WORKLOADS } from "../workloads/catalogue.js";
import type { ComparedSystem } from "./compared-system.js";
import { comparisonRows } from "./comparison.js";
import type { Results } from "./results.js";

const SENTENCES: Readonly<Record<string, string>> = {
  true: "VALID: every answer that the clients got can be true",
  false: "NOT VALID: the clients were told something that cannot be true",
  unknown: "UNKNOWN: no violation was found, but not everything could be decided",
};
const SIGNS: Readonly<Record<string, string>> = { true: "✓", false: "✗", unknown: "?" };
const WORDS: Readonly<Record<string, string>> = {
  true: "valid",
  false: "NOT VALID",
  unknown: "unknown",
};

export function resultText(results: Results, directory: string): string {
  const { figures, checks, comparison, seconds } = results;
  const peers = comparison.slice(1).map(({ name }) => `${directory}/${name}/report.html`);
  const width = 4 + Math.max(...checks.map((check) => labelOf(check).length)) + 2;
  const lines = [
    "",
    ...checks.map((check) => {
      return named(`  ${SIGNS[String(check.valid)]} ${labelOf(check)}`, check.summary, width);
    }),
    ...checks.flatMap(({ subject, remarks }) => {
      return remarks.map((remark) => wrapped(`    ${subject}: ${remark}`, 6));
    }),
    "",
    ...anomalyLines(results),
    named("  compared", comparedText(checks), 14),
    ...emptyLines(checks),
    named(
      "  in total",
      `${figures.operations} operations in ${seconds} s, ${plural(figures.faults, "fault")}, ` +
        `${plural(figures.elections, "election")}, ${plural(figures.sessionsLost, "session")} lost; ` +
        `the longest time without success was ${(figures.longestGapMs / 1_000).toFixed(1)} s`,
      14,
    ),
    `  report      ${directory}/report.html`,
    ...peers.map((file) => `              ${file}`),
    "",
    ...comparisonLines(comparison),
  ];
  return `${lines.join("\n")}\n`;
}

/** The last line. */
export function verdictText({ valid, wasInterrupted }: Results): string {
  if (wasInterrupted && valid !== false) return "INTERRUPTED: no violation was found until then";
  return `${SENTENCES[String(valid)]}${wasInterrupted ? " (interrupted)" : ""}`;
}

/** Checks of the cluster are distinguished by their own names. */
function labelOf({ subject, name }: CheckResult): string {
  return subject === "cluster" ? name : subject;
}

/** Each kind with its count and one example. */
function anomalyLines({ checks, anomalies }: Results): string[] {
  const all = Object.keys(ANOMALIES) as AnomalyKind[];
  const kinds = all.filter((kind) => anomalies[kind] !== undefined);
  if (kinds.length === 0) return [];
  const told = checks.filter(({ valid }) => valid === false);
  const lines = ["  anomalies"];
  for (const kind of kinds) {
    const example = told.flatMap((check) => check.anomalies).find((each) => each.kind === kind);
    lines.push(`  ✗ ${kind} × ${anomalies[kind]}`);
    if (example !== undefined) lines.push(wrapped(`    ${sentenceOf(example)}`, 4));
  }
  return [...lines, "    The report shows them step by step, and in the timeline.", ""];
}

function sentenceOf({ sentence }: Anomaly): string {
  return withShortNumbers([sentence]).join("");
}

/** How much each check compared, over all histories. */
function comparedText(checks: readonly CheckResult[]): string {
  const full = [...comparedBy(checks)].filter(([, { compared }]) => compared > 0);
  return full.map(([name, { compared }]) => `${name} ${compared}`).join(", ");
}

/**
 * A check that compared nothing has shown nothing: reported prominently only if the run was made
 * for it.
 */
function emptyLines(checks: readonly CheckResult[]): string[] {
  const lines: string[] = [];
  for (const check of checks) {
    const names = silentIn(check).join(", ");
    const what = `was compared by ${names} in ${check.subject}, which is made for it`;
    if (names !== "") lines.push(named("  NOTHING", what, 14));
  }
  const unasked = [...comparedBy(checks)]
    .filter(([, { compared, isAsked }]) => compared === 0 && !isAsked)
    .map(([name]) => name);
  if (unasked.length > 0) {
    const others = WORKLOADS.filter(({ compares = [] }) => {
      return compares.some((name) => unasked.includes(name));
    });
    const how = `add --workload ${others.map(({ name }) => name).join(",")}`;
    lines.push(named("  not tested", `${unasked.join(", ")} (${how})`, 14));
  }
  return lines;
}

function comparedBy(checks: readonly CheckResult[]) {
  const totals = new Map<string, { compared: number; isAsked: boolean }>();
  for (const { name, compared, isAsked } of checks.flatMap(({ parts = [] }) => parts)) {
    const known = totals.get(name);
    totals.set(name, {
      compared: (known?.compared ?? 0) + compared,
      isAsked: isAsked || known?.isAsked === true,
    });
  }
  return totals;
}

/** Side by side, one column per system. */
function comparisonLines(systems: readonly ComparedSystem[]): string[] {
  if (systems.length === 0) return [];
  const table: (readonly [string, readonly string[]])[] = [
    ["side by side", systems.map(({ name }) => name)],
    ["verdict", systems.map(({ valid }) => wordOf(valid))],
    ...comparisonRows(systems).map(
      ({ name, cells }) => [name, cells.map(({ text }) => text)] as const,
    ),
  ];
  const nameWidth = Math.max(...table.map(([name]) => name.length));
  const widest = 2 + Math.max(...table.flatMap(([, cells]) => cells.map(({ length }) => length)));
  const width = Math.min(widest, Math.floor((COLUMNS - 2 - nameWidth) / systems.length));
  const lines = table.map(([name, cells]) => {
    return `  ${name.padEnd(nameWidth)}${cells.map((cell) => cell.padStart(width)).join("")}`;
  });
  return [...lines, ""];
}

function wordOf(valid: Validity): string {
  return WORDS[String(valid)] ?? "";
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
