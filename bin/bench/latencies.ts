/**
 * Latencies of many operations: percentiles, exact to a thousandth, from a histogram of the
 * platform, and counts between round bounds for a chart.
 */
import { createHistogram } from "node:perf_hooks";

const MICROSECONDS_PER_MS = 1_000;
const LONGEST_MICROSECONDS = 3_600_000_000;
const BOUNDS_MS: readonly number[] = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50],
  ...[100, 200, 500, 1_000, 2_000, 5_000, 10_000],
];

/** Milliseconds. */
export interface LatencySummary {
  readonly min: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

export interface LatencyBucket {
  /**
   * The upper bound, inclusive; the upper bound of the previous bucket is the lower one. `null`: no
   * upper bound.
   */
  readonly upToMs: number | null;
  readonly count: number;
}

export class Latencies {
  readonly #histogram = createHistogram({ lowest: 1, highest: LONGEST_MICROSECONDS, figures: 3 });
  readonly #counts: number[] = Array.from({ length: BOUNDS_MS.length + 1 }, () => 0);

  record(milliseconds: number): void {
    const microseconds = Math.round(milliseconds * MICROSECONDS_PER_MS);
    this.#histogram.record(Math.min(Math.max(microseconds, 1), LONGEST_MICROSECONDS));
    const found = BOUNDS_MS.findIndex((boundMs) => milliseconds <= boundMs);
    const index = found < 0 ? BOUNDS_MS.length : found;
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /** `null` if nothing was recorded. */
  summary(): LatencySummary | null {
    const histogram = this.#histogram;
    if (histogram.count === 0) return null;
    const at = (percentile: number): number =>
      histogram.percentile(percentile) / MICROSECONDS_PER_MS;
    return {
      min: histogram.min / MICROSECONDS_PER_MS,
      mean: Math.round(histogram.mean) / MICROSECONDS_PER_MS,
      p50: at(50),
      p90: at(90),
      p99: at(99),
      p999: at(99.9),
      max: histogram.max / MICROSECONDS_PER_MS,
    };
  }

  /** From the first bucket that is not empty to the last. */
  buckets(): LatencyBucket[] {
    const all = this.#counts.map((count, index) => ({ upToMs: BOUNDS_MS[index] ?? null, count }));
    const first = all.findIndex(({ count }) => count > 0);
    const last = all.findLastIndex(({ count }) => count > 0);
    return first < 0 ? [] : all.slice(first, last + 1);
  }
}

/** `85µs`, `1.24ms`, `12.4ms`, `1.2s`. */
export function formatLatency(milliseconds: number): string {
  if (milliseconds < 1) return `${Math.round(milliseconds * MICROSECONDS_PER_MS)}µs`;
  if (milliseconds < 10) return `${milliseconds.toFixed(2)}ms`;
  if (milliseconds < 1_000) return `${milliseconds.toFixed(1)}ms`;
  return `${(milliseconds / 1_000).toFixed(1)}s`;
}
