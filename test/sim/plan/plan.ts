/**
 * What a seed decides, as plain data: it can be written to a file, made smaller and run again. The
 * run draws from streams named by node, link and client, so leaving a part out changes no other.
 */
import type { NodeTuning } from "../../../src/server/index.js";
import type { DiskTimes } from "../world/disk-weather.js";
import type { PathTimes } from "../world/paths.js";
import type { Fault } from "./fault.js";

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

export interface ClientPlan {
  /** Behind the nodes; also the number in its nonces. */
  readonly host: number;
  readonly startMs: number;
  readonly actions: number;
  readonly thinkMs: number;
  readonly ttlMs: number;
  readonly mix: ClientMix;
}

export interface SimPlan {
  readonly seed: number;
  /** Founders: nodes 1 … `nodeCount`. */
  readonly nodeCount: number;
  /** Nodes behind them that may be added; they run once they were. */
  readonly spareCount: number;
  /** How long faults come and go. */
  readonly stormMs: number;
  readonly tuning: Partial<NodeTuning>;
  readonly pathTimes: PathTimes;
  readonly diskTimes: DiskTimes;
  readonly keys: readonly string[];
  readonly clients: readonly ClientPlan[];
  readonly faults: readonly Fault[];
  /** Nodes that must work when half the trouble is over; a majority. */
  readonly healthy: readonly number[];
  /** What becomes of the others meanwhile. */
  readonly others: "down" | "cut" | "deaf" | "paused" | "healthy";
}
