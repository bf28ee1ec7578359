/** How a client begins and ends, each once, and the callers that wait for either. */
import { AbortableCaller, type Deferred } from "../calls/abort-watch.js";

const NEVER = Number.POSITIVE_INFINITY;

/**
 * The wait of `connect` for the first session: ends once, by success, failure, abort or timeout.
 */
export class Opening extends AbortableCaller<void> {
  /** When it has taken too long. */
  readonly deadlineMs: number;
  readonly done: Promise<void>;
  readonly #onAbort: () => void;

  /** `onAbort` must end the session with the signal's reason. */
  constructor(deadlineMs: number, signal: AbortSignal | undefined, onAbort: () => void) {
    let caller: Deferred<void> | undefined;
    const done = new Promise<void>((resolve, reject) => {
      caller = { resolve, reject };
    });
    super(signal, caller as Deferred<void>);
    this.deadlineMs = deadlineMs;
    this.done = done;
    this.#onAbort = onAbort;
  }

  onAbort(): void {
    this.#onAbort();
  }
}

export class Lifetime {
  readonly #closed = new AbortController();
  #opening: Opening | undefined;
  #closing: Promise<void> | undefined;
  #onClosed: (() => void) | undefined;
  #closingUntilMs = NEVER;

  /** Aborted when the client cannot be used any more. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  get isOpening(): boolean {
    return this.#opening !== undefined;
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  get openingUntilMs(): number {
    return this.#opening?.deadlineMs ?? NEVER;
  }

  get closingUntilMs(): number {
    return this.#closingUntilMs;
  }

  begin(opening: Opening): Promise<void> {
    this.#opening = opening;
    return opening.done;
  }

  opened(): void {
    this.#opening?.resolve();
    this.#opening = undefined;
  }

  /** `start` runs the first time, after `isClosing` is set: listeners may close too. */
  close(start: () => void): Promise<void> {
    if (this.#closing === undefined) {
      this.#closing = new Promise((resolve) => {
        this.#onClosed = resolve;
      });
      start();
    }
    return this.#closing;
  }

  closeBy(untilMs: number): void {
    this.#closingUntilMs = untilMs;
  }

  end(reason: unknown): void {
    this.#opening?.reject(reason);
    this.#opening = undefined;
    this.#closed.abort(reason);
    this.#onClosed?.();
  }
}
