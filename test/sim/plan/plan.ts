/**
 * What a seed decides, as plain data: it can be written to a file, made smaller and run again. The
 * run draws from streams named by node, link and client, so leaving a part out changes no other.
 */
import type { NodeTuning } from "../../../src/server/index.js";
import type { DiskTimes } from "../world/disk/disk-weather.js";
import type { PathTimes } from "../world/network/paths.js";
import type { AccessPlan } from "./access-plan.js";
import type { ClientPlan } from "./client-plan.js";
import type { DoorsPlan } from "./doors-plan.js";
import type { Fault } from "./fault.js";
import type { OwnerPlan } from "./owner-plan.js";
import type { RestorePlan } from "./restore-plan.js";
import type { SilencePlan } from "./silence-plan.js";
import type { UncuredPlan } from "./uncured-plan.js";

export interface SemaphorePlan {
  readonly key: string;
  readonly limit: number;
}

/** How long a process takes for what takes no time where nothing is said of it. */
export interface Pace {
  /** A turn of a node takes up to this long; what comes in meanwhile waits. */
  readonly turnMs: number;
  /** Timers of a node fire up to this much later than they are due. */
  readonly timerLateMs: number;
}

export const AT_ONCE: Pace = { turnMs: 0, timerLateMs: 0 };

export interface SimPlan {
  readonly seed: number;
  /** What it is to lead to, for people; "": anywhere. */
  readonly focus: string;
  /** One trouble at a time at production's tuning: then there are laws with figures. */
  readonly isTimed: boolean;
  /** Founders: nodes 1 … `nodeCount`. */
  readonly nodeCount: number;
  /** Nodes behind them that may be added; they run once they were. */
  readonly spareCount: number;
  /** How long faults come and go. */
  readonly stormMs: number;
  readonly tuning: Partial<NodeTuning>;
  readonly pathTimes: PathTimes;
  readonly diskTimes: DiskTimes;
  readonly pace: Pace;
  /** The keys of locks. */
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly clients: readonly ClientPlan[];
  /** The owners of leases; `undefined`: nobody has any. */
  readonly owners?: readonly OwnerPlan[] | undefined;
  /** The doors of nodes and their owners; `undefined`: nodes have no doors. */
  readonly doors?: DoorsPlan | undefined;
  readonly faults: readonly Fault[];
  /** Nodes that must work when half the trouble is over; a majority. */
  readonly healthy: readonly number[];
  /** What becomes of the others meanwhile. */
  readonly others: "down" | "cut" | "deaf" | "paused" | "healthy";
  /** The cluster is lost when the storm is over, and restored; `undefined`: it is not. */
  readonly restore?: RestorePlan | undefined;
  /** Nothing is healed when the storm is over: only time passes; `undefined`: all is. */
  readonly uncured?: UncuredPlan | undefined;
  /** In a timed plan: a node falls silent after the storm; `undefined`: none does. */
  readonly silence?: SilencePlan | undefined;
  /** Not everybody may do everything; `undefined`: the cluster stays open. */
  readonly access?: AccessPlan | undefined;
}
