/**
 * What observers of a process learn about a client's calls: one channel for each kind of call, and
 * what its context says. Only Node has such channels (`node-tracing.ts`); where nobody observes, a
 * call costs one look at `hasSubscribers`. A context must never contain a secret: no access token,
 * no nonce, no secret of a bearer.
 */
import type { ClaimMode } from "../../protocol/index.js";

/** What all contexts have. One object accompanies a call from its `start` to its `asyncEnd`. */
export interface TraceContext {
  /** What the call resolved to; set before `asyncStart`. */
  result?: unknown;
  /** Why it failed; set before `error`. */
  error?: unknown;
}

/** The context of `holdfast:acquire`: a call that asks the cluster for a lock, or for more of it. */
export interface AcquireTrace extends TraceContext {
  /**
   * `tryAcquire`: it does not wait. `acquireAll`: several keys at once. `adopt`: a hold that was handed over.
   * `upgrade`: shared becomes exclusive. Everything else is `acquire`: also permits, campaigns of
   * elections and Web Locks.
   */
  readonly operation: "acquire" | "tryAcquire" | "acquireAll" | "adopt" | "upgrade";
  /** For a hold that is adopted they are known when it has been. */
  keys: readonly string[];
  /** The mode of the first key. */
  mode: ClaimMode | undefined;
  /** The number of the task within its session. */
  readonly task: number;
  /** How long it may wait; `undefined`: forever. */
  readonly waitMs: number | undefined;
  /** The number of the session when it was called; 0: there was none. */
  readonly session: number;
  /** The node to which the client was connected when it was called; "" while there was none. */
  readonly endpoint: string;
  /** The fencing token, if the lock was granted; set before `asyncStart`. */
  token?: number;
}

/** The context of `holdfast:release`: the first `release` of a handle that is held. */
export interface ReleaseTrace extends TraceContext {
  readonly keys: readonly string[];
  /** The mode of the first key. */
  readonly mode: ClaimMode;
  readonly task: number;
  readonly token: number;
  readonly session: number;
  readonly endpoint: string;
}

/** The context of `holdfast:connect`. */
export interface ConnectTrace extends TraceContext {
  /** `connect`: a client. `connectAdmin`: a connection without a session. */
  readonly operation: "connect" | "connectAdmin";
  /** The endpoints that were given. */
  readonly endpoints: readonly string[];
  /** Shown to others with the client's locks. */
  readonly name: string;
  /** The node that serves the client; set before `asyncStart` if there is one. */
  endpoint?: string;
  /** The number of the new session; set before `asyncStart` if there is one. */
  session?: number;
}

/** The context of `holdfast:using`: a `using` from its acquire to the end of its release. */
export interface UsingTrace extends TraceContext {
  /** Set when the lock is granted, since its options are not read before. */
  keys?: readonly string[];
  /** Likewise. */
  token?: number;
}

/** Informs observers of calls of one kind. */
export interface TraceChannel<Context extends TraceContext> {
  /** Whether anything observes it. Look here before a context is made. */
  readonly hasSubscribers: boolean;
  /** Runs `work` and reports its beginning and end. An observer that throws changes neither. */
  trace<T>(context: Context, work: () => Promise<T>): Promise<T>;
}

/** All channels of the SDK. */
export interface Tracing {
  readonly acquire: TraceChannel<AcquireTrace>;
  readonly release: TraceChannel<ReleaseTrace>;
  readonly connect: TraceChannel<ConnectTrace>;
  readonly using: TraceChannel<UsingTrace>;
}
