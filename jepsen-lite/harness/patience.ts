/**
 * Time in which something is awaited that must come. A step that takes long counts for a second at
 * most: a machine that stands still for minutes must not end the wait, as if it had been in vain.
 */
const STEP_MS_MAX = 1_000;

export class Patience {
  readonly #now: () => number;
  #leftMs: number;
  #seenMs: number;

  /** `now`: a clock in milliseconds. */
  constructor(milliseconds: number, now = () => performance.now()) {
    this.#now = now;
    this.#leftMs = milliseconds;
    this.#seenMs = now();
  }

  /** Takes the time since the last call, and returns whether any is left. Called at each step. */
  lasts(): boolean {
    const nowMs = this.#now();
    this.#leftMs -= Math.min(nowMs - this.#seenMs, STEP_MS_MAX);
    this.#seenMs = nowMs;
    return this.#leftMs > 0;
  }
}
