/** The view that the parts of a world have of it: options, time, random numbers. Types only. */
import type { Timeline } from "../../../lab/simulated/timeline.js";
import type { ClientLimits, NodeTuning } from "../../../src/server/index.js";

export interface WorldOptions {
  readonly seed: number;
  /** The number of founders, which are 1 … `nodeCount`. */
  readonly nodeCount: number;
  /** Nodes with the next numbers, which wait for a leader once they are started. */
  readonly joinerCount: number;
  /** One way, between any two processes. */
  readonly latencyMs: number;
  /** One synced write; 0: each is done at once. */
  readonly diskMs: number;
  readonly tuning: Partial<NodeTuning>;
  /** How long every node keeps its audit; `undefined`: none does. */
  readonly auditKeepMs: number | undefined;
  /** Prefixes of keys that are measured apart. */
  readonly metricsPrefixes: readonly string[];
  /** Limits of the clients of each identity and address. Default: none. */
  readonly limits: Partial<ClientLimits> | undefined;
  /** Takes a line of the trace of every node. */
  readonly trace: ((line: string) => void) | undefined;
}

export interface WorldTime extends Timeline {
  readonly options: WorldOptions;
  readonly random: () => number;
  /** Settles a promise that production code waits for. */
  settle(resolve: () => void): void;
  /** Runs until `isReached`; fails after `limitMs` of this world's time, with the story so far. */
  until(what: string, isReached: () => boolean, limitMs?: number): Promise<void>;
}
