/** The result of `snapshot`: its shape, and how it is computed from what was watched. */

import type { OwnCluster } from "../../cluster/own-cluster.js";
import type { ClosedLoop } from "../../load/closed-loop.js";
import type { Machine } from "../../measures/machine.js";
import { residentBytesPerHold } from "../../measures/resident-memory.js";
import { type Compared, comparedRates, comparedStalls } from "../../measures/stall-windows.js";
import { type Summary, summaryOf } from "../../measures/statistics.js";
import type { SnapshotOptions } from "../../options/bench-options.js";
import type { SnapshotWatch, TakenSnapshot } from "./snapshot-watch.js";

/** The shape of `--json`; a contract. */
export interface SnapshotResult {
  readonly workload: "snapshot";
  readonly machine: Machine;
  readonly holds: number;
  readonly fillSeconds: number;
  readonly workers: number;
  /** The longest stall of any node's event loop under the same load. */
  readonly stallMs: Compared;
  /** The same by node. */
  readonly stallMsPerNode: Readonly<Record<string, Compared>>;
  /**
   * Snapshots taken under that load by all nodes, how long each took, how large the last one is.
   */
  readonly snapshots: number;
  readonly snapshotMs: Summary;
  readonly snapshotBytes: number;
  readonly cyclesPerSecond: { readonly before: number; readonly during: number };
  readonly loadSeconds: number;
  /** Resident memory by node; only if /proc has it. */
  readonly residentMiB: {
    readonly empty: Readonly<Record<string, number>>;
    readonly filled: Readonly<Record<string, number>>;
    readonly end: Readonly<Record<string, number>>;
  };
  /** By how much the largest node grew while it was filled, with garbage, per hold. */
  readonly residentBytesPerHold: number;
  /** A follower that was stopped in order and started again: until `/readyz` succeeds. */
  readonly restartMs: number;
  /** Its CPU time until then; null if /proc does not have it. */
  readonly restartCpuMs: number | null;
  readonly errors: Readonly<Record<string, number>>;
  readonly fencingViolations: number;
}

export type Restarted = Pick<SnapshotResult, "restartMs" | "restartCpuMs">;

/** The measurements around the watched load. */
type Measured = Pick<SnapshotResult, "machine" | "fillSeconds" | "residentMiB"> & Restarted;

export function snapshotResult(
  cluster: OwnCluster,
  options: SnapshotOptions,
  load: ClosedLoop,
  watch: SnapshotWatch,
  measured: Measured,
): SnapshotResult {
  const { rates, taken, spans } = watch;
  const rate = comparedRates(rates, spans);
  const perNode = cluster.nodes.map(
    ({ id }) => [`n${id}`, comparedStalls(watch.boundsOf(id), spans)] as const,
  );
  return {
    workload: "snapshot",
    holds: options.holds,
    workers: options.workers,
    ...measured,
    stallMs: {
      without: Math.max(...perNode.map(([, stall]) => stall.without)),
      with: Math.max(...perNode.map(([, stall]) => stall.with)),
    },
    stallMsPerNode: Object.fromEntries(perNode),
    snapshots: taken.length,
    snapshotMs: summaryOf(taken.map(({ fromMs, toMs }) => toMs - fromMs)),
    snapshotBytes: taken.reduce(newer, undefined)?.bytes ?? 0,
    cyclesPerSecond: { before: rate.without, during: rate.with },
    loadSeconds: rates.length,
    residentBytesPerHold: residentBytesPerHold(
      measured.residentMiB.empty,
      measured.residentMiB.filled,
      options.holds,
    ),
    errors: Object.fromEntries(load.errors),
    fencingViolations: load.fencingViolations,
  };
}

function newer(one: TakenSnapshot | undefined, other: TakenSnapshot): TakenSnapshot {
  return one === undefined || other.toMs > one.toMs ? other : one;
}
