/**
 * The public types around one lock: what can be asked for, and what is had once it is granted.
 */
import type { ClaimMode, LockMode } from "../protocol/index.js";
import type { Owner } from "./locks/owner.js";

/** What every kind of acquire takes. */
export interface HoldOptions {
  /**
   * How long to wait in the queue, counted from the call; `LOCK_TIMEOUT` after it. 0 – 2^32 − 1, or
   * `Infinity`. Default: for ever. 0: `LOCK_HELD` at once.
   */
  waitMs?: number | undefined;
  /** Aborting leaves the queue and rejects with the signal's reason. No effect after the grant. */
  signal?: AbortSignal | undefined;
  /**
   * A head start in the queue: so many seconds (a setting, `priorityStepMs`) earlier than now. An
   * urgent request overtakes, and those behind are not passed over for ever. 0 – 60. Default 0.
   */
  priority?: number | undefined;
  /**
   * What the same owner holds already, exactly these keys, is shared: one more handle, under the same
   * token, and nothing is asked of the cluster. Exclusive where it is shared so far is upgraded for it,
   * which changes the token of the outer handles too: writes that they have under way may be fenced
   * off. Some of the keys, or more than them, or more permits than are held, is `DEADLOCK`. Such
   * acquires of one owner go one after the other; one that does not wait is refused while another is
   * under way. Of options, only `waitMs`, `signal`, `detect` and the mode mean something then. Without
   * it an owner waits for itself: `DEADLOCK`. Default false.
   */
  reentrant?: boolean | undefined;
  /**
   * The hold ends so long after its grant, whatever its holder does. 1,000 – 2^32 − 1, or never.
   */
  maxHoldMs?: number | undefined;
  /** Its keys stay closed at least so long after the grant, however early it ends. Default 0. */
  minHoldMs?: number | undefined;
  /**
   * Its keys stay closed so long when it ends otherwise than by release, for what a dead holder had
   * under way. 0 – 60,000. Default 0.
   */
  lockDelayMs?: number | undefined;
  /** What others see beside the hold. At most 1 KiB. Default "". */
  value?: string | undefined;
  /** Whether it is refused with `DEADLOCK` where waiting would never end. Default true. */
  detect?: boolean | undefined;
  /** The task that asks (`client.owner()`, `lock.owner`). Default: one of its own. */
  owner?: Owner | undefined;
}

/** What `acquireAll` takes beside its keys. */
export interface AcquireAllOptions extends HoldOptions {
  /**
   * Ends whatever holds one of the keys, and goes ahead of all who wait. Exclusive locks only, and
   * not with `reentrant`. What is stolen may go on for a moment without knowing: only fencing
   * covers that.
   */
  steal?: boolean | undefined;
}

/** What `acquire` and `using` take: everything of `acquireAll`, and the mode of the one key. */
export interface AcquireOptions extends AcquireAllOptions {
  /** Default "exclusive". */
  mode?: LockMode | undefined;
}

/** A try does not wait, so it takes no `waitMs`. */
export type TryAcquireOptions = Omit<AcquireOptions, "waitMs">;
/** Inside a lock the owner is the lock's. */
export type NestedOptions = Omit<AcquireOptions, "owner">;

/** What a semaphore takes: permits cannot be stolen, and have no mode. */
export interface PermitOptions extends HoldOptions {
  /** How many of the semaphore's permits. 1 – 1,024. Default 1. */
  permits?: number | undefined;
}

/** A try does not wait, so it takes no `waitMs`. */
export type TryPermitOptions = Omit<PermitOptions, "waitMs">;

/** One key of `acquireAll`: a lock, or permits of a semaphore. */
export type WantedItem =
  | {
      readonly key: string;
      /** Default "exclusive". */
      readonly mode?: LockMode | undefined;
      readonly permits?: undefined;
      readonly limit?: undefined;
    }
  | {
      readonly key: string;
      /** 1 – 1,024, of all items of a request together. */
      readonly permits: number;
      /** 1 – 1,000,000; needed while nobody uses the key. */
      readonly limit?: number | undefined;
      readonly mode?: undefined;
    };

/** One key of what is held. */
export interface HeldItem {
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 of locks. */
  readonly permits: number;
  /** As many numbers of 0 … limit − 1, ascending; none of locks. */
  readonly slots: readonly number[];
}

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
  | "detached"
  | "exported"
  | "takenOver"
  | "unknown";

/** What `lock.upgrade` takes. */
export interface UpgradeOptions {
  /** Needed when several keys are held. */
  key?: string | undefined;
  /** As of an acquire. Default: for ever. */
  waitMs?: number | undefined;
  /** Aborting gives the wish up: the lock stays shared. */
  signal?: AbortSignal | undefined;
  /** As of an acquire: two holders that both want to upgrade wait for each other. Default true. */
  detect?: boolean | undefined;
}

/** What `lock.detach` takes. */
export interface DetachOptions {
  /** How long the ticket waits to be claimed. 1,000 – 600,000. Default 15,000. */
  ticketTtlMs?: number | undefined;
}

/** What every call takes that is answered at once. */
export interface CallOptions {
  /** Aborting rejects with the signal's reason; what was sent may still happen. */
  signal?: AbortSignal | undefined;
}

/** What `detach` makes of a hold: plain data, to be handed to whoever claims it. Keep it secret. */
export interface Ticket {
  readonly token: number;
  /** 32 hex digits: whoever knows them may claim the hold. */
  readonly secret: string;
}

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
