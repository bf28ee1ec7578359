/** The first signal heals and reports; the second one gives up the checking too. */
export class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => {
    if (this.received !== undefined) this.#second.abort();
    this.received ??= signal;
    this.#first.abort();
  };
  received: NodeJS.Signals | undefined;

  constructor() {
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
