/**
 * The client that applications use: checks arguments, hands out owners, and leaves everything else
 * to its session.
 */
import { type KeyView, OP, type SessionsView } from "../protocol/index.js";
import {
  changeSetting,
  endSession,
  type OperatorCommands,
  type Revoked,
  revoke,
  setLimit,
} from "./calls/operator-commands.js";
import { ClientLeases } from "./leases/client-leases.js";
import type { Leases } from "./leases/leases.js";
import { type Deadlock, explainDeadlock } from "./locks/deadlocks.js";
import { type Election, NamedElection } from "./locks/election.js";
import { type HeldLock, holdWhile, type LockCallback } from "./locks/held-lock.js";
import type { Lock, Semaphore } from "./locks/lock.js";
import { SemaphoreKey } from "./locks/semaphore.js";
import { type CallOptions, signalOf } from "./options/checks.js";
import type { ExportedSession } from "./options/exported-session.js";
import {
  type AcquireAllOptions,
  type AcquireOptions,
  CLAIM_OPTIONS,
  limitOf,
  resolveAcquire,
  resolveAcquireAll,
  resolveClaim,
  type Ticket,
  type TryAcquireOptions,
  type WantedItem,
} from "./options/lock-options.js";
import type { EndSessionOptions, RevokeOptions, RevokeTarget } from "./options/operator-options.js";
import type { Owner } from "./options/owner.js";
import {
  type Question,
  resolveWatch,
  type WatchOptions,
  type WatchTarget,
} from "./options/view-options.js";
import { ClusterViews, type Views } from "./reads/cluster-views.js";
import type { Watch } from "./reads/watch-stream.js";
import type { Resumed } from "./session/resumption.js";
import type { Session } from "./session/session.js";
import type { LockManager } from "./web-locks/types.js";
import { MADE_HERE } from "./web-locks/web-interface.js";
import { WebLocks } from "./web-locks/web-locks.js";

/**
 * A connection to the cluster with one session. Calls take effect in the order in which they are
 * made, with one exception: where a node has no room, a call that gives something back (a release,
 * a downgrade, a caller that stops waiting, `close`) may pass a call that asks for something.
 * Nothing passes a call that gives something back, so an `acquire` may follow a `release` without
 * waiting for it.
 */
