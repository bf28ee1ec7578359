/**
 * What the workloads of closed loops measured, for people.
 */
import type { LoadWindow } from "./load-window.js";
import { errorsText, grouped, latenciesText, type Row, tableLines } from "./report-table.js";
import type { ThroughputResult } from "./throughput.js";

const KIND_NAMES: Readonly<Partial<Record<ThroughputResult["workload"], string>>> = {
  multi: "locks at once",
};

export function throughputLines(result: ThroughputResult): string[] {
  const { workload, acquireMs, acquireMsByKind, leader } = result;
  const kinds = Object.entries(acquireMsByKind).map(
    ([kind, latencies]): Row => [
      `  ${[kind, KIND_NAMES[workload]].filter(Boolean).join(" ")}`,
      latenciesText(latencies),
    ],
  );
  return tableLines([
    ["workload", workload + scopeText(result)],
    ["workers", `${result.workers} over ${result.connections} connections`],
    ["measured", `${result.seconds} s`],
    [workload === "contended" ? "hand-overs/s" : "cycles/s", grouped(result.cyclesPerSecond)],
    ["acquire", latenciesText(acquireMs)],
    ...kinds,
    ["CPU", cpuText(result, leader)],
    ["errors", errorsText(result.errors)],
    ["exclusion", exclusionText(result)],
  ]);
}

function scopeText({ workload, keys, limit }: ThroughputResult): string {
  if (workload === "semaphore") return `, ${limit} permits`;
  return keys > 0 ? `, ${keys} locks` : "";
}

function exclusionText({ violations, fencingViolations }: ThroughputResult): string {
  if (fencingViolations === 0) return "every token, slot and limit as it must be";
  const parts = Object.entries(violations).filter(([, count]) => count > 0);
  return `VIOLATIONS: ${parts.map(([rule, count]) => `${rule} ${count}`).join(", ")}`;
}

function cpuText(window: LoadWindow, leader: string | null): string {
  const entries = Object.entries(window.cpuSecondsPerProcess);
  if (entries.length === 0) return "not known on this system";
  const parts = entries.map(
    ([name, value]) => `${name}${name === leader ? " (leader)" : ""} ${value.toFixed(2)} s`,
  );
  const perCycle = Object.values(window.cpuMicrosPerCycle).reduce((sum, micros) => sum + micros, 0);
  return perCycle === 0
    ? parts.join(", ")
    : `${parts.join(", ")}; ${perCycle.toFixed(1)} µs a cycle`;
}
