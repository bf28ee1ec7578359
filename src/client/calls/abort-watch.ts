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
