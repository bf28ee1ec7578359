/**
 * The public types of holds: a lock, its events and results, and a semaphore. The options of their
 * calls are in `options/lock-options.ts`, their behaviour in `held-lock.ts` and `semaphore.ts`.
 */
import type { ClaimMode } from "../../protocol/index.js";
import type { LossReason } from "../failures.js";
import type { CallOptions } from "../options/checks.js";
import type { HandedOver, HandOverOptions } from "../options/hand-over-options.js";
import type {
  HeldItem,
  NestedOptions,
  PermitOptions,
  TryPermitOptions,
  UpgradeOptions,
} from "../options/lock-options.js";
import type { Task } from "../options/task.js";

/** `reason`: why there was nothing left to release. */
export type ReleaseResult =
  | { readonly released: true }
  | { readonly released: false; readonly reason: LossReason };

/** An operator takes the lock away. */
export interface Revocation {
  /** Text for people; may be empty. */
  readonly reason: string;
  /** How long the lock was still held, by this machine's clock, when the message came. */
  readonly remainingMs: number;
}

/**
 * `contended`: the first request began to wait for this hold. `revoking`: the lock will be taken
 * away; release it before `remainingMs` is 0.
 */
export interface LockEvents {
  contended: undefined;
  revoking: Revocation;
}

/**
 * One granted lock, of one or several keys. Each acquire has its own handle, which is released
 * once; handles of one reentrant hold end together if the hold is lost. Calls on a lock take effect
 * in the order in which they are made. Where a node has no room, a call that gives something back
 * may pass an `update` or an upgrade that was called before it; the passed call then fails and is
 * not sent later.
 */
export interface Lock extends AsyncDisposable {
  /** The first of its keys. */
  readonly key: string;
  readonly keys: readonly string[];
  readonly items: readonly HeldItem[];
  /**
   * The mode of the first key, as this handle asked for it; "permits" for a semaphore. Changed by
   * `upgrade` and `downgrade`. The hold is as strong as the strongest of its handles.
   */
  readonly mode: ClaimMode;
  /** The slots of the first key that it holds in the semaphore; empty for a lock. */
  readonly slots: readonly number[];
  /**
   * The fencing token: larger than every token granted before. Send it with each write; an upgrade
   * replaces it, so read it again for each write.
   */
  readonly token: number;
  /** The task that holds it. Pass it to other acquires of the same task. */
  readonly task: Task;
  /** The value that others see with the hold. */
  readonly value: string;
  /**
   * Aborted with a `HoldfastError` `LOCK_LOST` (`details.reason` says why) before another task can
   * hold the lock, unless it was stolen or revoked at once. `release` and `handOver` abort it with an
   * `AbortError` before they are sent. Reading this property also checks the clock; a signal kept
   * in a variable is aborted only when the event loop runs.
   */
  readonly signal: AbortSignal;
  /** Checks the deadline itself, not only what timers have noticed. */
  readonly isHeld: boolean;
  /** Whether a request waits for it, as far as the client has heard. */
  readonly isContended: boolean;
  /**
   * Milliseconds, by this machine's clock, until the lock is given up unless its lease is renewed
   * before; a renewal does not extend `maxHoldMs` or a revoke. 0 once it is lost or released.
   */
  readonly remainingMs: number;
  /** Throws `LOCK_LOST` unless held. */
  assertHeld(): void;
  /**
   * Gives the lock back. Safe to call twice. Never rejects, and never waits longer than the lease:
   * if the cluster cannot be reached until then, it resolves with reason `expired`. A reentrant
   * hold ends with the last of its handles; before that, it is downgraded to what the others need.
   */
  release(): Promise<ReleaseResult>;
  /**
   * Shared becomes exclusive, ahead of the queue, under a new `token`. It waits for other shared
   * holders to release; until then, and if it fails, the lock stays shared. Resolves at once if it
   * is exclusive already. Rejects with the signal's reason, `LOCK_LOST`, or `LOCK_HELD`,
   * `LOCK_TIMEOUT`, `DEADLOCK`, `NOT_HELD`, `WRONG_KIND` (permits), `QUOTA`, `BUSY`, and with
   * `CANCELLED` if this handle is downgraded meanwhile.
   */
  upgrade(options?: UpgradeOptions): Promise<void>;
  /**
   * Exclusive becomes shared, in place and at once, and a waiting upgrade of this handle is
   * cancelled; without `key`, in all keys. Other handles of the hold keep what they need. Rejects
   * with `LOCK_LOST`, `NOT_HELD`, `WRONG_KIND` (permits) or `UNAVAILABLE` without an answer in
   * `connectTimeoutMs`.
   */
  downgrade(key?: string): Promise<void>;
  /**
   * Changes the value that others see: at most 1 KiB. Rejects with `LOCK_LOST`, `NOT_HELD` or
   * `UNAVAILABLE` without an answer in `connectTimeoutMs`.
   */
  update(value: string, options?: CallOptions): Promise<void>;
  /**
   * Hands the hold over, as a whole: nobody else gets its keys in between. The data that it resolves
   * to let any process go on with it by `client.adopt`, within `ttlMs`; they are a secret. With
   * `owner` the hold becomes the lease of that owner instead, and there is nothing to adopt.
   *
   * As soon as a node can be asked, `signal` is aborted, and this handle and the others
   * of the hold hold nothing. Rejects with `UNAVAILABLE` if no node is there for `connectTimeoutMs`,
   * and the lock stays; with `LOCK_LOST`. With `LOCK_HELD` (that owner has something in one of the
   * keys already), `FORBIDDEN`, `QUOTA`, `INVALID_ARGUMENT` (`ttlMs`) and `TOKENS_EXHAUSTED` the lock
   * is released. If the answer is lost, the data say so (`confirmed`), and the process that adopts
   * learns the truth; with `owner` it rejects with `UNAVAILABLE` then (`indeterminate`).
   */
  handOver(options?: HandOverOptions & { owner?: undefined }): Promise<HandedOver>;
  handOver(options: HandOverOptions & { owner: string }): Promise<undefined>;
  handOver(options?: HandOverOptions): Promise<HandedOver | undefined>;
  /**
   * Calls `listener` when the event happens, for `contended` only once; at once if it happened
   * before. Returns a function that removes the listener.
   */
  on<Name extends keyof LockEvents>(
    event: Name,
    listener: (detail: LockEvents[Name]) => void,
  ): () => void;
  /** Acquires another lock for the same task. `LOCK_LOST` unless this one is held. */
  acquire(key: string, options?: NestedOptions): Promise<Lock>;
  /** Like `client.using`, for the same task. */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: NestedOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
}

/** Permits of one key. Rejects like `client.acquire`, and with `LIMIT_MISMATCH`. */
export interface Semaphore {
  readonly key: string;
  /** Waits for permits. `INVALID_ARGUMENT` for more than the limit. */
  acquire(options?: PermitOptions): Promise<Lock>;
  /** Resolves to `undefined` if they are not available at once. */
  tryAcquire(options?: TryPermitOptions): Promise<Lock | undefined>;
  using<T>(callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(options: PermitOptions, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  /**
   * Makes the limit, 1 – 1,000,000, a permanent setting of the key; `undefined` removes it once the
   * key is idle. If the limit falls, holders keep their permits, and waiting requests for more than
   * the limit are refused with `INVALID_ARGUMENT`.
   */
  setLimit(limit: number | undefined, options?: CallOptions): Promise<void>;
}
