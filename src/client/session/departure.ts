/**
 * A client that hands over everything it holds, and then ends. Until a connection has the session
 * nothing is given up, and the client goes on if none comes in time. From then on the caller gets the
 * data, whatever happens: the process that adopts learns the truth from the table.
 */
import type { Deferred } from "../calls/waiters.js";
import type { HandedOver } from "../options/hand-over-options.js";

export class Departure {
  /** How long the holds wait to be adopted. */
  readonly ttlMs: number;
  hasBegun = false;
  #handed: HandedOver | undefined;
  #hasEnded = false;
  readonly #untilMs: number;
  readonly #caller: Deferred<HandedOver>;

  constructor(ttlMs: number, untilMs: number, caller: Deferred<HandedOver>) {
    this.ttlMs = ttlMs;
    this.#untilMs = untilMs;
    this.#caller = caller;
  }

  /** By when a connection must have the session; `Infinity` once one has had it. */
  get waitsUntilMs(): number {
    return this.hasBegun ? Number.POSITIVE_INFINITY : this.#untilMs;
  }

  /** The fate of each hold is known, or will not be. */
  settle(handed: HandedOver): void {
    this.#handed = handed;
    if (this.#hasEnded) this.#caller.resolve(handed);
  }

  /** The client has ended, or goes on because no connection came, for that reason. */
  end(reason: unknown): void {
    this.#hasEnded = true;
    if (!this.hasBegun) this.#caller.reject(reason);
    else if (this.#handed !== undefined) this.#caller.resolve(this.#handed);
  }
}
