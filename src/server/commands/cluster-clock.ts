/**
 * The cluster clock: the time that entries are stamped with, in whole milliseconds. It runs on the
 * leader alone, goes on from the last stamp in the log, never faster than this machine's monotonic
 * clock, and counts only time in which the leader's loop was turning. It must never look at a wall
 * clock and never reads a clock itself.
 */
import { assert } from "../../assert.js";

export class ClusterClock {
  readonly #turnMsMax: number;
  #stamp = 0;
  /** Monotonic time up to which everything was either counted into `#stamp` or discarded. */
  #anchorMs = 0;
  #isRunning = false;

  /** `turnMsMax`: the most that one turn of the loop counts; what goes beyond it was a pause. */
  constructor(turnMsMax: number) {
    assert(turnMsMax >= 1, () => `a turn must be able to count a millisecond, not ${turnMsMax}`);
    this.#turnMsMax = Math.floor(turnMsMax);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The stamp as of the last `count`. */
  get stamp(): number {
    return this.#stamp;
  }

  /** On becoming leader. `baseStamp`: that of the last stamped entry in the log, committed or not. */
  start(baseStamp: number, nowMs: number): void {
    assert(Number.isSafeInteger(baseStamp) && baseStamp >= 0, () => `base stamp ${baseStamp}`);
    this.#stamp = baseStamp;
    this.#anchorMs = nowMs;
    this.#isRunning = true;
  }

  /** On ceasing to lead: time stands still until another leader goes on from the log. */
  stop(): void {
    this.#isRunning = false;
  }

  /**
   * Counts the time since the last call and returns the stamp. Call it once a turn, after the last
   * command of the turn was read. A fraction of a millisecond stays with the anchor for the next
   * turn; of a turn longer than the cap the rest is lost for good, because time that a paused
   * leader spent before a command arrived must not be counted after it.
   */
  count(nowMs: number): number {
    assert(this.#isRunning, () => "the cluster clock counts on the leader alone");
    const elapsedMs = nowMs - this.#anchorMs;
    assert(elapsedMs >= 0, () => `monotonic time went back from ${this.#anchorMs} to ${nowMs}`);
    if (elapsedMs > this.#turnMsMax) {
      this.#stamp += this.#turnMsMax;
      this.#anchorMs = nowMs;
    } else {
      const wholeMs = Math.floor(elapsedMs);
      this.#stamp += wholeMs;
      this.#anchorMs += wholeMs;
    }
    return this.#stamp;
  }

  /**
   * When the clock can show `stamp` at the earliest: later by a thousandth of a millisecond, so that
   * the rounding of sums never wakes somebody up just too early.
   */
  monotonicMsAt(stamp: number): number {
    return this.#anchorMs + (stamp - this.#stamp) + 0.001;
  }
}
