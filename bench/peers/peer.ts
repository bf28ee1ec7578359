/**
 * What the bench needs from a peer: another system that is used for locks. The bench starts and
 * stops its servers, and the same workers load its clients.
 */
import type { MeasuredProcess } from "../measures/process-cpu.js";

/** In the order in which they are measured and shown. */
export const PEER_NAMES = [
  "redis",
  "redis-aof",
  "redlock",
  "redlock-client",
  "redlock-door",
  "http-door",
  "etcd",
  "zookeeper",
  "postgres-advisory",
  "postgres-table",
] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** The load of the peer: the locks of one run, and whether workers compete for them. */
export interface PeerLoad {
  readonly connections: number;
  readonly workers: number;
  /** Each is acquired at some time. */
  readonly keys: readonly string[];
  /** False: each worker has locks of its own, and never waits for another. */
  readonly isShared: boolean;
  readonly signal: AbortSignal;
}

/** Releases a lock; false: it was lost before. */
export type GiveBack = () => Promise<boolean>;

/** One client of a peer. Locks are acquired with a unique value. */
export interface PeerClient {
  /** Waits until no other request has it. May still wait after the run is over. */
  acquire(key: string): Promise<GiveBack>;
  close(): Promise<void>;
}

export interface RunningPeer {
  /** Its processes as they are now. */
  processes(): readonly MeasuredProcess[];
  /** Synced writes of all its servers so far; `undefined` if they do not report them. */
  syncs(): Promise<number | undefined>;
  /** Rejects if a server ends by itself; never resolves. */
  readonly death: Promise<never>;
  connect(load: PeerLoad): Promise<PeerClient[]>;
  stop(): Promise<void>;
}

export interface PeerKind {
  /** One line: version, nodes, what is durable where. */
  readonly about: string;
  /** The most connections it is measured with, and why. */
  readonly connectionsMax?: { readonly count: number; readonly reason: string };
  /** What is missing on this machine, and how to install it; `undefined`: nothing. */
  missing(): string | undefined;
  /** `directory`: an empty one, removed by the caller. */
  start(directory: string, signal: AbortSignal): Promise<RunningPeer>;
}
