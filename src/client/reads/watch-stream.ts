/**
 * One watch as the application iterates over it: changes in the order of the log, from a revision
 * on, without a gap over reconnects. What is not taken is kept up to a bound; beyond it the node is
 * told to stop, and asked to go on from there when there is room again.
 */
import type { ChangeView, Revision } from "../../protocol/index.js";
import { type Abortable, unwatchAbort, watchAbort } from "../calls/abort-watch.js";
import { type LossReason, lossReasonOf } from "../failures.js";

/** Something that happened to a key. */
export interface Change extends Omit<ChangeView, "reason"> {
  /** Why a hold ended; "unknown" of everything else. */
  readonly reason: LossReason;
}

/**
 * Changes in the order of the log, none left out, none told twice, over reconnects to any node. End
 * it by leaving the loop, by `return()` or by the signal.
 */
export interface Watch extends AsyncIterableIterator<Change>, AsyncDisposable {
  /** Everything up to here was told: where another watch can go on. `undefined` until it began. */
  readonly revision: Revision | undefined;
  /** Resolves when everything behind `revision` will be told, or when it is over. Never rejects. */
  readonly begun: Promise<void>;
}

/** Changes that wait for the application before the watch pauses. */
const BUFFERED_MAX = 1_024;

/** What a watch needs of its session. */
export interface WatchHost {
  /** Has it asked for, from `after` on. */
  resume(stream: WatchStream): void;
  /** No more changes, for a while or for ever. */
  stop(stream: WatchStream): void;
  /** Somebody began to wait for a change, or stopped. */
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
  readonly #signal: AbortSignal | undefined;
  /** Everything up to here was told, `undefined`: nothing yet, and nothing before now is wanted. */
  after: Revision | undefined;
  #askedAfter: Revision | undefined;
  /** Of the watch at the node; 0 while there is none. */
  id = 0;
  /** When it is to be asked for; `Infinity` while it runs, pauses or is over. */
  askAtMs = Number.POSITIVE_INFINITY;
  /** Where the application is while changes wait for it. */
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
    this.#signal = signal;
    this.#begun = new Promise((resolve) => {
      this.#onBegun = () => {
        this.#hasBegun = true;
        resolve();
      };
    });
    if (signal !== undefined) watchAbort(signal, this);
  }

  /** Up to what the application took, which may lie before what was told. */
  get revision(): Revision | undefined {
    return this.#head < this.#buffer.length ? this.#taken : this.after;
  }

  /** Resolves when changes are told from now on, or it is over. Who reads it waits for that. */
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

  /** Forgets what nobody took yet. */
  discard(): void {
    this.#buffer = [];
    this.#head = 0;
    this.#goOnIfPaused();
  }

  /** It is asked for the first time, over a connection that began with `revision`. */
  onAsked(revision: Revision): void {
    this.#askedAfter ??= revision;
  }

  /** Whether it began is not known: it must miss nothing that happened since it was asked for. */
  onUnanswered(): void {
    this.after ??= this.#askedAfter;
  }

  /** The node watches from there on. */
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

  /** Told once, behind whatever is still in the buffer. */
  end(reason: unknown, isError: boolean): void {
    if (this.#end !== undefined) return;
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
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
