/**
 * Whether a write is over sooner when the loop does it itself than when a thread does. Handing it over costs two
 * wake-ups, some 60 µs of CPU and as long a wait; a small synced write to a quick disk takes about as long as one
 * of them. On a slow disk the loop must not wait: as soon as writes take longer, they go to a
 * thread, and after a pause the disk is asked again with a few.
 */

/** A larger write is mostly transfer, which a thread does beside the loop. */
const QUICK_BYTES_MAX = 64 << 10;
/** So long a write may take on average and count as quick. */
const QUICK_MS = 0.5;
/** So long a single one may. */
const SLOW_MS = 10;
/** Of the newest write in the average. */
const WEIGHT = 1 / 16;
/** For each millisecond that the write before the pause took, so that asking costs 1 % at most. */
const PAUSE_MS_PER_MS = 1_000;
const PAUSE_MS_MIN = 1_000;

export class WritePace {
  #averageMs = 0;
  #pausedUntilMs = 0;

  /** Whether to write `bytes` at once; `nowMs`: a monotonic clock. */
  isQuickFor(bytes: number, nowMs: number): boolean {
    return bytes <= QUICK_BYTES_MAX && nowMs >= this.#pausedUntilMs;
  }

  /** A write that was done at once took so long, and ended at `nowMs`. */
  onWritten(tookMs: number, nowMs: number): void {
    this.#averageMs += (tookMs - this.#averageMs) * WEIGHT;
    if (this.#averageMs <= QUICK_MS && tookMs <= SLOW_MS) return;
    this.#pausedUntilMs = nowMs + Math.max(PAUSE_MS_MIN, tookMs * PAUSE_MS_PER_MS);
    this.#averageMs = 0;
  }
}
