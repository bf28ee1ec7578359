/**
 * One watch as the application iterates over it: changes in the order of the log, from a revision
 * on, without gaps after reconnects. Changes that are not taken yet are buffered up to a limit.
 * Beyond it the node is told to stop, and the watch continues from there when there is room again.
 */
import type { ChangeView, Revision } from "../../protocol/index.js";
import { type Abortable, type AbortWait, watchAbort } from "../calls/abort-watch.js";
import { type LossReason, lossReasonOf } from "../failures.js";

/** Something that happened to a key. */
export interface Change extends Omit<ChangeView, "reason"> {
  /** Why a hold ended; "unknown" for all other changes. */
  readonly reason: LossReason;
}

/**
 * Changes in the order of the log, without gaps or repetitions, over reconnects to any node. End it
 * by leaving the loop, by `return()` or by the signal.
 */
export interface Watch extends AsyncIterableIterator<Change>, AsyncDisposable {
  /**
   * Everything up to here was reported, so another watch can continue from here. `undefined` until
   * it has begun.
   */
  readonly revision: Revision | undefined;
  /**
   * Resolves when everything after `revision` will be reported, or when the watch is over. Never
   * rejects.
   */
  readonly begun: Promise<void>;
}

/** Changes that are buffered for the application before the watch pauses. */
const BUFFERED_MAX = 1_024;

/** What a watch needs from its session. */
export interface WatchHost {
  /** Asks the node for it, from `after` on. */
  resume(stream: WatchStream): void;
  /** Asks the node to stop sending changes, for a while or forever. */
  stop(stream: WatchStream): void;
  /** A caller began to wait for a change, or stopped. */
  onWaiting(): void;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<Change>) => void;
  readonly reject: (reason: unknown) => void;
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined };

export class WatchStream implements AsyncIterableIterator<Change>, Abortable {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly #host: WatchHost;
  readonly #abortWait: AbortWait | undefined;
  /**
   * Everything up to here was reported; `undefined`: nothing yet, and it begins with the current
   * state.
   */
  after: Revision | undefined;
  #askedAfter: Revision | undefined;
  /** The number of the watch at the node; 0 while there is none. */
  id = 0;
  /** When it is asked for; `Infinity` while it runs, pauses or is over. */
  askAtMs = Number.POSITIVE_INFINITY;
  /** How far the application has read while changes are buffered. */
  #taken: Revision | undefined;
  #buffer: Change[] = [];
  #head = 0;
  #waiters: Waiter[] = [];
  #isPaused = false;
  #end: { readonly isError: boolean; readonly reason: unknown } | undefined;
  readonly #begun: Promise<void>;
  #onBegun: () => void = () => undefined;
  #hasBegun = false;
  #isBeginningAwaited = false;

  constructor(
    host: WatchHost,
    key: string,
    isPrefix: boolean,
    after: Revision | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#host = host;
    this.key = key;
    this.isPrefix = isPrefix;
    this.after = after;
    this.#taken = after;
    this.#begun = new Promise((resolve) => {
      this.#onBegun = () => {
        this.#hasBegun = true;
        resolve();
      };
    });
    this.#abortWait = signal === undefined ? undefined : watchAbort(signal, this);
  }

  /** How far the application has read, which may be before what was reported. */
  get revision(): Revision | undefined {
    return this.#head < this.#buffer.length ? this.#taken : this.after;
  }

  /**
   * Resolves when changes are reported from now on, or when it is over. Reading this property keeps
   * the process running until then.
   */
  get begun(): Promise<void> {
    if (!this.#hasBegun && !this.#isBeginningAwaited) {
      this.#isBeginningAwaited = true;
      this.#host.onWaiting();
    }
    return this.#begun;
  }

  get isOver(): boolean {
    return this.#end !== undefined;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get isAwaited(): boolean {
    return this.#waiters.length > 0 || (this.#isBeginningAwaited && !this.#hasBegun);
  }

  next(): Promise<IteratorResult<Change>> {
    const change = this.#take();
    if (change !== undefined) return Promise.resolve({ done: false, value: change });
    const end = this.#end;
    if (end !== undefined) {
      if (!end.isError) return Promise.resolve(DONE);
      // An iteration fails once; after that it is over.
      this.#end = { isError: false, reason: undefined };
      return Promise.reject(end.reason);
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
      if (this.#waiters.length === 1) this.#host.onWaiting();
    });
  }

  async return(): Promise<IteratorResult<Change>> {
    this.#buffer = [];
    this.#head = 0;
    this.end(undefined, false);
    return DONE;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Drops the changes that were not taken yet. */
  discard(): void {
    this.#buffer = [];
    this.#head = 0;
    this.#goOnIfPaused();
  }

  /** It is asked for the first time, over a connection that began with `revision`. */
  onAsked(revision: Revision): void {
    this.#askedAfter ??= revision;
  }

  /**
   * It is not known whether it began, so it must continue from the time at which it was asked for.
   */
  onUnanswered(): void {
    this.after ??= this.#askedAfter;
  }

  /** The node reports changes from there on. */
  onBegun(revision: Revision): void {
    this.after ??= revision;
    this.#taken ??= revision;
    this.#onBegun();
    this.#host.onWaiting();
  }

  onChanges(changes: readonly Change[], revision: Revision): void {
    if (this.#end !== undefined) return;
    for (const change of changes) {
      const waiter = this.#waiters.shift();
      if (waiter === undefined) this.#buffer.push(change);
      else {
        this.#taken = change.revision;
        waiter.resolve({ done: false, value: change });
      }
    }
    this.after = revision;
    if (this.#buffer.length - this.#head < BUFFERED_MAX) return;
    this.#isPaused = true;
    this.#host.stop(this);
  }

  onAbort(reason: unknown): void {
    this.end(reason, true);
  }

  /** Reported once, after the changes that are still in the buffer. */
  end(reason: unknown, isError: boolean): void {
    if (this.#end !== undefined) return;
    this.#abortWait?.end();
    this.#onBegun();
    const [first, ...others] = this.#waiters;
    this.#waiters = [];
    this.#end = { isError: isError && first === undefined, reason };
    this.#isPaused = false;
    this.#host.stop(this);
    if (first === undefined) return;
    if (isError) first.reject(reason);
    else first.resolve(DONE);
    for (const { resolve } of others) resolve(DONE);
    this.#host.onWaiting();
  }

  #take(): Change | undefined {
    const change = this.#buffer[this.#head];
    if (change === undefined) return undefined;
    this.#taken = change.revision;
    this.#head += 1;
    if (this.#head === this.#buffer.length) this.discard();
    return change;
  }

  #goOnIfPaused(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#host.resume(this);
  }
}

export function changeOf(view: ChangeView): Change {
  return { ...view, reason: lossReasonOf(view.reason) };
}
