/**
 * Lets many calls wait on one AbortSignal, as when a whole task has one. The platform keeps
 * listeners in a list that it walks for each one added, and warns of a leak from the eleventh on.
 * So each signal gets one listener while calls wait on it, and the waiting calls are in a linked
 * list: a set outgrows its hash tables, and each old table would keep every call alive that was in
 * it, with promises and locks, until a collection of the old heap.
 */

/** Something that ends when its signal is aborted. */
export interface Abortable {
  onAbort(reason: unknown): void;
}

/** The wait of one of them: its place in the list of its signal. */
export class AbortWait {
  readonly waiter: Abortable;
  /** `undefined` once it is over. */
  watch: SignalWatch | undefined;
  before: AbortWait | undefined;
  after: AbortWait | undefined = undefined;

  constructor(watch: SignalWatch, waiter: Abortable, before: AbortWait | undefined) {
    this.watch = watch;
    this.waiter = waiter;
    this.before = before;
  }

  /** From now on `onAbort` is not called. Has no effect on a wait that is over. */
  end(): void {
    this.watch?.end(this);
  }
}

class SignalWatch {
  readonly #signal: AbortSignal;
  #first: AbortWait | undefined;
  #last: AbortWait | undefined;
  readonly #listener = (): void => this.#onAbort();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  begin(waiter: Abortable): AbortWait {
    const last = this.#last;
    const wait = new AbortWait(this, waiter, last);
    this.#last = wait;
    if (last === undefined) {
      this.#first = wait;
      this.#signal.addEventListener("abort", this.#listener, { once: true });
    } else last.after = wait;
    return wait;
  }

  end(wait: AbortWait): void {
    this.#remove(wait);
    if (this.#first === undefined) this.#signal.removeEventListener("abort", this.#listener);
  }

  #remove(wait: AbortWait): void {
    const { before, after } = wait;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    wait.watch = undefined;
    // A wait that lived long would keep its neighbours alive until it is collected itself.
    wait.before = undefined;
    wait.after = undefined;
  }

  #onAbort(): void {
    // The end of one may end others too; those are not in the list any more, and are not called.
    for (let wait = this.#first; wait !== undefined; wait = this.#first) {
      this.#remove(wait);
      wait.waiter.onAbort(this.#signal.reason);
    }
  }
}

const WATCHES = new WeakMap<AbortSignal, SignalWatch>();

/**
 * Calls `waiter.onAbort` once when `signal`, which is not aborted yet, is aborted, unless the wait was
 * ended before.
 */
export function watchAbort(signal: AbortSignal, waiter: Abortable): AbortWait {
  let watch = WATCHES.get(signal);
  if (watch === undefined) {
    watch = new SignalWatch(signal);
    WATCHES.set(signal, watch);
  }
  return watch.begin(waiter);
}

export interface Deferred<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

/** A caller that waits: it gets a result once, and may leave before when its signal is aborted. */
export abstract class AbortableCaller<T> implements Abortable {
  /** The caller has its result. */
  isSettled = false;
  readonly #abortWait: AbortWait | undefined;
  readonly #caller: Deferred<T>;

  constructor(signal: AbortSignal | undefined, caller: Deferred<T>) {
    this.#abortWait = signal === undefined ? undefined : watchAbort(signal, this);
    this.#caller = caller;
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
    this.#abortWait?.end();
    return true;
  }
}
