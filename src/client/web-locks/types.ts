/**
 * The types of the Web Locks API (W3C, "Web Locks API", sections 3.2 and 3.3), declared here so
 * that the package does not need the platform's types. A `LockManager` of these is also one of
 * TypeScript's `lib.dom`, as far as `request` and `query` go.
 */
import type { LockMode } from "../../protocol/index.js";

/** The options of `request`. A member that is absent or `undefined` has its default. */
export interface LockRequestOptions {
  /** Default "exclusive". */
  mode?: LockMode | undefined;
  /**
   * Do not wait: if the lock is not available, the callback is called with `null`. Default false.
   */
  ifAvailable?: boolean | undefined;
  /**
   * Ends every hold of the name, and goes ahead of all waiting requests. The callbacks of the
   * former holders go on; only fencing covers that. Exclusive only, and neither with `ifAvailable`
   * nor `signal`. Default false.
   */
  steal?: boolean | undefined;
  /** Cancels the request, with the signal's reason, until it is granted. Not with `ifAvailable`. */
  signal?: AbortSignal | undefined;
}

/** The argument of the callback: the `Lock` of the specification, with two properties more. */
export interface RequestedLock {
  /** As it was given, with any characters. */
  readonly name: string;
  readonly mode: LockMode;
  /**
   * Beyond the specification: the fencing token, larger than every token granted before. Send it
   * with each write.
   */
  readonly token: number;
  /**
   * Beyond the specification: aborted with a `HoldfastError` `LOCK_LOST` before another request can
   * be granted the lock, unless it was stolen or revoked at once; with an `AbortError` when the
   * callback has ended.
   */
  readonly signal: AbortSignal;
}

/** `null`: `ifAvailable` was set, and the lock is not available. */
export type LockGrantedCallback<T> = (lock: RequestedLock | null) => T;

/** One lock that is held or waited for, in a snapshot. */
export interface LockInfo {
  name: string;
  mode: LockMode;
  /** The number of the client's session, as in `client.session`, in decimal digits. */
  clientId: string;
}

/** The result of `query`. */
export interface LockManagerSnapshot {
  /** In the order in which they were granted. */
  held: LockInfo[];
  /** In the order in which they were requested. */
  pending: LockInfo[];
}

/**
 * The `LockManager` of the Web Locks API, for all clients of the cluster instead of the clients of
 * one origin: code written for `navigator.locks` runs with `client.locks`. Its names are separate
 * from the keys of `client.acquire`; tools show them under `~locks/`. Its class and the class of
 * its locks have the shape that Web IDL gives the interfaces `LockManager` and `Lock`: programs
 * cannot construct either.
 */
export interface LockManager {
  /**
   * Waits for the lock, calls `callback` with it, and releases it when the callback's promise
   * settles. Resolves or rejects as the callback does, after the lock was released.
   *
   * `name` is any string that does not begin with "-": of at most 505 bytes in UTF-8, where control
   * characters, lone surrogates and `~` count five. Requests of a name are granted in the order in
   * which they reached the cluster. Each is a task of its own, and deadlocks are not detected: a
   * request for the same name within the callback waits forever, as the specification says.
   *
   * Rejects without calling `callback`, checked in this order: with a `TypeError` for arguments of
   * a wrong type; with a `DOMException` `NotSupportedError` for a name that begins with "-" or is
   * too long, for `steal` with `ifAvailable` or with a mode that is not exclusive, and for `signal`
   * with either; with the reason of `signal`. Errors that only a cluster has are a `HoldfastError`,
   * whose `details` have the `name`, and the `key` under which tools know it: `QUEUE_FULL` and
   * `QUOTA` as for `client.acquire`; `BUSY`; `UNAVAILABLE` when no node answered a request with
   * `ifAvailable` in `connectTimeoutMs`, while every other request waits until the cluster is back;
   * `SESSION_EXPIRED` when the session ended while it waited, so that it lost its place in the
   * queue; `CANCELLED` when the client is closed.
   *
   * Rejects while `callback` goes on, at the moment at which the lock is lost: with a
   * `DOMException` `AbortError` when it was stolen (its `cause` is a `HoldfastError` `LOCK_LOST`);
   * with the `LOCK_LOST` itself when the lease ran out (`details.reason` "expired"), when an
   * operator revoked it ("revoked") or when the client was closed or has handed its locks
   * over ("closed", "moved"). What the callback returns or throws after that is ignored.
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  request<T>(
    name: string,
    options: LockRequestOptions,
    callback: LockGrantedCallback<T>,
  ): Promise<Awaited<T>>;
  /**
   * What is held and waited for by all clients of the cluster. It includes every request that this
   * client made before, as far as the cluster can be reached. At most 1,000 holders and 1,000
   * waiters of each name are shown; each name is shown as it was at one moment, and up to a
   * thousand names as they were at the same moment. `UNAVAILABLE` without an answer in
   * `connectTimeoutMs`.
   */
  query(): Promise<LockManagerSnapshot>;
}
