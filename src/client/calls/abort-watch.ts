/**
 * Lets many calls wait on one AbortSignal, as when a whole task has one. The platform keeps
 * listeners in a list that it walks for each one added, and warns of a leak from the eleventh on.
 * So each signal gets one listener while calls wait on it, and the waiting calls are in a set.
 */

/** Something that ends when its signal is aborted. */
export interface Abortable {
  onAbort(reason: unknown): void;
}

class SignalWatch {
  readonly #signal: AbortSignal;
  readonly #waiters = new Set<Abortable>();
  readonly #listener = (): void => this.#onAbort();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  add(waiter: Abortable): void {
    if (this.#waiters.size === 0) {
      this.#signal.addEventListener("abort", this.#listener, { once: true });
    }
    this.#waiters.add(waiter);
  }

  delete(waiter: Abortable): void {
    const wasThere = this.#waiters.delete(waiter);
    if (wasThere && this.#waiters.size === 0) {
      this.#signal.removeEventListener("abort", this.#listener);
    }
  }

  #onAbort(): void {
    // The end of one waiter may end others too; those must not be called as well.
    const waiters = [...this.#waiters];
    for (const waiter of waiters) {
      if (this.#waiters.delete(waiter)) waiter.onAbort(this.#signal.reason);
    }
  }
}

const WATCHES = new WeakMap<AbortSignal, SignalWatch>();

/**
 * Calls `waiter.onAbort` once when `signal` is aborted, unless `unwatchAbort` was called before.
 */
export function watchAbort(signal: AbortSignal, waiter: Abortable): void {
  let watch = WATCHES.get(signal);
  if (watch === undefined) {
    watch = new SignalWatch(signal);
    WATCHES.set(signal, watch);
  }
  watch.add(waiter);
}

export function unwatchAbort(signal: AbortSignal, waiter: Abortable): void {
  WATCHES.get(signal)?.delete(waiter);
}

export interface Deferred<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A caller that waits: it gets a result once, and may leave before when its signal is aborted. */
export abstract class AbortableCaller<T> implements Abortable {
  /** The caller has its result. */
  isSettled = false;
  readonly #signal: AbortSignal | undefined;
  readonly #caller: Deferred<T>;

  constructor(signal: AbortSignal | undefined, caller: Deferred<T>) {
    this.#signal = signal;
    this.#caller = caller;
    if (signal !== undefined) watchAbort(signal, this);
  }

  /** Must reject, now or later. */
  abstract onAbort(reason: unknown): void;

  resolve(value: T): void {
    if (this.settle()) this.#caller.resolve(value);
  }

  reject(reason: unknown): void {
    if (this.settle()) this.#caller.reject(reason);
  }

  /** Returns whether it had no result yet. */
  protected settle(): boolean {
    if (this.isSettled) return false;
    this.isSettled = true;
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
    return true;
  }
}
