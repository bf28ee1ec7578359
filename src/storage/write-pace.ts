/**
 * Whether a write is over sooner when the loop does it itself than when a thread does. Handing it
 * over costs two wake-ups, some 60 µs of CPU and as long a wait; a small synced write to a quick
 * disk takes about as long. A slower disk is better waited for by a thread, while the loop works:
 * then records go there, and after a pause the disk is asked again with a few.
 */

/** A larger write is mostly transfer, which a thread does beside the loop. */
const QUICK_BYTES_MAX = 64 << 10;
/** So long a write may take on average and count as quick. */
const QUICK_MS = 0.25;
/** Of the newest write in the average. */
const WEIGHT = 1 / 16;
/**
 * A pause is a thousand times what the last write took, within these limits: finding out what a slow
 * disk is takes 2 % of the loop's time at most, and a disk that stood still once is not avoided
 * for hours.
 */
const PAUSE_FACTOR = 1_000;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 60_000;

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
    if (this.#averageMs <= QUICK_MS) return;
    const pauseMs = Math.min(Math.max(PAUSE_MS_MIN, tookMs * PAUSE_FACTOR), PAUSE_MS_MAX);
    this.#pausedUntilMs = nowMs + pauseMs;
    this.#averageMs = 0;
  }
}
