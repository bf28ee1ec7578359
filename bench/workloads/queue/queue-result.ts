/** The result of `queue`: its shape, and how it is computed from the measurements. */

import type { Machine } from "../../measures/machine.js";
import { hundredths, medianOf, tenths } from "../../measures/statistics.js";
import type { QueueOptions } from "../../options/bench-options.js";

/** The length of the short queues. */
export const FEW_WAITERS = 100;
export const FEW_LOCKS = 10;
export const OPERATIONS = ["enqueue", "cancel", "handOver"] as const;
export type QueueOperation = (typeof OPERATIONS)[number];

/** The cost of one operation. */
export interface Cost {
  /** From the call of a batch until all of it is applied; for a hand-over: release to grant. */
  readonly wallMicros: number;
  /** CPU time of all nodes together; null if the system does not report it. */
  readonly serverCpuMicros: number | null;
}

export interface ComparedCost {
  readonly few: Cost;
  readonly many: Cost;
  /** The ratio of many to few. */
  readonly wallRatio: number;
  readonly serverCpuRatio: number | null;
}

export type CostOfEach = Readonly<Record<QueueOperation, Cost>>;

/** The shape of `--json`; a contract. */
export interface QueueResult extends Readonly<Record<QueueOperation, ComparedCost>> {
  readonly workload: "queue";
  readonly machine: Machine;
  readonly connections: number;
  /** Waiters per lock. */
  readonly waiters: { readonly few: number; readonly many: number };
  readonly locks: { readonly few: number; readonly many: number };
  readonly rounds: number;
  /** Counted operations with one length in one round. */
  readonly operationsPerRound: Readonly<Record<QueueOperation, number>>;
  /** Waiters that joined and left per second while the long queue was filled and drained. */
  readonly fillPerSecond: number;
  readonly drainPerSecond: number;
  readonly details: readonly (CostOfEach & { readonly round: number; readonly waiters: number })[];
  /** Grants in a wrong order, or with a wrong token. */
  readonly fencingViolations: number;
}

interface Sum {
  readonly operations: number;
  readonly wallMicros: number;
  /** NaN if it is not known. */
  readonly cpuMicros: number;
}

/** One length in one round. */
export interface MeasuredQueues {
  readonly round: number;
  readonly waiters: number;
  readonly fillMs: number;
  readonly drainMs: number;
  readonly sums: Readonly<Record<QueueOperation, Sum>>;
  readonly violations: number;
}

/** `batch`: operations per batch; `batches`: how many were counted. */
export function queueResult(
  { connections, rounds, waiters }: QueueOptions,
  machine: Machine,
  measured: readonly MeasuredQueues[],
  batch: Readonly<Record<QueueOperation, number>>,
  batches: number,
): QueueResult {
  const long = measured.filter((each) => each.waiters === waiters);
  const perSecond = (milliseconds: readonly number[]) =>
    Math.round(medianOf(milliseconds.map((each) => (waiters / each) * 1_000)));
  return {
    workload: "queue",
    machine,
    connections,
    waiters: { few: FEW_WAITERS, many: waiters },
    locks: { few: FEW_LOCKS, many: 1 },
    rounds,
    operationsPerRound: byOperation((operation) => batch[operation] * batches),
    ...byOperation((operation) => comparedCost(measured, operation, waiters)),
    fillPerSecond: perSecond(long.map(({ fillMs }) => fillMs)),
    drainPerSecond: perSecond(long.map(({ drainMs }) => drainMs)),
    details: measured.map((each) => ({
      round: each.round,
      waiters: each.waiters,
      ...byOperation((operation) => costOf(each.sums[operation])),
    })),
    fencingViolations: measured.reduce((sum, { violations }) => sum + violations, 0),
  };
}

function comparedCost(
  measured: readonly MeasuredQueues[],
  operation: QueueOperation,
  many: number,
): ComparedCost {
  const medianAt = (waiters: number): Cost => {
    const costs = measured
      .filter((each) => each.waiters === waiters)
      .map(({ sums }) => costOf(sums[operation]));
    const cpu = costs.map(({ serverCpuMicros }) => serverCpuMicros);
    return {
      wallMicros: tenths(medianOf(costs.map(({ wallMicros }) => wallMicros))),
      serverCpuMicros: areKnown(cpu) ? tenths(medianOf(cpu)) : null,
    };
  };
  const [few, lots] = [medianAt(FEW_WAITERS), medianAt(many)];
  const isCpuKnown = few.serverCpuMicros !== null && lots.serverCpuMicros !== null;
  return {
    few,
    many: lots,
    wallRatio: hundredths(lots.wallMicros / few.wallMicros),
    serverCpuRatio: isCpuKnown
      ? hundredths((lots.serverCpuMicros ?? 0) / (few.serverCpuMicros ?? 0))
      : null,
  };
}

function costOf({ operations, wallMicros, cpuMicros }: Sum): Cost {
  return {
    wallMicros: tenths(wallMicros / operations),
    serverCpuMicros: Number.isNaN(cpuMicros) ? null : tenths(cpuMicros / operations),
  };
}

function areKnown(values: readonly (number | null)[]): values is readonly number[] {
  return !values.includes(null);
}

function byOperation<T>(value: (operation: QueueOperation) => T): Record<QueueOperation, T> {
  return { enqueue: value("enqueue"), cancel: value("cancel"), handOver: value("handOver") };
}
