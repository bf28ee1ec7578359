/**
 * The types of the Web Locks API (W3C, "Web Locks API", sections 3.2 and 3.3), written down here so
 * that the package needs nothing of the platform's own types. A `LockManager` of these is one of
 * TypeScript's `lib.dom` too, as far as `request` and `query` go.
 */
import type { LockMode } from "../../protocol/index.js";

/** What `request` can be told. A member that is absent or `undefined` has its default. */
export interface LockRequestOptions {
  /** Default "exclusive". */
  mode?: LockMode | undefined;
  /** Not to wait: without the lock the callback is called with `null`. Default false. */
  ifAvailable?: boolean | undefined;
  /**
   * Ends whatever holds the name, and goes ahead of all who wait. The callbacks of those who held it
   * go on; only fencing covers that. Exclusive only, and neither with `ifAvailable` nor `signal`.
   * Default false.
   */
  steal?: boolean | undefined;
  /**
   * Gives the request up, with the signal's reason, as long as it was not granted. Not with
   * `ifAvailable`.
   */
  signal?: AbortSignal | undefined;
}

/** What the callback is given: the `Lock` of the specification, and what a cluster adds to it. */
export interface RequestedLock {
  /** As it was asked for, whatever characters it has. */
  readonly name: string;
  readonly mode: LockMode;
  /**
   * Beyond the specification: the fencing token, larger than every token granted before. Send it
   * with each write.
   */
  readonly token: number;
  /**
   * Beyond the specification: aborted with a `HoldfastError` `LOCK_LOST` before anybody else can
   * hold the lock, unless it was stolen or revoked at once; with an `AbortError` when the callback
   * has ended.
   */
  readonly signal: AbortSignal;
}

/** `null`: it was asked for with `ifAvailable`, and is not to be had. */
export type LockGrantedCallback<T> = (lock: RequestedLock | null) => T;

/** One lock that is held or waited for, in a snapshot. */
export interface LockInfo {
  name: string;
  mode: LockMode;
  /** Of the client's session: its number, as `client.session`, in decimal digits. */
  clientId: string;
}

/** What `query` tells. */
export interface LockManagerSnapshot {
  /** In the order in which they were granted. */
  held: LockInfo[];
  /** In the order in which they were asked for. */
  pending: LockInfo[];
}

/**
 * The `LockManager` of the Web Locks API, for all clients of the cluster instead of those of one
 * origin: what is written for `navigator.locks` runs with `client.locks`. It has names of its own,
 * apart from the keys of `client.acquire`; tools show them under `~locks/`. Its class and that of
 * its locks have the shape that Web IDL gives the interfaces `LockManager` and `Lock`: nobody makes
 * one of them.
 */
export interface LockManager {
  /**
   * Waits for the lock, calls `callback` with it, and releases it when the callback's promise
   * settles. Resolves or rejects as the callback does, once the lock was released.
   *
   * `name` is any string that does not begin with "-": of at most 505 bytes in UTF-8, where control
   * characters, lone surrogates and `~` count five. Requests of a name are granted in the order in
   * which they reached the cluster. Each is a task of its own, and no deadlock is looked for: asking
   * within the callback for the same name waits for ever, as the specification says.
   *
   * Rejects without calling `callback`, checked in this order: with a `TypeError` for arguments of a
   * wrong type; with a `DOMException` `NotSupportedError` for a name that begins with "-" or is too
   * long, for `steal` with `ifAvailable` or with a mode that is not exclusive, and for `signal` with
   * either; with the reason of `signal`. What only a cluster can tell is a `HoldfastError`, whose
   * `details` have the `name`, and the `key` under which tools know it:
   * `QUEUE_FULL` and `QUOTA` as of `client.acquire`; `BUSY`; `UNAVAILABLE` when no node answered an
   * `ifAvailable` in `connectTimeoutMs`, while every other request waits on until the cluster is
   * back; `SESSION_EXPIRED` when the session ended while it waited, and its place in the queue with
   * it; `CANCELLED` when the client is closed.
   *
   * Rejects while `callback` goes on, at the moment at which the lock is lost: with a `DOMException`
   * `AbortError` when it was stolen (its `cause` is a `HoldfastError` `LOCK_LOST`); with the
   * `LOCK_LOST` itself when the lease ran out (`details.reason` "expired"), when an operator revoked
   * it ("revoked") or when the client was closed or exported ("closed", "exported"). What the
   * callback returns or throws after that is of no interest to anybody.
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: LockRequestOptions,
    callback: LockGrantedCallback<T>,
  ): Promise<Awaited<T>>;
  /**
   * What is held and waited for, by all clients of the cluster; it shows every request of this
   * client that was made before, as far as the cluster can be reached. Of each name at most 1,000
   * holders and 1,000 waiters are shown; each name is shown as it was at one moment, and up to a
   * thousand names as they were at the same one. `UNAVAILABLE` without an answer in
   * `connectTimeoutMs`.
   */
  query(): Promise<LockManagerSnapshot>;
}
