/**
 * Signals that end a run. The first one stops the load, and the results so far are judged and
 * reported, which takes seconds; the second one ends everything at once.
 */

/**
 * Ctrl-C is sent to all processes in the terminal, and `npm run` passes it on as well: signals this
 * close to each other count as one.
 */
const ONE_SIGNAL_MS = 300;

export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => {
    const nowMs = performance.now();
    this.#firstMs ??= nowMs;
    if (this.received === undefined) {
      this.received = signal;
      this.#first.abort();
    } else if (nowMs - this.#firstMs >= ONE_SIGNAL_MS) {
      this.#second.abort();
    }
  };
  #firstMs: number | undefined;
  received: NodeJS.Signals | undefined;

  /** `onFirst` is called at the first signal. */
  constructor(onFirst: () => void) {
    this.#first.signal.addEventListener("abort", onFirst);
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  get first(): AbortSignal {
    return this.#first.signal;
  }

  get second(): AbortSignal {
    return this.#second.signal;
  }

  stop(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
