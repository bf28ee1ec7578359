/**
 * The wait of `connect` for the first session: ends once, by success, failure, abort or timeout.
 */

export class Opening {
  /** When it has taken too long. */
  readonly deadlineMs: number;
  readonly done: Promise<void>;
  #resolve: () => void = () => undefined;
  #reject: (reason: unknown) => void = () => undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onAbort: () => void;

  /** `onAbort` is to end the session with the signal's reason. */
  constructor(deadlineMs: number, signal: AbortSignal | undefined, onAbort: () => void) {
    this.deadlineMs = deadlineMs;
    this.#signal = signal;
    this.#onAbort = onAbort;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  }

  succeed(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#resolve();
  }

  fail(reason: unknown): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
    this.#reject(reason);
  }
}
