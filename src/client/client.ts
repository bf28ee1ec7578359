/**
 * The client as applications see it: checks arguments, hands out owners, and leaves everything else
 * to its session.
 */
import { type KeysView, type KeyView, OP } from "../protocol/index.js";
import { type HeldLock, holdWhile, type LockCallback } from "./held-lock.js";
import {
  requireKey,
  requireObject,
  requirePrefix,
  requireSignal,
  resolveAcquire,
} from "./options.js";
import type { Session } from "./session.js";
import type { AcquireOptions, Client, Lock, TryAcquireOptions } from "./types.js";

/** Keys of one page; views are large when many wait. */
const PAGE_KEYS = 200;

export class HoldfastClient implements Client {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
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

  async acquire(key: string, options?: AcquireOptions): Promise<Lock> {
    return this.#acquire(key, options);
  }

  async tryAcquire(key: string, options?: TryAcquireOptions): Promise<Lock | undefined> {
    const { locks } = this.#session;
    return locks.request(resolveAcquire(key, options, locks.nextOwner(), true));
  }

  async using<T>(
    key: string,
    optionsOrCallback: AcquireOptions | LockCallback<T>,
    callback?: LockCallback<T>,
  ): Promise<T> {
    return holdWhile((options) => this.#acquire(key, options), optionsOrCallback, callback);
  }

  async inspect(key: string, options: { signal?: AbortSignal } = {}): Promise<KeyView> {
    requireKey(key);
    requireObject(options, "options");
    requireSignal(options.signal);
    return (await this.#session.ask({ op: OP.inspect, key }, options.signal)) as KeyView;
  }

  query(prefix = "", options: { signal?: AbortSignal } = {}): AsyncIterable<KeyView> {
    requirePrefix(prefix);
    requireObject(options, "options");
    requireSignal(options.signal);
    return this.#pages(prefix, options.signal);
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #acquire(key: string, options: AcquireOptions | undefined): Promise<HeldLock> {
    const { locks } = this.#session;
    return locks.acquireUnder(locks.nextOwner(), key, options);
  }

  async *#pages(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<KeyView> {
    let after: string | undefined;
    do {
      const question = { op: OP.query, prefix, after, limit: PAGE_KEYS } as const;
      const page = (await this.#session.ask(question, signal)) as KeysView;
      yield* page.keys;
      after = page.next ?? undefined;
    } while (after !== undefined);
  }
}
