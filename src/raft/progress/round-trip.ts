/**
 * How long a peer takes to answer an append, and when an answer is so late that another peer should
 * be asked: the mean and the mean deviation of TCP's retransmission timer (RFC 6298, section 2),
 * with its own bounds. Karn and Partridge, "Improving Round-Trip Time Estimates in Reliable
 * Transport Protocols" (1987): a delay that may not be the other side's is not counted.
 */

const MEAN_SHARE = 1 / 8;
const DEVIATION_SHARE = 1 / 4;
const DEVIATIONS = 4;
/** Garbage collection and the granularity of timers take up to this long. */
const PATIENCE_MS_MIN = 2;

export class RoundTrip {
  private meanMs = 0;
  private deviationMs = 0;
  private isMeasured = false;

  /**
   * A request that was sent at `sinceMs` was answered now. Answers may have waited unread while
   * this process stood still (`stoodStillMs`: the last time), so such a measurement says nothing
   * about the peer.
   */
  onAnswer(sinceMs: number, nowMs: number, stoodStillMs: number): void {
    if (sinceMs >= stoodStillMs) this.observe(nowMs - sinceMs);
  }

  /** An answer took this long. */
  observe(tookMs: number): void {
    if (!this.isMeasured) {
      this.isMeasured = true;
      this.meanMs = tookMs;
      this.deviationMs = tookMs / 2;
      return;
    }
    this.deviationMs += DEVIATION_SHARE * (Math.abs(tookMs - this.meanMs) - this.deviationMs);
    this.meanMs += MEAN_SHARE * (tookMs - this.meanMs);
  }

  /** The mean; 0 before the first answer. */
  get ms(): number {
    return this.meanMs;
  }

  /** An answer that takes longer than this is late. */
  get patienceMs(): number {
    return Math.max(PATIENCE_MS_MIN, this.meanMs + DEVIATIONS * this.deviationMs);
  }
}