export interface Client extends Views, OperatorCommands, AsyncDisposable {
  /** The session's number, 0 while there is none. */
  readonly session: number;
  /** All endpoints that are known now. */
  readonly endpoints: readonly string[];
  /**
   * Aborted when the client is closed: by `close`, or by the cluster, for a permanent reason. The
   * reason is `TAKEN_OVER` if another process took its session over (`details.taker`).
   */
  readonly closed: AbortSignal;
  /**
   * The locks and waits of a session that was taken over (`connect({ resume })`); otherwise
   * `undefined`.
   */
  readonly resumed: Resumed | undefined;
  /** The Web Locks API: code written for `navigator.locks` runs on the cluster. */
  readonly locks: LockManager;
  /**
   * A new task, for several acquires to name as their owner. Without one, every acquire is a task
   * of its own, except that an acquire inside a lock (`lock.acquire`) belongs to the lock's task;
   * `ownerFromContext` finds that task by itself. Tasks of one process exclude each other.
   * Deadlocks are found by what each task holds and waits for.
   */
  owner(): Owner;
  /**
   * Waits in the queue of `key` and resolves when the lock is granted. Keeps the process running
   * while it waits or holds; an idle client does not.
   *
   * Rejects with the signal's reason or with a `HoldfastError`: `LOCK_HELD`, `LOCK_TIMEOUT`,
   * `QUEUE_FULL`, `QUOTA`, `INVALID_ARGUMENT`; `DEADLOCK` when waiting would never end
   * (`details.cycle` lists who waits for whom, `explainDeadlock` adds details); `WRONG_KIND` when
   * the key is a semaphore's; `BUSY` when the cluster refused it for a whole TTL; `UNAVAILABLE`
   * when `waitMs` is 0 and no node answered within `connectTimeoutMs`; `SESSION_EXPIRED` when the
   * session ended while it waited, so that it lost its place in the queue (nothing is held; the
   * next call uses a new session); `CANCELLED` when the client is closed.
   */
  acquire(key: string, options?: AcquireOptions): Promise<Lock>;
  /**
   * Like `acquire` with `waitMs: 0`, but resolves to `undefined` if another task holds the lock or
   * waits for it. `UNAVAILABLE` does not mean that it is held: no node answered within
   * `connectTimeoutMs`.
   */
  tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined>;
  /**
   * Acquires all of 1 – 16 keys in one step, or none; locks and permits can be mixed. It is fair in
   * each key: a request that is blocked in one key keeps its place in the others. Rejects like
   * `acquire`, and with `LIMIT_MISMATCH` (`details.limit`) if a semaphore in use has another limit.
   */
  acquireAll(items: readonly WantedItem[], options?: AcquireAllOptions): Promise<Lock>;
  /**
   * Runs `callback` while holding the lock, and releases the lock afterwards even if the callback
   * fails. Rejects with `LOCK_LOST` if the callback succeeded but the lock was lost before it
   * ended.
   */
  using<T>(key: string, callback: (lock: Lock) => Promise<T> | T): Promise<T>;
  using<T>(
    key: string,
    options: AcquireOptions,
    callback: (lock: Lock) => Promise<T> | T,
  ): Promise<T>;
  /**
   * A semaphore. `limit`, 1 – 1,000,000 permits, is required while the key is not in use; while it
   * is, a given `limit` must be the current one (`LIMIT_MISMATCH`).
   */
  semaphore(key: string, options?: { limit?: number | undefined }): Semaphore;
  /**
   * Takes over a hold that `lock.detach` left: the same keys, slots and value under a new token.
   * `NOT_HELD` if there is no such ticket for this client: it no longer exists, its secret is
   * another one, or the identity may not acquire one of its keys. `FORBIDDEN` if it may acquire
   * nothing. `QUOTA`, `BUSY`, `UNAVAILABLE` without an answer in `connectTimeoutMs`. Aborting
   * releases a hold that was claimed meanwhile.
   */
  claim(ticket: Ticket, options?: CallOptions & { owner?: Owner | undefined }): Promise<Lock>;
  /** Leases of named owners, which outlive this client's session. */
  readonly leases: Leases;
  /** An election. `name` is the key that the leader holds. */
  election(name: string): Election;
  /**
   * Explains an acquire that was refused with `DEADLOCK`: for each task of the cycle its session's
   * name and metadata, what it holds, since when and under which value, and where in this program
   * it was asked for (`connect({ captureStacks: true })`). It looks at the present, so call it
   * before the locks of the cycle are released. Rejects with a `TypeError` for any other error, and
   * with `UNAVAILABLE` like `inspect`.
   */
  explainDeadlock(error: unknown, options?: CallOptions): Promise<Deadlock>;
  /**
   * Watches the changes of a key, or of all keys that begin with a prefix ("orders/"), in the order
   * of the log. It begins with this call, not with the first `next`. If the application does not
   * take the changes, about a thousand are kept, and then the watch pauses. The iteration fails
   * with `COMPACTED` if the cluster no longer keeps the next change, with the reason of `signal`,
   * or with `CANCELLED` when the client is closed.
   */
  watch(target: WatchTarget, options?: WatchOptions): Watch;
  /**
   * Gives up the session, so that another process can continue it: `connect({ resume: exported })`.
   * First aborts every signal (`LOCK_LOST`, reason `exported`) and rejects waiting calls with
   * `CANCELLED`; then the client is closed. Until the lease ends, its holds stay held and its waits
   * keep their places. Waits at most two seconds for the cluster to confirm what was given back,
   * and does not fail without it: the process that takes over gives it back then. The result is
   * plain data, and as secret as the session. `UNAVAILABLE` while the client has no session.
   */
  export(): Promise<ExportedSession>;
  /**
   * Releases everything and ends the session. Never rejects. Waits for the cluster's answer for a
   * third of the TTL, at most 3,000 ms; without an answer, its holds stay held until the lease
   * ends.
   */
  close(): Promise<void>;
}

