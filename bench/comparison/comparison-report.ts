/**
 * Several measurements for people: one table per load with all systems in it, as text on a terminal
 * and as Markdown for documents. The layout is not a contract; `--json` is.
 */

import { machineText } from "../measures/machine.js";
import type { RunName } from "../options/invocation.js";
import { OWN_SYSTEM } from "../options/system-names.js";
import { grouped } from "../workloads/report-table.js";
import type { ThroughputResult } from "../workloads/throughput/throughput.js";
import { linesOf, type Result } from "../workloads/workloads.js";
import { isLoad, type MeasuredStep } from "./comparison.js";

const COLUMNS = [
  "system",
  "connections",
  "cycles/s",
  "ours / theirs",
  "p50 ms",
  "p99 ms",
  "p99.9 ms",
  "max ms",
  "CPU µs per cycle, client",
  "servers",
  "resident MiB, servers",
  "disk bytes per cycle",
  "syncs per cycle",
] as const;

const NOT_TOLD = "–";

/** The rows of one load: this system and its peers, in columns. */
export interface ComparedRow {
  readonly name: RunName;
  readonly result: ThroughputResult;
  readonly turns: readonly number[];
}

export function rowsOf({ own, turns, peers }: MeasuredStep): ComparedRow[] {
  const rows: ComparedRow[] = peers.map((peer) => ({
    name: peer.name,
    result: peer,
    turns: peer.turns,
  }));
  if (own === undefined) return rows;
  return [{ name: OWN_SYSTEM, result: own as ThroughputResult, turns }, ...rows];
}

/** For a terminal. */
export function comparisonLines(steps: readonly MeasuredStep[]): string[] {
  return steps.flatMap((measured) => {
    const title = titleOf(measured);
    const notes = [...versionLines(measured), ...leftOutLines(measured)];
    return [title, "-".repeat(title.length), ...bodyLines(measured), ...notes, ""];
  });
}

/** For a document: which command measured what, on which machine. */
export function comparisonMarkdown(
  steps: readonly MeasuredStep[],
  command: string,
  version: string,
): string {
  const parts = steps.map((measured) => {
    const lines = isLoad(measured.step.options.workload)
      ? markdownTable(cellsOf(measured))
      : ["```text", ...bodyLines(measured), "```"];
    const notes = [...versionLines(measured), ...leftOutLines(measured)].map((line) => `- ${line}`);
    const parts = [`## ${titleOf(measured)}`, lines.join("\n"), notes.join("\n")];
    return parts.filter((part) => part !== "").join("\n\n");
  });
  const machine = machineOf(steps);
  const head = [
    "# Measured",
    `\`${command}\`, version ${version}, Node.js ${process.versions.node}${machine}.`,
  ];
  return `${[...head, ...parts].join("\n\n")}\n`;
}

function machineOf(steps: readonly MeasuredStep[]): string {
  for (const { own } of steps) {
    const machine = (own as Partial<ThroughputResult> | undefined)?.machine;
    if (machine !== undefined) return `; ${machineText(machine)}`;
  }
  return "";
}

/** The options as on the command line, without the dashes. */
function titleOf({ step }: MeasuredStep): string {
  const [workload = "", ...options] = step.argv;
  const texts = options.map((option) => option.replace(/^--/, "").replace("=", " "));
  return [workload, ...texts].join(", ");
}

function bodyLines(measured: MeasuredStep): string[] {
  const { own, step } = measured;
  if (isLoad(step.options.workload)) return textTable(cellsOf(measured));
  return own === undefined ? [] : linesOf(own as Result);
}

function versionLines(measured: MeasuredStep): string[] {
  if (!isLoad(measured.step.options.workload)) return [];
  return rowsOf(measured).map(({ name, result }) => `${name}: ${result.versions}`);
}

function leftOutLines({ missing, failed }: MeasuredStep): string[] {
  return [
    ...missing.map(({ name, reason }) => `${name} not measured: ${reason}`),
    ...failed.map(({ name, reason }) => `${name} FAILED: ${reason}`),
  ];
}

/** The first row has the names of the columns. */
function cellsOf(measured: MeasuredStep): string[][] {
  const rows = rowsOf(measured);
  const own = rows.find(({ name }) => name === OWN_SYSTEM);
  return [[...COLUMNS], ...rows.map((row) => cellsOfRow(row, own))];
}

function cellsOfRow({ name, result, turns }: ComparedRow, own: ComparedRow | undefined): string[] {
  const { acquireMs, cyclesPerSecond, cpuMicrosPerCycle, residentMiB } = result;
  const { diskBytes, syncsPerCycle } = result;
  const rate = turns.length > 1 ? turns.map(wholeText).join(" / ") : wholeText(cyclesPerSecond);
  const ratio = own === undefined || name === OWN_SYSTEM ? NOT_TOLD : ratioText(own, result);
  const cycles = cyclesPerSecond * result.seconds;
  const problems = problemsOf(result);
  return [
    problems === "" ? name : `${name} (${problems})`,
    `${result.connections}`,
    rate,
    ratio,
    ...[acquireMs.p50, acquireMs.p99, acquireMs.p999, acquireMs.max].map(shortText),
    shortText(cpuMicrosPerCycle["load"]),
    shortText(sumOfServers(cpuMicrosPerCycle)),
    shortText(sumOfServers(residentMiB.end)),
    shortText(diskBytes === null || cycles === 0 ? undefined : diskBytes / cycles),
    syncsPerCycle === null ? NOT_TOLD : `${syncsPerCycle}`,
  ];
}

function ratioText(own: ComparedRow, { cyclesPerSecond }: ThroughputResult): string {
  if (cyclesPerSecond === 0) return NOT_TOLD;
  return (own.result.cyclesPerSecond / cyclesPerSecond).toFixed(2);
}

function problemsOf({ errors, fencingViolations, open }: ThroughputResult): string {
  const failures = Object.values(errors).reduce((sum, count) => sum + count, 0);
  const parts = [
    failures > 0 ? `${failures} errors` : "",
    fencingViolations > 0 ? `${fencingViolations} VIOLATIONS` : "",
    open !== null && open.backlog > 0 ? `${grouped(open.backlog)} not begun in time` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** All processes but the load generator; `undefined` if none is known. */
function sumOfServers(values: Readonly<Record<string, number>>): number | undefined {
  const servers = Object.entries(values).filter(([name]) => name !== "load");
  if (servers.length === 0) return undefined;
  return servers.reduce((sum, [, value]) => sum + value, 0);
}

function wholeText(value: number): string {
  return grouped(Math.round(value));
}

/** Three digits are enough for a comparison. */
export function shortText(value: number | undefined): string {
  if (value === undefined) return NOT_TOLD;
  return value >= 100 ? wholeText(value) : `${Number(value.toPrecision(3))}`;
}

function textTable(cells: readonly (readonly string[])[]): string[] {
  const widths = COLUMNS.map((_, column) => {
    return Math.max(...cells.map((row) => (row[column] ?? "").length));
  });
  return cells.map((row) => {
    const padded = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return column === 0 ? cell.padEnd(width) : cell.padStart(width);
    });
    return padded.join("  ").trimEnd();
  });
}

function markdownTable(cells: readonly (readonly string[])[]): string[] {
  const [head = [], ...rows] = cells.map((row) => `| ${row.join(" | ")} |`);
  const rule = `|${COLUMNS.map((_, column) => (column === 0 ? "---|" : "---:|")).join("")}`;
  return [`${head}`, rule, ...rows];
}
