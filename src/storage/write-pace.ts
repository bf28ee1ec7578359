/**
 * Whether the loop should do a write itself rather than hand it to a thread. Handing it over costs
 * two wakeups, some 60 µs of CPU and as long a wait; a small synced write to a quick disk takes
 * about as long. A thread should wait for a slower disk, while the loop works: then records go to
 * the thread, and after a pause a few writes measure the disk again.
 */

/** A larger write is mostly transfer, which a thread does in parallel to the loop. */
const QUICK_BYTES_MAX = 64 << 10;
/** A write that takes longer is slow, no matter how much longer. */
const QUICK_MS = 0.25;
/**
 * A write that takes as long shows a disk that hangs, or a machine that should not let its loop
 * wait.
 */
const HANGING_MS = 20;
/** Weight of the newest write in the share of slow ones. */
const WEIGHT = 1 / 16;
/** The largest share of slow writes with which the loop goes on. */
const SLOW_SHARE_MAX = 1 / 2;
/**
 * A pause is a thousand times as long as the last write, within these limits. Measuring a slow disk
 * then takes at most 2 % of the loop's time, and a disk that once stood still is not avoided for
 * hours.
 */
const PAUSE_FACTOR = 1_000;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 60_000;

/**
 * It counts slow writes instead of averaging their times: the time includes the wait for a core after
 * the disk was done, and one core that came back milliseconds late would weigh as much as dozens of
 * writes.
 */
export class WritePace {
  #slowShare = 0;
  #pausedUntilMs = 0;

  /** Whether to write `bytes` at once; `nowMs` is from a monotonic clock. */
  isQuickFor(bytes: number, nowMs: number): boolean {
    return bytes <= QUICK_BYTES_MAX && nowMs >= this.#pausedUntilMs;
  }

  /** A write that was done at once took `tookMs` and ended at `nowMs`. */
  onWritten(tookMs: number, nowMs: number): void {
    const slow = tookMs > QUICK_MS ? 1 : 0;
    this.#slowShare += (slow - this.#slowShare) * WEIGHT;
    if (this.#slowShare <= SLOW_SHARE_MAX && tookMs < HANGING_MS) return;
    const pauseMs = Math.min(Math.max(PAUSE_MS_MIN, tookMs * PAUSE_FACTOR), PAUSE_MS_MAX);
    this.#pausedUntilMs = nowMs + pauseMs;
    // If the first write after the pause is slow too, there is another pause.
    this.#slowShare = SLOW_SHARE_MAX;
  }
}
