/**
 * The wait of `connect` for the first session: ends once, by success, failure, abort or timeout.
 */
import { type Abortable, unwatchAbort, watchAbort } from "../calls/abort-watch.js";

export class Opening implements Abortable {
  /** When it has taken too long. */
  readonly deadlineMs: number;
  readonly done: Promise<void>;
  readonly onAbort: () => void;
  #resolve: () => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  readonly #signal: AbortSignal | undefined;

  /** `onAbort` is to end the session with the signal's reason. */
  constructor(deadlineMs: number, signal: AbortSignal | undefined, onAbort: () => void) {
    this.deadlineMs = deadlineMs;
    this.#signal = signal;
    this.onAbort = onAbort;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (signal !== undefined) watchAbort(signal, this);
  }

  succeed(): void {
    this.#stopWatching();
    this.#resolve();
  }

  fail(reason: unknown): void {
    this.#stopWatching();
    this.#reject(reason);
  }

  #stopWatching(): void {
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
  }
}
