/**
 * Whether the loop should do a write itself rather than hand it to a thread. Handing it over costs
 * two wakeups, some 60 µs of CPU and as long a wait; a small synced write to a quick disk takes
 * about as long. A thread should wait for a slower disk, while the loop works: then records go to
 * the thread, and after a pause a few writes measure the disk again.
 */

/** A larger write is mostly transfer, which a thread does in parallel to the loop. */
const QUICK_BYTES_MAX = 64 << 10;
/** The longest average that counts as quick. */
const QUICK_MS = 0.25;
/** Weight of the newest write in the average. */
const WEIGHT = 1 / 16;
/**
 * A pause is a thousand times as long as the last write, within these limits. Measuring a slow disk
 * then takes at most 2 % of the loop's time, and a disk that once stood still is not avoided for
 * hours.
 */
const PAUSE_FACTOR = 1_000;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 60_000;

export class WritePace {
  #averageMs = 0;
  #pausedUntilMs = 0;

  /** Whether to write `bytes` at once; `nowMs` is from a monotonic clock. */
  isQuickFor(bytes: number, nowMs: number): boolean {
    return bytes <= QUICK_BYTES_MAX && nowMs >= this.#pausedUntilMs;
  }

  /** A write that was done at once took `tookMs` and ended at `nowMs`. */
  onWritten(tookMs: number, nowMs: number): void {
    this.#averageMs += (tookMs - this.#averageMs) * WEIGHT;
    if (this.#averageMs <= QUICK_MS) return;
    const pauseMs = Math.min(Math.max(PAUSE_MS_MIN, tookMs * PAUSE_FACTOR), PAUSE_MS_MAX);
    this.#pausedUntilMs = nowMs + pauseMs;
    this.#averageMs = 0;
  }
}
