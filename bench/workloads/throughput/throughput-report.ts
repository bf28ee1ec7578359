/** The results of the closed-loop workloads, for people. */
import type { LoadWindow } from "../../load/load-window.js";
import { machineText } from "../../measures/machine.js";
import { OWN_SYSTEM } from "../../options/system-names.js";
import {
  errorsText,
  grouped,
  latenciesText,
  memoryText,
  type Row,
  tableLines,
} from "../report-table.js";
import type { ThroughputResult } from "./throughput.js";

const KIND_NAMES: Readonly<Partial<Record<ThroughputResult["workload"], string>>> = {
  multi: "locks at once",
};

export function throughputLines(result: ThroughputResult): string[] {
  const { workload, acquireMs, acquireMsByKind, leader, residentMiB } = result;
  const kinds = Object.entries(acquireMsByKind).map(
    ([kind, latencies]): Row => [
      `  ${[kind, KIND_NAMES[workload]].filter(Boolean).join(" ")}`,
      latenciesText(latencies),
    ],
  );
  return tableLines([
    ["workload", workload + scopeText(result)],
    ["machine", machineText(result.machine)],
    ["versions", result.versions],
    ["workers", workersText(result)],
    ["measured", `${result.seconds} s`],
    [workload === "contended" ? "hand-overs/s" : "cycles/s", grouped(result.cyclesPerSecond)],
    ["acquire", latenciesText(acquireMs)],
    ...kinds,
    ...openRows(result),
    ["CPU", cpuText(result, leader)],
    ["resident, before", memoryText(residentMiB.start)],
    ["resident, after", memoryText(residentMiB.end)],
    ["disk", diskText(result)],
    ["errors", errorsText(result.errors)],
    ["exclusion", exclusionText(result)],
  ]);
}

function scopeText({ workload, system, keys, limit }: ThroughputResult): string {
  const of = system === OWN_SYSTEM ? "" : ` of ${system}`;
  if (workload === "semaphore") return `${of}, ${limit} permits`;
  return keys > 0 ? `${of}, ${keys} locks` : of;
}

function workersText({ workers, connections, attach, tls }: ThroughputResult): string {
  const where = attach === "follower" ? ", at a follower" : "";
  return `${workers} over ${connections} connections${where}${tls ? ", TLS" : ""}`;
}

function openRows({ open }: ThroughputResult): Row[] {
  if (open === null) return [];
  const { rate, startDelayMs, backlog } = open;
  const isBehind = backlog > 0 ? `; ${grouped(backlog)} could NOT begin in time` : "";
  return [
    ["rate", `${grouped(rate)} per second, each measured from when it was due${isBehind}`],
    ["  begun late by", `p50 ${startDelayMs.p50} ms, p99 ${startDelayMs.p99} ms of these`],
  ];
}

function diskText(result: ThroughputResult): string {
  const { seconds, cyclesPerSecond, diskBytes, syncsPerCycle } = result;
  const cycles = seconds * cyclesPerSecond;
  if (diskBytes === null || cycles === 0) return "not known on this system";
  const perCycle = `${grouped(Math.round(diskBytes / cycles))} bytes per cycle on this machine`;
  const syncs = syncsPerCycle === null ? "not reported" : `${syncsPerCycle} per cycle`;
  return `${perCycle}; syncs: ${syncs}`;
}

function exclusionText({ violations, fencingViolations }: ThroughputResult): string {
  if (fencingViolations === 0) return "every token, slot and limit is correct";
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
    : `${parts.join(", ")}; ${perCycle.toFixed(1)} µs per cycle`;
}
