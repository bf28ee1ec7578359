/** The result of `table`, for people. */
import { machineText } from "../../measures/machine.js";
import { errorsText, grouped, memoryText, tableLines, violationsText } from "../report-table.js";
import type { LoadCost, TableResult } from "./table-result.js";

export function tableWorkloadLines(result: TableResult): string[] {
  const { residentMiB, residentBytesPerHold: perHold, fullCyclesPerSecond } = result;
  const cpuRatio =
    result.serverCpuRatio === null ? "" : `, CPU of the nodes ${result.serverCpuRatio}`;
  const table = `${grouped(result.holds)} locks held, keys of ${result.keyBytes} bytes`;
  return tableLines([
    ["workload", result.workload],
    ["machine", machineText(result.machine)],
    ["load", `${result.workers} closed loops over ${result.connections} connections`],
    ["full table", `${table}; filled in ${result.fillSeconds} s`],
    ["measured", `medians of ${result.rounds} rounds`],
    ["cycles/s, empty", loadText(result.empty)],
    ["cycles/s, full", loadText(result.full)],
    ["  by snapshots", snapshotsText(fullCyclesPerSecond)],
    ["full to empty", `${result.throughputRatio}${cpuRatio}`],
    ["resident, start", memoryText(residentMiB.start)],
    ["resident, empty", memoryText(residentMiB.empty)],
    ["resident, filled", memoryText(residentMiB.filled)],
    ["resident, settled", memoryText(residentMiB.settled)],
    ["resident, end", memoryText(residentMiB.end)],
    ["  per hold", `${perHold.filled} bytes filled, ${perHold.settled} settled`],
    ["  since the start", `${perHold.fromStart} bytes, including the usual growth of a process`],
    ["errors", errorsText(result.errors)],
    ["fencing", violationsText(result.fencingViolations)],
  ]);
}

function loadText({ cyclesPerSecond, serverCpuMicros }: LoadCost): string {
  const cpu = serverCpuMicros === null ? "" : `; CPU of the nodes ${serverCpuMicros} µs per cycle`;
  return `${grouped(cyclesPerSecond)}${cpu}`;
}

function snapshotsText({ with: during, without }: TableResult["fullCyclesPerSecond"]): string {
  const partOf = (rate: number) => (rate === 0 ? "none seen" : grouped(rate));
  return `${partOf(without)} outside of snapshots, ${partOf(during)} during one`;
}
