/**
 * Leases of named owners (semantics.md, 8): holds that belong to no session, so that a later
 * process, or a client of another kind, can extend them and give them back. This is the interface;
 * the doors of a node (HTTP, Redis) and `holdfast lease` use it too.
 */
import type { ExtendMode } from "../../protocol/index.js";
import type { LossReason } from "../failures.js";
import type { LeaseStep } from "../options/lease-options.js";
import type { WantedItem } from "../options/lock-options.js";

/** What every command on a lease names. */
export interface LeaseOwnerOptions {
  /**
   * Names the owner, and proves it: 1 … 1,024 bytes of UTF-8. Anyone who knows it can end the
   * lease, so it should be random. Only its digest leaves this process.
   */
  readonly owner: string;
  /**
   * Aborting leaves. What a take would have got is given back, unless a repeat has it; a lease that
   * was granted when the session was lost just then ends by itself.
   */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `leases.take`. */
export interface TakeLeaseOptions extends LeaseOwnerOptions {
  /**
   * How long the lease lasts, in milliseconds: 1 … the setting `leaseTtlMsMax` (86,400,000: a day). 0 means
   * without end, and needs the setting `endlessLeases`.
   */
  readonly ttlMs: number;
  /**
   * How long it may wait for the grant, in milliseconds; 0: not at all; `undefined`: forever.
   */
  readonly waitMs?: number | undefined;
  /**
   * Names this request of the owner, 1 … 1,024 bytes of UTF-8: a repeat with the same one gets the
   * same lease, and for a minute after `giveBack` it gets nothing (`NOT_HELD`), so that a late copy
   * takes no lock for nobody. If it is the owner itself, it is repeated on purpose, and that does not
   * count. Default: random.
   */
  readonly request?: string | undefined;
  /** What others see of the owner, at most 256 bytes of UTF-8. */
  readonly name?: string | undefined;
  /** A text that others see with the lease, at most 1,024 bytes of UTF-8. */
  readonly value?: string | undefined;
  /** As of an acquire. */
  readonly priority?: number | undefined;
  readonly maxHoldMs?: number | undefined;
  readonly minHoldMs?: number | undefined;
  readonly lockDelayMs?: number | undefined;
}

/** A lease that was granted, or found. */
export interface Lease {
  /** The fencing token. */
  readonly token: number;
  /**
   * How long after the *beginning of this call* no other client is granted the lock, in
   * milliseconds, less the margin for clocks; `Infinity` for a lease without end. May be negative
   * or nearly over after a long wait: then extend before relying on it.
   */
  readonly trustMs: number;
  /** The same without the margin: when the lease ends, if the clocks run at one rate. */
  readonly endsInMs: number;
  /** The slots of each semaphore item, in order. */
  readonly slots: readonly (readonly number[])[];
}

/** The leases of `leases.takeEach`; `token` is the first of them. */
export interface SplitLease extends Lease {
  /** One for each item. */
  readonly tokens: readonly number[];
}

/** The options of `leases.extend`. */
export interface ExtendLeaseOptions extends LeaseOwnerOptions {
  /**
   * In milliseconds, up to the setting `leaseTtlMsMax`. 0 is without end, and needs the setting
   * `endlessLeases`; not with the mode "add".
   */
  readonly ttlMs: number;
  /** Default: "atLeast". See `ExtendMode`. */
  readonly mode?: ExtendMode | undefined;
}

/** What became of one of the leases of `leases.extend`. */
export interface ExtendedLeaseOf {
  readonly token: number;
  /** As of a `Lease`. */
  readonly trustMs: number;
  readonly endsInMs: number;
}

/** The options of `leases.giveBack`. */
export interface GiveBackOptions extends LeaseOwnerOptions {
  /**
   * A lease that a take of this client returned: nothing else is ended, and not even that once a
   * repeat of the take was given it, or in another session of this client.
   */
  readonly only?: Lease | undefined;
}

/** What `leases.giveBack` has ended. */
export interface GivenBack {
  /** In how many of the keys a lease ended. */
  readonly count: number;
  /** In how many of the keys a wait ended. */
  readonly waits: number;
  /** Why the owner had nothing in the first key in which it had nothing; `undefined`: in none. */
  readonly reason: LossReason | "released" | undefined;
}

/** `client.leases`: locks of named owners, which no session holds. */
export interface Leases {
  /**
   * Takes the lock of `key` exclusively, or all of 1 – 16 items in one step, as one lease with one
   * token. Rejects like `acquire`: `LOCK_HELD` (`details.isSameOwner` if the owner has it by
   * another request), `NOT_HELD` when it was given back, `LOCK_TIMEOUT`, `QUEUE_FULL`, `QUOTA`, `WRONG_KIND`, `LIMIT_MISMATCH`,
   * `INVALID_ARGUMENT`, `FORBIDDEN`, `BUSY`; `CANCELLED` when a repeat took the wait over or the
   * client is closed; `UNAVAILABLE` without an answer within `connectTimeoutMs`, and
   * `SESSION_EXPIRED` when the session of a wait ended. With `details.indeterminate` in the last
   * two, the lease may have been granted: a repeat with the same `request` finds it.
   */
  take(key: string | readonly WantedItem[], options: TakeLeaseOptions): Promise<Lease>;
  /** Takes a lease of each item at once, all or none. Rejects like `take`; it never waits. */
  takeEach(
    items: readonly WantedItem[],
    options: Omit<TakeLeaseOptions, "waitMs">,
  ): Promise<SplitLease>;
  /**
   * Moves the ends of the owner's leases in all of 1 – 16 keys. Rejects with `NOT_HELD`
   * (`details.reason`, a `LossReason`) if it has none in one of them: then nothing has changed.
   * `INVALID_ARGUMENT` above the setting `leaseTtlMsMax`; `UNAVAILABLE` like a take.
   */
  extend(
    keys: string | readonly string[],
    options: ExtendLeaseOptions,
  ): Promise<readonly ExtendedLeaseOf[]>;
  /**
   * Ends the owner's leases and waits in 1 – 16 keys. Having none is not an error. A lease of
   * several keys ends as a whole. Rejects with `UNAVAILABLE` like a take.
   */
  giveBack(keys: string | readonly string[], options: GiveBackOptions): Promise<GivenBack>;
  /**
   * Compares 1 – 16 different keys, and takes, changes, extends and ends leases if all are so: in one
   * step, or nothing. A key is taken like by a try, if nobody waits for it. Resolves to the token of
   * each step's lease, 0 where there is none now; `undefined`: a key was not so. Rejects with `QUOTA`,
   * `INVALID_ARGUMENT`, `FORBIDDEN`, `BUSY`, `UNAVAILABLE` like a take.
   */
  compareAndAct(
    steps: readonly LeaseStep[],
    options?: { readonly signal?: AbortSignal | undefined },
  ): Promise<readonly number[] | undefined>;
}
