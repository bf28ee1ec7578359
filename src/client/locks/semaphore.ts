/** Permits of one key: requests that take one semaphore at a time. */
import { setLimit } from "../calls/orders.js";
import { type CallOptions, requireKey } from "../options/checks.js";
import {
  type AcquireKind,
  type PermitOptions,
  requireLimit,
  resolvePermits,
  type TryPermitOptions,
} from "../options/lock-options.js";
import { type HeldLock, holdWhile, type LockCallback } from "./held-lock.js";
import type { Lock, Semaphore } from "./lock.js";
import type { Locks } from "./locks.js";

export class SemaphoreKey implements Semaphore {
  readonly key: string;
  readonly #locks: Locks;
  readonly #limit: number | undefined;

  constructor(locks: Locks, key: string, limit: number | undefined) {
    requireKey(key);
    requireLimit(limit);
    this.#locks = locks;
    this.key = key;
    this.#limit = limit;
  }

  async acquire(options?: PermitOptions): Promise<HeldLock> {
    // Only a try resolves to undefined.
    return this.#request(options, "acquire") as Promise<HeldLock>;
  }

  async tryAcquire(options?: TryPermitOptions): Promise<Lock | undefined> {
    return this.#request(options, "try");
  }

  async using<T>(
    optionsOrCallback: PermitOptions | LockCallback<T>,
    callback?: LockCallback<T>,
  ): Promise<T> {
    const acquire = (options?: PermitOptions) => this.acquire(options);
    return holdWhile(this.#locks, acquire, optionsOrCallback, callback);
  }

  async setLimit(limit: number | undefined, options?: CallOptions): Promise<void> {
    await setLimit(this.#locks, this.key, limit, options);
  }

  #request(options: PermitOptions | undefined, kind: AcquireKind): Promise<HeldLock | undefined> {
    const task = this.#locks.resolveTask(options?.task);
    return this.#locks.request(resolvePermits(this.key, this.#limit, options, task, kind));
  }
}
