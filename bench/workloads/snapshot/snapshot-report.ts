/** The result of `snapshot`, for people. */
import { machineText } from "../../measures/machine.js";
import { MIB } from "../../measures/resident-memory.js";
import { errorsText, grouped, memoryText, tableLines, violationsText } from "../report-table.js";
import type { SnapshotResult } from "./snapshot-result.js";

export function snapshotLines(result: SnapshotResult): string[] {
  const { stallMs, cyclesPerSecond, snapshotMs, residentMiB } = result;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    ["table", `${grouped(result.holds)} locks held, acquired in ${result.fillSeconds} s`],
    ["load", `${result.workers} closed loops for ${result.loadSeconds} s`],
    ["longest stall", `${stallMs.with} ms with a snapshot, ${stallMs.without} ms without`],
    ["by node", stallsText(result)],
    ["snapshots", `${result.snapshots}: median ${snapshotMs.median} ms, max ${snapshotMs.max} ms`],
    ["  size", sizeText(result)],
    ["cycles/s", ratesText(cyclesPerSecond)],
    ["resident, empty", memoryText(residentMiB.empty)],
    ["resident, filled", memoryText(residentMiB.filled)],
    ["resident, end", memoryText(residentMiB.end)],
    ["  per hold", `${grouped(result.residentBytesPerHold)} bytes of growth, including garbage`],
    ["restart", restartText(result)],
    ["errors", errorsText(result.errors)],
    ["fencing", violationsText(result.fencingViolations)],
  ]);
}

function stallsText({ stallMsPerNode }: SnapshotResult): string {
  return Object.entries(stallMsPerNode)
    .map(([node, stall]) => `${node} ${stall.with} / ${stall.without} ms`)
    .join(", ");
}

function sizeText({ snapshotBytes, holds }: SnapshotResult): string {
  const perHold = Math.round(snapshotBytes / holds);
  return `${(snapshotBytes / MIB).toFixed(1)} MiB, ${perHold} bytes per hold`;
}

function restartText({ restartMs, restartCpuMs }: SnapshotResult): string {
  const cpu = restartCpuMs === null ? "" : `, ${grouped(restartCpuMs)} ms of CPU`;
  return `${grouped(restartMs)} ms until ready${cpu}`;
}

function ratesText({ before, during }: SnapshotResult["cyclesPerSecond"]): string {
  return `${grouped(during)} during a snapshot, ${grouped(before)} otherwise`;
}
