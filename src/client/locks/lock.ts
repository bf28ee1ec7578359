/**
 * The public types of what is held: a lock, its events and ends, and a semaphore. What callers pass to
 * them is `options/lock-options.ts`; how they behave, `held-lock.ts` and `semaphore.ts`.
 */
import type { ClaimMode } from "../../protocol/index.js";
import type { LossReason } from "../failures.js";
import type { CallOptions } from "../options/checks.js";
import type {
  DetachOptions,
  HeldItem,
  NestedOptions,
  PermitOptions,
  Ticket,
  TryPermitOptions,
  UpgradeOptions,
} from "../options/lock-options.js";
import type { Owner } from "../options/owner.js";

/** `reason`: why there was nothing left to release. */
export type ReleaseResult =
  | { readonly released: true }
  | { readonly released: false; readonly reason: LossReason };

/** An operator takes the lock away. */
export interface Revocation {
  /** For people; may be empty. */
  readonly reason: string;
  /** How long the lock was still held by this machine's clock when the word came. */
  readonly remainingMs: number;
}

/**
 * `contended`: the first request began to wait behind this hold. `revoking`: the lock will be taken
 * away; release it in peace before `remainingMs` is 0.
 */
export interface LockEvents {
  contended: undefined;
  revoking: Revocation;
}

/**
 * One granted lock, of one key or several. Each acquire has a handle of its own, which is released
 * once; handles of one reentrant hold share its fate. Calls on a lock take effect in the order in
 * which they are made. Where a node has no room, what gives something back may pass an `update` or an
 * upgrade that was called before it; that one fails then, and does not follow.
 */
export interface Lock extends AsyncDisposable {
  /** The first of its keys. */
  readonly key: string;
  readonly keys: readonly string[];
  readonly items: readonly HeldItem[];
  /**
   * Of the first key, as this handle asked for it; "permits" of a semaphore. Changed by `upgrade` and
   * `downgrade`. The hold is as strong as the strongest of its handles.
   */
  readonly mode: ClaimMode;
  /** Of the first key: its numbers among the semaphore's slots; none of a lock. */
  readonly slots: readonly number[];
  /**
   * The fencing token: larger than every token granted before. Send it with each write; an upgrade
   * replaces it, so read it anew each time.
   */
  readonly token: number;
  /** Of one task: give it to other acquires that belong to the same one. */
  readonly owner: Owner;
  /** What others see beside the hold. */
  readonly value: string;
  /**
   * Aborted with a `HoldfastError` `LOCK_LOST` (`details.reason` says why) before anybody else can
   * hold the lock, unless it was stolen or revoked at once; by `release` and `detach`, before they
   * are sent, with an `AbortError`. Reading this property looks at the clock too; a signal kept in
   * a variable is aborted only when the event loop runs.
   */
  readonly signal: AbortSignal;
  /** Checks the deadline itself, not only what timers have noticed. */
  readonly isHeld: boolean;
  /** Whether somebody waits behind it, as far as was told. */
  readonly isContended: boolean;
  /**
   * Milliseconds, by this machine's clock, until the lock is given up unless its lease is renewed
   * before; a cap or a revoke is not renewed. 0 once it is lost or released.
   */
  readonly remainingMs: number;
  /** Throws `LOCK_LOST` unless held. */
  assertHeld(): void;
  /**
   * Gives the lock back. Safe to call twice, never rejects, never waits longer than the lease: what
   * cannot be told to the cluster until then resolves as `expired`. A reentrant hold ends with the
   * last of its handles; what the others do not need is downgraded.
   */
  release(): Promise<ReleaseResult>;
  /**
   * Shared becomes exclusive, ahead of the queue, under a new `token`; what else is shared is
   * waited for, and the lock stays shared until then and when it fails. Resolves at once when it is
   * exclusive. Rejects with the reason of `signal`, `LOCK_LOST`, or `LOCK_HELD`, `LOCK_TIMEOUT`,
   * `DEADLOCK`, `NOT_HELD`, `WRONG_KIND` (permits), `QUOTA`, `BUSY`, and with `CANCELLED` when this
   * handle is downgraded meanwhile.
   */
  upgrade(options?: UpgradeOptions): Promise<void>;
  /**
   * Exclusive becomes shared, in place and at once, and an upgrade of this handle that waits is
   * cancelled; by default in all keys. Other handles of the hold keep what they need. Rejects with
   * `LOCK_LOST`, `NOT_HELD`, `WRONG_KIND` (permits) or `UNAVAILABLE` without an answer in
   * `connectTimeoutMs`.
   */
  downgrade(key?: string): Promise<void>;
  /**
   * Changes the value that others see: at most 1 KiB. Rejects with `LOCK_LOST`, `NOT_HELD` or
   * `UNAVAILABLE` without an answer in `connectTimeoutMs`.
   */
  update(value: string, options?: CallOptions): Promise<void>;
  /**
   * Leaves the lock to whoever claims it, in this process or another, without anybody getting in
   * between. Aborts `signal` first: this handle, and others of the same hold, hold nothing from
   * then on. An unclaimed ticket ends like an expired lease. Rejects with `LOCK_LOST`, also when the
   * cluster could not be told while the lease lasted; should it hear of it later all the same, that
   * ticket is nobody's and ends.
   */
  detach(options?: DetachOptions): Promise<Ticket>;
  /**
   * Calls `listener` when it happens, once for `contended`; at once if it happened before. Returns
   * how to stop.
   */
  on<Name extends keyof LockEvents>(
    event: Name,
    listener: (detail: LockEvents[Name]) => void,
  ): () => void;
  /** Another lock under the same owner. `LOCK_LOST` unless this one is held. */
  acquire(key: string, options?: NestedOptions): Promise<Lock>;
  /** Like `client.using`, under the same owner. */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: NestedOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
}

/** Permits of one key. Codes beyond those of `client.acquire`: `LIMIT_MISMATCH`. */
export interface Semaphore {
  readonly key: string;
  /** Waits for permits. `INVALID_ARGUMENT` for more than the limit. */
  acquire(options?: PermitOptions): Promise<Lock>;
  /** `undefined` when they cannot be had at once. */
  tryAcquire(options?: TryPermitOptions): Promise<Lock | undefined>;
  using<T>(callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(options: PermitOptions, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  /**
   * Makes the limit, 1 – 1,000,000, a setting of the key that stays; `undefined` forgets it once
   * the key is idle. Who holds goes on when it falls; who waits for more is refused
   * `INVALID_ARGUMENT`.
   */
  setLimit(limit: number | undefined, options?: CallOptions): Promise<void>;
}
