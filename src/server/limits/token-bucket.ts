/**
 * What may be spent in a second. What was not spent accumulates, up to one second's worth. The clock
 * is read only when everything is spent, so that asking costs a comparison; after a pause, two
 * seconds' worth may therefore be spent at once.
 */

const SECOND_MS = 1_000;

export class TokenBucket {
  readonly #perSecond: number;
  /** At most `#perSecond`; after `fill` not below minus that. */
  #left: number;
  #filledAtMs: number;

  /** @param perSecond `Infinity`: no limit */
  constructor(perSecond: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
    this.#filledAtMs = nowMs;
  }

  /** Spends `cost` if anything is left; the next time there is less by what was missing. */
  take(cost: number): boolean {
    if (this.#left <= 0) return false;
    this.#left -= cost;
    return true;
  }

  /** Spends `cost` in any case, for what has happened already. `fill` limits the debt. */
  pay(cost: number): void {
    this.#left -= cost;
  }

  /** Negative: owed. */
  get left(): number {
    return this.#left;
  }

  /** Nothing is owed any more. */
  forgive(): void {
    this.#left = Math.max(0, this.#left);
  }

  /** Spends `cost` in any case. The debt is at most one second's worth. */
  charge(cost: number): void {
    this.#left = Math.max(-this.#perSecond, this.#left - cost);
  }

  /** Adds what the time since the last call is worth. A debt shrinks to one second's worth. */
  fill(nowMs: number): void {
    const elapsedMs = nowMs - this.#filledAtMs;
    this.#filledAtMs = nowMs;
    const earned = (this.#perSecond * elapsedMs) / SECOND_MS;
    // Without a limit that is `Infinity`, or after no time `NaN`.
    if (!Number.isFinite(earned)) return;
    this.#left = Math.min(this.#perSecond, Math.max(-this.#perSecond, this.#left + earned));
  }

  /** After `fill`: nothing is owed, so that forgetting the bucket gives nothing away. */
  get isFull(): boolean {
    return this.#left >= this.#perSecond;
  }
}
