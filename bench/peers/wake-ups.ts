/**
 * Waiting for a lock of a server without a queue. Only the first in line of a client's workers asks
 * the server; it asks again when a release was announced, and after a while in case it missed the
 * announcement. So a client makes one attempt per release, not one per worker.
 */

/** The most that a lost announcement costs. */
const MISSED_MS_MAX = 100;

/** First come, first served, by key. */
export class LocalTurns {
  /** The waiters by key; a key in here is taken. */
  readonly #lines = new Map<string, (() => void)[]>();

  /** Resolves when it is the caller's turn, which lasts until `pass`. */
  take(key: string): Promise<void> {
    const line = this.#lines.get(key);
    if (line !== undefined) return new Promise((resolve) => line.push(resolve));
    this.#lines.set(key, []);
    return Promise.resolve();
  }

  pass(key: string): void {
    const next = this.#lines.get(key)?.shift();
    if (next === undefined) this.#lines.delete(key);
    else next();
  }
}

/** Announced releases, for one client's connection. */
export class Wakeups {
  readonly #counts = new Map<string, number>();
  readonly #sleepers = new Map<string, () => void>();

  announce(key: string): void {
    this.#counts.set(key, this.countOf(key) + 1);
    this.#sleepers.get(key)?.();
  }

  /** Must be read before an attempt, so that a release right after it is not missed. */
  countOf(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  /**
   * Resolves at the next announcement after `count`, or with false if there was none for a while.
   * One waiter per key.
   */
  async after(key: string, count: number): Promise<boolean> {
    if (this.countOf(key) !== count) return true;
    const isAnnounced = await new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), MISSED_MS_MAX);
      this.#sleepers.set(key, () => {
        clearTimeout(timer);
        resolve(true);
      });
    });
    this.#sleepers.delete(key);
    return isAnnounced;
  }
}
