/**
 * What the bench needs from a peer: another system that is used for locks. The bench starts and
 * stops its servers, and the same workers load its clients.
 */
import type { MeasuredProcess } from "../measures/process-cpu.js";
import type { Making } from "../programs/cached-folder.js";
import type { LoadProgram } from "./load-program.js";
import type { PeerLoad } from "./peer-load.js";

/** In the order in which they are measured and shown. */
export const PEER_NAMES = [
  "redis",
  "redis-aof",
  "redlock",
  "redlock-client",
  "redis-door",
  "redlock-door",
  "http-door",
  "etcd",
  "zookeeper",
  "hazelcast",
  "postgres-advisory",
  "postgres-table",
] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** Releases a lock; false: it was lost before. */
export type GiveBack = () => Promise<boolean>;

/** One client of a peer. Locks are acquired with a unique value. */
export interface PeerClient {
  /** Waits until no other request has it. May still wait after the run is over. */
  acquire(key: string): Promise<GiveBack>;
  close(): Promise<void>;
}

export interface RunningPeer {
  /** Versions of its servers and of the client. */
  readonly versions: string;
  /** Its processes as they are now. */
  processes(): readonly MeasuredProcess[];
  /** Synced writes of all its servers so far; `undefined` if they do not report them. */
  syncs(): Promise<number | undefined>;
  /** Rejects if a server ends by itself; never resolves. */
  readonly death: Promise<never>;
  /** Clients in this process, or a program that makes the load with a client in another language. */
  connect(load: PeerLoad): Promise<PeerClient[] | LoadProgram>;
  stop(): Promise<void>;
}

export interface PeerKind {
  /** One line: nodes, what is durable where. */
  readonly about: string;
  /** The most connections it is measured with, and why. */
  readonly connectionsMax?: { readonly count: number; readonly reason: string };
  /** What is missing on this machine, and how to install it; `undefined`: nothing. */
  missing(): string | undefined;
  /** Why it cannot be loaded at a fixed rate. */
  readonly closedLoopsOnly?: string;
  /** Builds and fetches its programs, once for all runs. */
  prepare?(making: Making): Promise<void>;
  /** `directory`: an empty one, removed by the caller. */
  start(directory: string, signal: AbortSignal): Promise<RunningPeer>;
}
