/**
 * The client as applications see it: checks arguments, hands out owners, and leaves everything else
 * to its session.
 */
import { type KeyView, OP, type SessionsView } from "../protocol/index.js";
import {
  changeSetting,
  type EndSessionOptions,
  endSession,
  type Revoked,
  type RevokeOptions,
  type RevokeTarget,
  revoke,
} from "./calls/orders.js";
import { ClusterViews } from "./cluster-views.js";
import { type Election, NamedElection } from "./election.js";
import type { ExportedSession } from "./exported-session.js";
import type {
  AcquireAllOptions,
  AcquireOptions,
  CallOptions,
  Lock,
  Semaphore,
  Ticket,
  TryAcquireOptions,
  WantedItem,
} from "./lock-types.js";
import { type Deadlock, explainDeadlock } from "./locks/deadlocks.js";
import type { HeldLock } from "./locks/held-lock.js";
import { resolveAcquire, resolveAcquireAll } from "./locks/lock-options.js";
import type { Owner } from "./locks/owner.js";
import { SemaphoreKey, setLimit } from "./locks/semaphore.js";
import { holdWhile, type LockCallback } from "./locks/using.js";
import { requireKnown, requireObject, signalOf } from "./options.js";
import type { Question } from "./reads/reads.js";
import {
  CLAIM_OPTIONS,
  resolveClaim,
  resolveWatch,
  type WatchTarget,
} from "./reads/view-options.js";
import type { Watch, WatchOptions } from "./reads/view-types.js";
import type { Resumed } from "./session/resuming.js";
import type { Session } from "./session/session.js";
import type { Client } from "./types.js";
import type { LockManager } from "./web-locks/types.js";
import { MADE_HERE } from "./web-locks/web-interface.js";
import { WebLocks } from "./web-locks/web-locks.js";

const SEMAPHORE_OPTIONS: ReadonlySet<string> = new Set(["limit"]);

export class HoldfastClient extends ClusterViews implements Client {
  readonly locks: LockManager;
  readonly #session: Session;

  constructor(session: Session) {
    super();
    this.#session = session;
    this.locks = new WebLocks(MADE_HERE, session);
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
    requireObject(options, "options");
    requireKnown(options, SEMAPHORE_OPTIONS);
    return new SemaphoreKey(this.#session.locks, key, options.limit);
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

  // Seeing; the rest is what everybody sees.

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

  // Acting.

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
