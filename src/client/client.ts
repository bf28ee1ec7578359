/**
 * The client that applications use: checks arguments, hands out tasks, and leaves everything else
 * to its session.
 */
import { type KeyView, OP, type SessionsView } from "../protocol/index.js";
import {
  changeSetting,
  endSession,
  type Orders,
  type Revoked,
  revoke,
  setLimit,
} from "./calls/orders.js";
import { ClientLeases } from "./leases/client-leases.js";
import type { Leases } from "./leases/leases.js";
import { type Adopted, adoptAll } from "./locks/adoption.js";
import { type Deadlock, explainDeadlock } from "./locks/deadlocks.js";
import { type Election, NamedElection } from "./locks/election.js";
import { type HeldLock, holdWhile, type LockCallback } from "./locks/held-lock.js";
import type { Lock, Semaphore } from "./locks/lock.js";
import { SemaphoreKey } from "./locks/semaphore.js";
import { type CallOptions, signalOf } from "./options/checks.js";
import {
  type AdoptOptions,
  type HandedOver,
  type HandOverAllOptions,
  requireAdoptOptions,
  requireHandedOver,
  resolveHandOverAll,
} from "./options/hand-over-options.js";
import {
  type AcquireAllOptions,
  type AcquireOptions,
  limitOf,
  resolveAcquire,
  resolveAcquireAll,
  type TryAcquireOptions,
  type WantedItem,
} from "./options/lock-options.js";
import type { EndSessionOptions, RevokeOptions, RevokeTarget } from "./options/operator-options.js";
import type { Task } from "./options/task.js";
import {
  type Question,
  resolveWatch,
  type WatchOptions,
  type WatchTarget,
} from "./options/view-options.js";
import { ClusterViews, type Views } from "./reads/cluster-views.js";
import type { Watch } from "./reads/watch-stream.js";
import type { SessionMachine } from "./session/session-machine.js";
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
export interface Client extends Views, Orders, AsyncDisposable {
  /** The session's number, 0 while there is none. */
  readonly session: number;
  /** The cluster in which it has that number. */
  readonly clusterId: string;
  /** All endpoints that are known now. */
  readonly endpoints: readonly string[];
  /**
   * Aborted when the client is closed: by `close` or `handOver`, or by the cluster, for a permanent
   * reason.
   */
  readonly closed: AbortSignal;
  /** The Web Locks API: code written for `navigator.locks` runs on the cluster. */
  readonly locks: LockManager;
  /**
   * A new task, for several acquires to name. Without one, every acquire is a task
   * of its own, except that an acquire inside a lock (`lock.acquire`) belongs to the lock's task;
   * `taskFromContext` finds that task by itself. Tasks of one process exclude each other.
   * Deadlocks are found by what each task holds and waits for.
   */
  task(): Task;
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
   * Goes on with holds that were handed over: the same keys, slots and values, each under a new
   * token. If several processes try, the one that gets the first hold gets them all; for the others
   * they are `gone`. Resolves to what it got, what is gone, and what was refused: by `QUOTA`,
   * `BUSY`, `FORBIDDEN`, or `NOT_HELD` if the identity may not acquire all of its keys. Rejects if
   * the first hold is refused, with `INVALID_ARGUMENT` for the data of another cluster, and with
   * `UNAVAILABLE` without an answer in `connectTimeoutMs`.
   */
  adopt(handed: HandedOver, options?: AdoptOptions): Promise<Adopted>;
  /** Leases of named owners, which outlive this client's session. */
  readonly leases: Leases;
  /** An election. `name` is the key that the leader holds. */
  election(name: string): Election;
  /**
   * Explains an acquire that was refused with `DEADLOCK`: for each task of the cycle its session's
   * name and metadata, what it holds, since when and under which value, and where in this program
   * it was asked for (`connect({ captureStacks: true })`). It looks at the current state, so call
   * it before the locks of the cycle are released. Rejects with a `TypeError` for any other error,
   * and with `UNAVAILABLE` like `inspect`.
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
   * Hands over everything that is held, so that another process can go on with it by `adopt`, and
   * closes the client. As soon as a node can be asked, every signal is aborted,
   * as by a release, and every waiting call rejects with `CANCELLED`: places in queues are not handed
   * over. Resolves to the data, which are a secret: plain data with each hold that the
   * cluster may have handed over. If its answer is lost they say so (`confirmed`), and the process
   * that adopts them learns the truth. Rejects with `UNAVAILABLE` if no node is there for
   * `connectTimeoutMs`; then the client goes on, with its locks.
   */
  handOver(options?: HandOverAllOptions): Promise<HandedOver>;
  /**
   * Releases everything and ends the session. Never rejects. Waits for the cluster's answer for the
   * TTL, at most 5,000 ms; without an answer, its holds stay held until the lease
   * ends.
   */
  close(): Promise<void>;
}

export class HoldfastClient extends ClusterViews implements Client {
  readonly locks: LockManager;
  readonly leases: Leases;
  readonly #session: SessionMachine;

  constructor(session: SessionMachine) {
    super();
    this.#session = session;
    this.locks = new WebLocks(MADE_HERE, session);
    this.leases = new ClientLeases(session);
  }

  get session(): number {
    return this.#session.id;
  }

  get clusterId(): string {
    return this.#session.clusterId;
  }

  get endpoints(): readonly string[] {
    return this.#session.endpoints;
  }

  get closed(): AbortSignal {
    return this.#session.closed;
  }

  task(): Task {
    return this.#session.locks.newTask();
  }

  // Locks.

  async acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.#acquire(key, options);
  }

  async tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined> {
    const { locks } = this.#session;
    const task = locks.resolveTask(options?.task);
    return locks.request(resolveAcquire(key, options, task, "try"));
  }

  async acquireAll(items: readonly WantedItem[], options?: AcquireAllOptions): Promise<Lock> {
    const { locks } = this.#session;
    const task = locks.resolveTask(options?.task);
    // Only a try resolves to undefined.
    return locks.request(resolveAcquireAll(items, options, task)) as Promise<HeldLock>;
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

  async adopt(handed: HandedOver, options: AdoptOptions = {}): Promise<Adopted> {
    const { locks, clusterId } = this.#session;
    requireAdoptOptions(options);
    signalOf({ signal: options.signal });
    return adoptAll(locks, requireHandedOver(handed, clusterId), options);
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

  async handOver(options: HandOverAllOptions = {}): Promise<HandedOver> {
    return this.#session.handOver(resolveHandOverAll(options));
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #acquire(key: string, options: AcquireOptions | undefined): Promise<HeldLock> {
    const { locks } = this.#session;
    const task = locks.resolveTask(options?.task);
    const wish = resolveAcquire(key, options, task, "acquire");
    // Only a try resolves to undefined.
    return locks.request(wish) as Promise<HeldLock>;
  }
}
