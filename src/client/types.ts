/**
 * The public types of the SDK.
 */
import type { EndReason, KeyView, LockMode, MembersView, MemberView } from "../protocol/index.js";

export interface ConnectOptions {
  /**
   * WebSocket URLs (`ws://host:port`, `wss://…`) of any nodes of one cluster; the client learns the
   * others. Default: the local cluster's, `ws://127.0.0.1:7411` to `:7413`.
   */
  endpoints?: readonly string[];
  /** Lease of the session: how long locks outlive a silent client. 1,000 – 600,000. Default 15,000. */
  ttlMs?: number;
  /** Shown to others that wait for what this client holds. At most 256 bytes. Default "". */
  name?: string;
  /** At most 1 KiB, shown by tools. Default "". */
  metadata?: string;
  /**
   * Whether to go to the leader, whichever endpoint was given. False: stay with the given endpoints
   * and learn no others, for proxies and for asking one certain node. Default true.
   */
  followLeader?: boolean;
  /** Gives up the first connection when aborted. */
  signal?: AbortSignal;
  /**
   * How long `connect` looks for a node that serves, and how long a try or a read waits for an
   * answer. 1 – 2^31 − 1. Default 10,000.
   */
  connectTimeoutMs?: number;
  /** Release everything and end the session on SIGTERM and SIGINT (Node only). Default false. */
  releaseOnExit?: boolean;
}

export interface AcquireOptions {
  /** Default "exclusive". */
  mode?: LockMode;
  /**
   * How long to wait in the queue, counted from the call; `LOCK_TIMEOUT` after it. 0 – 2^32 − 1, or
   * `Infinity`. Default: for ever. 0: `LOCK_HELD` at once.
   */
  waitMs?: number;
  /** Aborting leaves the queue and rejects with the signal's reason. No effect after the grant. */
  signal?: AbortSignal;
}

export type TryAcquireOptions = Omit<AcquireOptions, "waitMs">;

/** `reason`: why there was nothing left to release. */
export type ReleaseResult =
  | { readonly released: true }
  | { readonly released: false; readonly reason: LossReason };

/** Why a lock is not held any more. */
export type LossReason =
  | "released"
  | "expired"
  | "closed"
  | "cancelled"
  | "maxHold"
  | "revoked"
  | "stolen"
  | "unknown";

/** One granted lock. */
export interface Lock extends AsyncDisposable {
  readonly key: string;
  readonly mode: LockMode;
  /** The fencing token: larger than every token granted before. Send it with each write. */
  readonly token: number;
  /**
   * Aborted with a `HoldfastError` `LOCK_LOST` (`details.reason` says why) before anybody else can
   * hold the lock; by `release`, before it is sent, with an `AbortError`. Reading this property looks
   * at the clock too; a signal kept in a variable is aborted only when the event loop runs.
   */
  readonly signal: AbortSignal;
  /** Checks the deadline itself, not only what timers have noticed. */
  readonly isHeld: boolean;
  /**
   * Milliseconds, by this machine's clock, until the lock is given up unless its lease is renewed
   * before. 0 once it is lost or released.
   */
  readonly remainingMs: number;
  /** Throws `LOCK_LOST` unless held. */
  assertHeld(): void;
  /**
   * Gives the lock back. Safe to call twice, never rejects, never waits longer than the lease: what
   * cannot be told to the cluster until then resolves as `expired`.
   */
  release(): Promise<ReleaseResult>;
  /**
   * Another lock under the same owner. `LOCK_LOST` unless this one is held. Locks are not reentrant:
   * a key that this owner holds already is waited for like any other.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lock>;
  /** Like `client.using`, under the same owner. */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: AcquireOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
}

/** A connection to the cluster with one session. */
export interface Client extends AsyncDisposable {
  /** The session's number, 0 while there is none. */
  readonly session: number;
  /** All endpoints known by now. */
  readonly endpoints: readonly string[];
  /** Aborted when the client was closed, by `close` or for good reason by the cluster. */
  readonly closed: AbortSignal;
  /**
   * Waits in the queue of `key` and resolves when the lock is granted. Keeps the process running
   * while it waits or holds; an idle client does not.
   *
   * Rejects with the reason of `signal`, or with a `HoldfastError`: `LOCK_HELD`, `LOCK_TIMEOUT`,
   * `QUEUE_FULL`, `INVALID_ARGUMENT`; `BUSY` when the cluster refused it for a whole TTL;
   * `UNAVAILABLE` when `waitMs` is 0 and no node answered within `connectTimeoutMs`;
   * `SESSION_EXPIRED` when the session ended while it waited, and its place in the queue with it
   * (nothing is held; the next call uses a new session); `CANCELLED` when the client is closed.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lock>;
  /**
   * Like `acquire` with `waitMs: 0`, but resolves to `undefined` when another holds or waits.
   * `UNAVAILABLE` does not mean that it is held: no node answered within `connectTimeoutMs`.
   */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined>;
  /**
   * Runs `callback` while holding the lock and releases it afterwards, whatever happens. Rejects
   * with `LOCK_LOST` when the callback succeeded but the lock was lost before it ended.
   */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: AcquireOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  /** Who holds and who waits; linearizable. `UNAVAILABLE` without an answer in `connectTimeoutMs`. */
  inspect(key: string, options?: { signal?: AbortSignal }): Promise<KeyView>;
  /**
   * Every key in use whose name begins with `prefix`, in byte order; fetched page by page. Each page
   * is linearizable, all together are not one moment. `UNAVAILABLE` as with `inspect`.
   */
  query(prefix?: string, options?: { signal?: AbortSignal }): AsyncIterable<KeyView>;
  /**
   * Releases everything and ends the session. Never rejects. Waits for the cluster to say so for a
   * third of the TTL, at most 3,000 ms; without an answer what was held stays so until its lease ends.
   */
  close(): Promise<void>;
}

/** What a node tells about itself on `/status`. */
export interface NodeStatus {
  readonly id: number;
  /**
   * "learner": receives everything and decides nothing. "starting": reads its log. "quarantined":
   * its data are damaged, so it takes part in nothing until it is recovered.
   */
  readonly role:
    | "follower"
    | "learner"
    | "preCandidate"
    | "candidate"
    | "leader"
    | "starting"
    | "quarantined";
  readonly pid: number;
  readonly term: number;
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly endpoint: string;
  /** Of a quarantined node only. */
  readonly damage?: NodeDamage;
}

/** What is not as it was written, and where it was found. */
export interface NodeDamage {
  readonly file: string;
  readonly reason: string;
}

export type { EndReason, KeyView, LockMode, MembersView, MemberView };