export class HoldfastClient extends ClusterViews implements Client {
  readonly locks: LockManager;
  readonly leases: Leases;
  readonly #session: Session;

  constructor(session: Session) {
    super();
    this.#session = session;
    this.locks = new WebLocks(MADE_HERE, session);
    this.leases = new ClientLeases(session);
  }

  get session(): number {
    return this.#session.id;
  }

  get endpoints(): readonly string[] {
    return this.#session.endpoints;
  }

  get closed(): AbortSignal {
    return this.#session.closed;
  }

  get resumed(): Resumed | undefined {
    return this.#session.resumed;
  }

  owner(): Owner {
    return this.#session.locks.newOwner();
  }

  // Locks.

  async acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.#acquire(key, options);
  }

  async tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined> {
    const { locks } = this.#session;
    const owner = locks.resolveOwner(options?.owner);
    return locks.request(resolveAcquire(key, options, owner, "try"));
  }

  async acquireAll(items: readonly WantedItem[], options?: AcquireAllOptions): Promise<Lock> {
    const { locks } = this.#session;
    const owner = locks.resolveOwner(options?.owner);
    // Only a try resolves to undefined.
    return locks.request(resolveAcquireAll(items, options, owner)) as Promise<HeldLock>;
  }

  async using<T>(
    key: string,
    optionsOrCallback: AcquireOptions | LockCallback<T>,
    callback?: LockCallback<T>,
  ): Promise<T> {
    const acquire = (options?: AcquireOptions) => this.#acquire(key, options);
    return holdWhile(this.#session.locks, acquire, optionsOrCallback, callback);
  }

  semaphore(key: string, options: { limit?: number | undefined } = {}): Semaphore {
    return new SemaphoreKey(this.#session.locks, key, limitOf(options));
  }

  async claim(
    ticket: Ticket,
    options?: CallOptions & { owner?: Owner | undefined },
  ): Promise<Lock> {
    const { locks } = this.#session;
    const signal = signalOf(options, CLAIM_OPTIONS);
    const owner = locks.resolveOwner(options?.owner);
    return locks.claim({ ticket: resolveClaim(ticket), owner, signal });
  }

  election(name: string): Election {
    return new NamedElection(this.#session, name);
  }

  // Views; all others are inherited.

  protected ask(question: Question, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#session.ask(question, signal);
  }

  async explainDeadlock(error: unknown, options?: CallOptions): Promise<Deadlock> {
    const signal = signalOf(options);
    const ask = (question: Question): Promise<unknown> => this.ask(question, signal);
    return explainDeadlock(error, {
      inspect: (key) => ask({ op: OP.inspect, key }) as Promise<KeyView>,
      sessionsFrom: (number) => {
        return ask({ op: OP.sessions, after: number - 1, limit: 1 }) as Promise<SessionsView>;
      },
    });
  }

  watch(target: WatchTarget, options?: WatchOptions): Watch {
    return this.#session.watch(resolveWatch(target, options));
  }

  // Commands of operators.

  async revoke(target: RevokeTarget, options?: RevokeOptions): Promise<Revoked> {
    return revoke(this.#session.locks, target, options);
  }

  async endSession(session: number, options?: EndSessionOptions): Promise<void> {
    await endSession(this.#session.locks, session, options);
  }

  async setLimit(key: string, limit: number | undefined, options?: CallOptions): Promise<void> {
    await setLimit(this.#session.locks, key, limit, options);
  }

  async changeSetting(
    name: string,
    value: number | undefined,
    options?: CallOptions,
  ): Promise<void> {
    await changeSetting(this.#session.locks, name, value, options);
  }

  // The end.

  async export(): Promise<ExportedSession> {
    return this.#session.export();
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #acquire(key: string, options: AcquireOptions | undefined): Promise<HeldLock> {
    const { locks } = this.#session;
    const owner = locks.resolveOwner(options?.owner);
    const wish = resolveAcquire(key, options, owner, "acquire");
    // Only a try resolves to undefined.
    return locks.request(wish) as Promise<HeldLock>;
  }
}
