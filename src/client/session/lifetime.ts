/**
 * How a client begins and ends, each once: whoever waits for that, and until when.
 */
import type { Opening } from "./opening.js";

const NEVER = Number.POSITIVE_INFINITY;

export class Lifetime {
  readonly #closed = new AbortController();
  #opening: Opening | undefined;
  #closing: Promise<void> | undefined;
  #onClosed: (() => void) | undefined;
  #closingUntilMs = NEVER;

  /** Aborted when the client is of no use any more. */
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
    this.#opening?.succeed();
    this.#opening = undefined;
  }

  /** `start` runs the first time, when `isClosing` holds already: listeners may close too. */
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
    this.#opening?.fail(reason);
    this.#opening = undefined;
    this.#closed.abort(reason);
    this.#onClosed?.();
  }
}
