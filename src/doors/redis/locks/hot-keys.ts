/**
 * Keys on which a take failed lately. Clients that poll would write a record into the log with every
 * attempt; for these keys the door looks first whether the key is still taken. Forgetting a key costs
 * one record, so the memory is small and short.
 */
const KEYS_MAX = 10_000;
const KEPT_MS = 60_000;

export class HotKeys {
  readonly #nowMs: () => number;
  /** When each is forgotten; in the order of those times. */
  readonly #until = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** A take of the key failed. */
  note(key: string): void {
    this.#until.delete(key);
    this.#until.set(key, this.#nowMs() + KEPT_MS);
    if (this.#until.size <= KEYS_MAX) return;
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest);
      return;
    }
  }

  /** A take of the key succeeded. */
  forget(key: string): void {
    if (this.#until.size > 0) this.#until.delete(key);
  }

  has(key: string): boolean {
    if (this.#until.size === 0) return false;
    const untilMs = this.#until.get(key);
    if (untilMs === undefined) return false;
    if (this.#nowMs() < untilMs) return true;
    this.#until.delete(key);
    return false;
  }
}
