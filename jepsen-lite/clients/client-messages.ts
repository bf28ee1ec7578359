/**
 * Messages between the harness and a client process: lines of JSON, over the client's standard
 * input and output. A client writes the line of an invocation before it acts and the line of a
 * completion after it, synchronously, so that a kill loses completions and never invocations.
 */
import type { HistoryEvent } from "../history/history-event.js";
import type { Discovery, SystemName } from "../systems/system.js";

/** The configuration of a client process; its only argument, as JSON. */
export interface ClientPlan {
  readonly client: number;
  /** Starts of this client so far; a killed client is started again as another one. */
  readonly life: number;
  readonly seed: number;
  /** The system under attack. */
  readonly system: SystemName;
  /** `host:port` of each node, in the order of their ids. */
  readonly endpoints: readonly string[];
  /** `host:port` of the Redis port of each node, if the nodes have one. */
  readonly redisEndpoints: readonly string[];
  /** The node to ask, in systems in which only one can be asked. */
  readonly primary: number;
  readonly followLeader: boolean;
  /** In systems in which clients find the node to ask by themselves. */
  readonly discovery?: Discovery;
  readonly workloads: readonly string[];
  /** Modules of workloads that are not built in. */
  readonly modules: readonly string[];
  readonly keys: number;
  readonly workers: number;
  readonly ttlMs: number;
  readonly isFenced: boolean;
  /** Port of the store, 0 if no workload needs it, and how long to think between its calls. */
  readonly storePort: number;
  readonly storeHost: string;
  /** The file of access tokens; "" in an open cluster. */
  readonly keyring: string;
  /** `process.hrtime` at which the run began, in nanoseconds. */
  readonly originNs: string;
}

export type ClientOrder =
  /** Begin no more operations, finish those that were begun, do the final reads, end. */
  | { readonly order: "finish" }
  /** From now on this node is the one to ask. */
  | { readonly order: "primary"; readonly node: number }
  /** The client's own wall clock jumps by this much. */
  | { readonly order: "clock"; readonly offsetMs: number }
  /** From now on the client's own clocks, except the wall clock, run at this rate. */
  | { readonly order: "rate"; readonly rate: number };

export type ClientLine =
  | HistoryEvent
  /** Everything up to this time was reported. */
  | { readonly mark: number }
  /** It has its session and begins to work. */
  | { readonly ready: number }
  /** It could not continue: a bug in a workload or in the SDK, which fails the run. */
  | { readonly failed: string };
