/**
 * What `uncontended` and `contended` measured, for people.
 */
import { errorsText, grouped, tableLines, violationsText } from "./report-table.js";
import type { ThroughputResult } from "./throughput.js";

export function throughputLines(result: ThroughputResult): string[] {
  const isContended = result.workload === "contended";
  const { p50, p99, p999, max } = result.acquireMs;
  return tableLines([
    ["workload", result.workload],
    ["workers", `${result.workers} over ${result.connections} connections`],
    ["measured", `${result.seconds} s`],
    [isContended ? "hand-overs/s" : "cycles/s", grouped(result.cyclesPerSecond)],
    ["acquire", `p50 ${p50} ms, p99 ${p99} ms, p99.9 ${p999} ms, max ${max} ms`],
    ["CPU", cpuText(result)],
    ["errors", errorsText(result.errors)],
    ["fencing", violationsText(result.fencingViolations)],
  ]);
}

function cpuText({
  cpuSecondsPerProcess,
  leader,
  cyclesPerSecond,
  seconds,
}: ThroughputResult): string {
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
