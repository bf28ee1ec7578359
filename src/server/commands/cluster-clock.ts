/**
 * The cluster clock: the time with which entries are stamped, in whole milliseconds. It runs only
 * on the leader, continues from the last stamp in the log, is never faster than this machine's
 * monotonic clock, and counts only time in which the leader's loop was turning. It must never use a
 * wall clock, and never reads any clock itself. At the end of cluster time it stands still.
 */
import { assert } from "../../errors/index.js";
import { STAMP_MAX } from "../../protocol/index.js";

export class ClusterClock {
  readonly #turnMsMax: number;
  #stamp = 0;
  /** Monotonic time up to which all time was either counted into `#stamp` or discarded. */
  #anchorMs = 0;
  #isRunning = false;

  /** `turnMsMax`: the most that one turn of the loop counts; anything beyond it was a pause. */
  constructor(turnMsMax: number) {
    assert(turnMsMax >= 1, () => `turnMsMax is ${turnMsMax}, less than a millisecond`);
    this.#turnMsMax = Math.floor(turnMsMax);
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /** The stamp as of the last `count`. */
  get stamp(): number {
    return this.#stamp;
  }

  /** On becoming leader. `baseStamp`: the last stamp in the log, committed or not. */
  start(baseStamp: number, nowMs: number): void {
    assert(baseStamp >= 0 && baseStamp <= STAMP_MAX, () => `base stamp ${baseStamp}`);
    this.#stamp = baseStamp;
    this.#anchorMs = nowMs;
    this.#isRunning = true;
  }

  /** On ceasing to lead: time stands still until another leader continues from the log. */
  stop(): void {
    this.#isRunning = false;
  }

  /**
   * Counts the time since the last call and returns the stamp. To be called once a turn, after the
   * last command of the turn was read. A fraction of a millisecond is counted in the next turn.
   * What a turn has beyond `turnMsMax` is lost for good, because time that a paused leader spent
   * before a command arrived must not be counted after it.
   */
  count(nowMs: number): number {
    assert(this.#isRunning, () => "the cluster clock is not running");
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
    this.#stamp = Math.min(this.#stamp, STAMP_MAX);
    return this.#stamp;
  }

  /**
   * When the clock can show `stamp` at the earliest. A thousandth of a millisecond is added, so
   * that rounding never causes a wakeup just too early.
   */
  monotonicMsAt(stamp: number): number {
    return this.#anchorMs + (stamp - this.#stamp) + 0.001;
  }
}
