/** The result of `table`: its shape, and how it is computed from the measurements. */

import type { LoadWindow } from "../../load/load-window.js";
import type { Machine } from "../../measures/machine.js";
import { residentBytesPerHold } from "../../measures/resident-memory.js";
import {
  type Compared,
  comparedRates,
  type RateSample,
  type SnapshotSpan,
} from "../../measures/stall-windows.js";
import { hundredths, medianOf, tenths } from "../../measures/statistics.js";
import type { TableOptions } from "../../options/bench-options.js";

export type LoadName = "empty" | "full";

/** Resident memory by node; only if /proc has it. */
type Resident = Readonly<Record<string, number>>;

export interface LoadCost {
  readonly cyclesPerSecond: number;
  /** CPU time of all nodes together, per cycle; null if the system does not report it. */
  readonly serverCpuMicros: number | null;
}

/** The shape of `--json`; a contract. */
export interface TableResult {
  readonly workload: "table";
  readonly machine: Machine;
  readonly connections: number;
  readonly workers: number;
  /** Holds of the full table. */
  readonly holds: number;
  /** Length of the longest key among them. */
  readonly keyBytes: number;
  readonly fillSeconds: number;
  readonly rounds: number;
  /** The same load on each table: medians over the rounds. */
  readonly empty: LoadCost;
  readonly full: LoadCost;
  /** The ratio of the full table to the empty one: cycles per second. */
  readonly throughputRatio: number;
  /** That ratio for the nodes' CPU per cycle; null if the system does not report it. */
  readonly serverCpuRatio: number | null;
  /** Cycles per second on the full table outside of snapshots of any node, and during them. */
  readonly fullCyclesPerSecond: Compared;
  /**
   * `empty` and `settled`: after ten seconds of light load; `end`: after the load on the full one.
   */
  readonly residentMiB: {
    readonly start: Resident;
    readonly empty: Resident;
    readonly filled: Resident;
    readonly settled: Resident;
    readonly end: Resident;
  };
  /** Growth of the node that grew most, with garbage. `fromStart`: compared with a new process. */
  readonly residentBytesPerHold: {
    readonly filled: number;
    readonly settled: number;
    readonly fromStart: number;
  };
  readonly details: readonly (LoadWindow & { readonly round: number; readonly table: LoadName })[];
  readonly errors: Readonly<Record<string, number>>;
  readonly fencingViolations: number;
}

/** One table in one round. */
export interface MeasuredLoad {
  readonly round: number;
  readonly table: LoadName;
  readonly window: LoadWindow;
  readonly rates: readonly RateSample[];
  /** Snapshots of all nodes so far. */
  readonly spans: readonly SnapshotSpan[];
  readonly errors: Readonly<Record<string, number>>;
  readonly fencingViolations: number;
}

/** The loads, and the measurements around them. */
type Measured = Pick<TableResult, "machine" | "keyBytes" | "fillSeconds" | "residentMiB"> & {
  readonly loads: readonly MeasuredLoad[];
};

export function tableResult(
  { connections, workers, holds, rounds }: TableOptions,
  { loads, machine, keyBytes, fillSeconds, residentMiB }: Measured,
): TableResult {
  const loadsOn = (table: LoadName) => loads.filter((load) => load.table === table);
  const [empty, full] = [costOf(loadsOn("empty")), costOf(loadsOn("full"))];
  const isCpuKnown = empty.serverCpuMicros !== null && full.serverCpuMicros !== null;
  const { start, empty: before, filled, settled } = residentMiB;
  return {
    workload: "table",
    machine,
    connections,
    workers,
    holds,
    keyBytes,
    fillSeconds,
    rounds,
    empty,
    full,
    throughputRatio: hundredths(full.cyclesPerSecond / empty.cyclesPerSecond),
    serverCpuRatio: isCpuKnown
      ? hundredths((full.serverCpuMicros ?? 0) / (empty.serverCpuMicros ?? 0))
      : null,
    fullCyclesPerSecond: comparedRates(
      loadsOn("full").flatMap(({ rates }) => rates),
      loads.findLast(({ table }) => table === "full")?.spans ?? [],
    ),
    residentMiB,
    residentBytesPerHold: {
      filled: residentBytesPerHold(before, filled, holds),
      settled: residentBytesPerHold(before, settled, holds),
      fromStart: residentBytesPerHold(start, settled, holds),
    },
    details: loads.map(({ round, table, window }) => ({ round, table, ...window })),
    errors: sumOf(loads.map(({ errors }) => errors)),
    fencingViolations: loads.reduce((sum, each) => sum + each.fencingViolations, 0),
  };
}

function costOf(loads: readonly MeasuredLoad[]): LoadCost {
  const cpu = medianOf(loads.map(({ window }) => serverCpuPerCycle(window)));
  return {
    cyclesPerSecond: tenths(medianOf(loads.map(({ window }) => window.cyclesPerSecond))),
    serverCpuMicros: Number.isNaN(cpu) ? null : tenths(cpu),
  };
}

/** NaN if the system does not report it. */
function serverCpuPerCycle({ cpuMicrosPerCycle }: LoadWindow): number {
  const nodes = Object.entries(cpuMicrosPerCycle).filter(([name]) => name !== "load");
  if (nodes.length === 0) return Number.NaN;
  return nodes.reduce((sum, [, micros]) => sum + micros, 0);
}

function sumOf(parts: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const part of parts) {
    for (const [code, count] of Object.entries(part)) total[code] = (total[code] ?? 0) + count;
  }
  return total;
}
