/**
 * What a seed decides, as plain data: it can be written to a file, made smaller and run again. The
 * run draws from streams named by node, link and client, so leaving a part out changes no other.
 */
import type { NodeTuning } from "../../../src/server/index.js";
import type { DiskTimes } from "../world/disk/disk-weather.js";
import type { PathTimes } from "../world/network/paths.js";
import type { Fault } from "./fault.js";
import type { RestorePlan } from "./restore-plan.js";

/** Shares of what a client does, each 0 … 1. */
export interface ClientMix {
  readonly reconnect: number;
  readonly close: number;
  readonly inspect: number;
  /** Gives up what it saw others hold. */
  readonly meddle: number;
  readonly cancel: number;
  readonly release: number;
  /** Of acquires: of two keys at once. */
  readonly several: number;
  readonly shared: number;
}

/** Shares of what a client does with locks beyond acquiring and releasing them, each 0 … 1. */
export interface LockMix {
  /** Of acquires: what they ask for and how. */
  readonly permits: number;
  readonly priority: number;
  /** By a task that has other claims, instead of one of its own. */
  readonly nested: number;
  /** Of applications: once more of what a task holds. */
  readonly reentrant: number;
  readonly maxHold: number;
  readonly minHold: number;
  readonly lockDelay: number;
  readonly value: number;
  readonly steal: number;
  /** Without a search for circles of waits. */
  readonly undetected: number;
  /** Of moments to act. */
  readonly upgrade: number;
  readonly downgrade: number;
  readonly update: number;
  readonly revoke: number;
  readonly endSession: number;
  readonly setLimit: number;
  readonly detach: number;
  readonly claim: number;
  readonly takeOver: number;
  readonly changeSetting: number;
  /** Of releases: said twice in a row. */
  readonly endAgain: number;
  /** Uses what a hold guards, or did: nobody keeps who lost it from trying. */
  readonly write: number;
}

export interface SemaphorePlan {
  readonly key: string;
  readonly limit: number;
}

export interface ClientPlan {
  /** Behind the nodes; also the number in its nonces. */
  readonly host: number;
  /** The protocol by itself, or by the SDK that applications use, over sockets of bytes. */
  readonly speaks: "protocol" | "sdk";
  readonly startMs: number;
  readonly actions: number;
  readonly thinkMs: number;
  readonly ttlMs: number;
  /** Its system has a clock that goes on while the machine is suspended. */
  readonly countsSleep: boolean;
  readonly mix: ClientMix;
  readonly locks: LockMix;
}

/** How long a process takes for what takes no time where nothing is said of it. */
export interface Pace {
  /** A turn of a node takes up to so long; what comes in meanwhile waits. */
  readonly turnMs: number;
  /** Timers of a node fire up to so much later than they are due. */
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
  /** Of locks. */
  readonly keys: readonly string[];
  readonly semaphores: readonly SemaphorePlan[];
  readonly clients: readonly ClientPlan[];
  readonly faults: readonly Fault[];
  /** Nodes that must work when half the trouble is over; a majority. */
  readonly healthy: readonly number[];
  /** What becomes of the others meanwhile. */
  readonly others: "down" | "cut" | "deaf" | "paused" | "healthy";
  /** The cluster is lost when the storm is over, and restored; `undefined`: it is not. */
  readonly restore?: RestorePlan | undefined;
}
