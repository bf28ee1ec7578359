/**
 * A result as a table for people. The layout is no contract; `--json` is.
 */
import type { BenchResult } from "./run-bench.js";

/** Lines of two columns. */
export function reportLines(result: BenchResult): string[] {
  const isContended = result.workload === "contended";
  const { p50, p99, p999, max } = result.acquireMs;
  const rows: [string, string][] = [
    ["workload", result.workload],
    ["workers", `${result.workers} over ${result.connections} connections`],
    ["measured", `${result.seconds} s`],
    [isContended ? "hand-overs/s" : "cycles/s", grouped(result.cyclesPerSecond)],
    ["acquire", `p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p999} ms, max ${max} ms`],
    ["CPU", cpuText(result)],
    ["errors", errorsText(result.errors)],
    ["fencing", violationsText(result.fencingViolations)],
  ];
  const widest = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(widest)}  ${value}`);
}

function cpuText({ cpuSecondsPerProcess, leader, cyclesPerSecond, seconds }: BenchResult): string {
  const entries = Object.entries(cpuSecondsPerProcess);
  if (entries.length === 0) return "not known on this system";
  const parts = entries.map(
    ([name, value]) => `${name}${name === leader ? " (leader)" : ""} ${value.toFixed(2)} s`,
  );
  const total = entries.reduce((sum, [, value]) => sum + value, 0);
  const cycles = cyclesPerSecond * seconds;
  const perCycle = cycles > 0 ? `; ${((total / cycles) * 1e6).toFixed(1)} µs a cycle` : "";
  return parts.join(", ") + perCycle;
}

function errorsText(errors: Readonly<Record<string, number>>): string {
  const parts = Object.entries(errors).map(([code, count]) => `${code} ${count}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}

function violationsText(violations: number): string {
  return violations === 0 ? "every token was larger than the last" : `${violations} VIOLATIONS`;
}

function grouped(value: number): string {
  return value.toLocaleString("en-US");
}
