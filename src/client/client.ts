/**
 * The client as applications see it: checks arguments, hands out owners, and leaves everything else
 * to its session.
 */
import {
  type ExplainView,
  type HistoryView,
  type KeysView,
  type KeyView,
  OP,
  type SessionsView,
  type SessionView,
  type SettingView,
  type VerifyView,
  type WaitGraphView,
} from "../protocol/index.js";
import { type Deadlock, explainDeadlock } from "./deadlocks.js";
import { type Election, NamedElection } from "./election.js";
import type { ExportedSession } from "./exported-session.js";
import type { HeldLock } from "./held-lock.js";
import { resolveAcquire, resolveAcquireAll } from "./lock-options.js";
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
import { requireKnown, requireObject, signalOf } from "./options.js";
import {
  changeSetting,
  type EndSessionOptions,
  endSession,
  type RevokeOptions,
  type RevokeTarget,
  revoke,
} from "./orders.js";
import type { Owner } from "./owner.js";
import type { Question } from "./reads.js";
import type { Resumed } from "./resuming.js";
import { SemaphoreKey, setLimit } from "./semaphore.js";
import type { Session } from "./session.js";
import type { Client } from "./types.js";
import { holdWhile, type LockCallback } from "./using.js";
import {
  CLAIM_OPTIONS,
  EXPLAIN_OPTIONS,
  type ExplainOptions,
  LIMIT_OPTIONS,
  resolveClaim,
  resolveExplain,
  resolveHistory,
  resolveInspect,
  resolveQuery,
  resolveVerify,
  resolveWaitGraph,
  resolveWatch,
  type WatchTarget,
} from "./view-options.js";
import { type History, tenureOf, type Watch, type WatchOptions } from "./view-types.js";

import { MADE_HERE } from "./web-interface.js";
import { WebLocks } from "./web-locks.js";
import type { LockManager } from "./web-locks-types.js";

/** Keys, or sessions, of one page; views are large when many wait. */
const PAGE_LENGTH = 200;

const SEMAPHORE_OPTIONS: ReadonlySet<string> = new Set(["limit"]);

export class HoldfastClient implements Client {
  readonly locks: LockManager;
  readonly #session: Session;

  constructor(session: Session) {
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

  semaphore(key: string, options: { limit?: number } = {}): Semaphore {
    requireObject(options, "options");
    requireKnown(options, SEMAPHORE_OPTIONS);
    return new SemaphoreKey(this.#session.locks, key, options.limit);
  }

  async claim(ticket: Ticket, options?: CallOptions & { owner?: Owner }): Promise<Lock> {
    const { locks } = this.#session;
    const signal = signalOf(options, CLAIM_OPTIONS);
    const owner = locks.resolveOwner(options?.owner);
    return locks.claim({ ticket: resolveClaim(ticket), owner, signal });
  }

  election(name: string): Election {
    return new NamedElection(this.#session, name);
  }

  // Seeing.

  async inspect(key: string, options?: CallOptions): Promise<KeyView> {
    return (await this.#session.ask(resolveInspect(key), signalOf(options))) as KeyView;
  }

  query(prefix = "", options?: CallOptions): AsyncIterable<KeyView> {
    resolveQuery(prefix);
    return this.#keys(prefix, signalOf(options));
  }

  async explain(key: string, options?: ExplainOptions): Promise<ExplainView> {
    const signal = signalOf(options, EXPLAIN_OPTIONS);
    const question = resolveExplain(key, options);
    return (await this.#session.ask(question, signal)) as ExplainView;
  }

  async explainDeadlock(error: unknown, options?: CallOptions): Promise<Deadlock> {
    const signal = signalOf(options);
    const ask = (question: Question): Promise<unknown> => this.#session.ask(question, signal);
    return explainDeadlock(error, {
      inspect: (key) => ask({ op: OP.inspect, key }) as Promise<KeyView>,
      sessionsFrom: (number) => {
        return ask({ op: OP.sessions, after: number - 1, limit: 1 }) as Promise<SessionsView>;
      },
    });
  }

  async waitGraph(options?: CallOptions & { limit?: number }): Promise<WaitGraphView> {
    const signal = signalOf(options, LIMIT_OPTIONS);
    const question = resolveWaitGraph(options?.limit);
    return (await this.#session.ask(question, signal)) as WaitGraphView;
  }

  async verify(key: string, token: number, options?: CallOptions): Promise<VerifyView> {
    const question = resolveVerify(key, token);
    return (await this.#session.ask(question, signalOf(options))) as VerifyView;
  }

  async history(key: string, options?: CallOptions & { limit?: number }): Promise<History> {
    const signal = signalOf(options, LIMIT_OPTIONS);
    const question = resolveHistory(key, options?.limit);
    const view = (await this.#session.ask(question, signal)) as HistoryView;
    return { tenures: view.tenures.map(tenureOf), isTruncated: view.isTruncated };
  }

  sessions(options?: CallOptions): AsyncIterable<SessionView> {
    return this.#sessions(signalOf(options));
  }

  watch(target: WatchTarget, options?: WatchOptions): Watch {
    return this.#session.watch(resolveWatch(target, options));
  }

  async settings(options?: CallOptions): Promise<readonly SettingView[]> {
    const question = { op: OP.settings } as const;
    return (await this.#session.ask(question, signalOf(options))) as readonly SettingView[];
  }

  // Acting.

  async revoke(target: RevokeTarget, options?: RevokeOptions): Promise<number> {
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

  async *#keys(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<KeyView> {
    let after: string | undefined;
    do {
      const question = { op: OP.query, prefix, after, limit: PAGE_LENGTH } as const;
      const page = (await this.#session.ask(question, signal)) as KeysView;
      yield* page.keys;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }

  async *#sessions(signal: AbortSignal | undefined): AsyncGenerator<SessionView> {
    let after: number | null = 0;
    do {
      const question = { op: OP.sessions, after, limit: PAGE_LENGTH } as const;
      const page = (await this.#session.ask(question, signal)) as SessionsView;
      yield* page.sessions;
      after = page.next;
    } while (after !== null);
  }
}
