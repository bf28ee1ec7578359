/**
 * How long a peer takes to answer an append, and how long an answer may be late before it is worth
 * asking somebody else: the mean and the mean deviation of TCP's retransmission timer (RFC 6298,
 * section 2), with bounds of its own. Karn and Partridge, "Improving Round-Trip Time Estimates in
 * Reliable Transport Protocols" (1987): what cannot be put down to the other side is not taken in.
 */

const MEAN_SHARE = 1 / 8;
const DEVIATION_SHARE = 1 / 4;
const DEVIATIONS = 4;
/** What garbage collection and the granularity of timers take is no lateness. */
const PATIENCE_MS_MIN = 2;

export class RoundTrip {
  private meanMs = 0;
  private deviationMs = 0;
  private isMeasured = false;

  /**
   * What was asked then was answered now. While this process stood still (`stoodStillMs`: the last
   * time) answers lay there unread: what spans that is no measure of anybody else.
   */
  onAnswer(sinceMs: number, nowMs: number, stoodStillMs: number): void {
    if (sinceMs >= stoodStillMs) this.observe(nowMs - sinceMs);
  }

  /** An answer came after so long. */
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

  /** After so long an answer is late. */
  get patienceMs(): number {
    return Math.max(PATIENCE_MS_MIN, this.meanMs + DEVIATIONS * this.deviationMs);
  }
}
