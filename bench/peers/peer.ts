/**
 * What the bench needs of a peer: a system that people use for locks instead of this one. Its
 * servers are started and stopped by the bench, its clients are loaded by the same workers.
 */
import type { MeasuredProcess } from "../measures/process-cpu.js";

/** In the order in which they are measured and shown. */
export const PEER_NAMES = [
  "redis",
  "redis-aof",
  "redlock",
  "etcd",
  "zookeeper",
  "postgres-advisory",
  "postgres-table",
] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** What is asked of the peer: the locks of one run, and whether workers meet on them. */
export interface PeerLoad {
  readonly connections: number;
  readonly workers: number;
  /** Each is acquired at some time. */
  readonly keys: readonly string[];
  /** False: each worker has locks of its own, and nobody ever waits for another. */
  readonly isShared: boolean;
  readonly signal: AbortSignal;
}

/** Gives a lock back; false: it was lost before. */
export type GiveBack = () => Promise<boolean>;

/** One client of a peer. Locks are acquired under a value that is nobody else's. */
export interface PeerClient {
  /** Waits until nobody else has it. May go on waiting after the run is over. */
  acquire(key: string): Promise<GiveBack>;
  close(): Promise<void>;
}

export interface RunningPeer {
  /** Its processes as they are now. */
  processes(): readonly MeasuredProcess[];
  /** Synced writes of all its servers so far; `undefined` where they do not tell. */
  syncs(): Promise<number | undefined>;
  /** Rejects when a server ends by itself; never resolves. */
  readonly death: Promise<never>;
  connect(load: PeerLoad): Promise<PeerClient[]>;
  stop(): Promise<void>;
}

export interface PeerKind {
  /** One line: version, nodes, what is durable where. */
  readonly about: string;
  /** Beyond that it is not measured, and why. */
  readonly connectionsMax?: { readonly count: number; readonly reason: string };
  /** What is missing on this machine, and how to get it; `undefined`: nothing. */
  missing(): string | undefined;
  /** `directory`: an empty one, removed by the caller. */
  start(directory: string, signal: AbortSignal): Promise<RunningPeer>;
}
