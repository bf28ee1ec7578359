package dev.holdfast;

/**
 * A moment, and the time since then. The time in which the machine sleeps is counted by the wall clock, since the other
 * one stands still meanwhile. A wall clock that is set forward makes the time longer, and none makes it shorter.
 */
final class Moment {
  private final long monotonicNs = System.nanoTime();
  private final long wallMs = System.currentTimeMillis();

  /** Whole milliseconds, rounded up, so that nothing seems to last longer than it does. */
  long ageMs() {
    long monotonicMs = (System.nanoTime() - monotonicNs + 999_999) / 1_000_000;
    return Math.max(monotonicMs, System.currentTimeMillis() - wallMs);
  }
}
