/**
 * How long holds and waits took: counts in fixed ranges, and a sentence that says the same. The
 * ranges never change with the data, so that two locks can be compared at a glance. Pure.
 */
import { countText, formatDuration } from "../../../src/views/index.js";

export interface Range {
  /** "up to 10ms", "to 100ms". */
  readonly label: string;
  readonly count: number;
  /** Relative to the fullest range: 0 – 1. */
  readonly share: number;
}

export interface Distribution {
  readonly ranges: readonly Range[];
  readonly count: number;
  readonly medianMs: number;
  /** Nine of ten took no longer. */
  readonly mostMs: number;
  readonly longestMs: number;
}

/** Upper ends, included. */
const ENDS_MS = [10, 100, 1_000, 10_000, 60_000, 600_000] as const;
const LABELS = ["up to 10ms", "to 100ms", "to 1s", "to 10s", "to 1m", "to 10m", "longer"] as const;

export function distributionOf(timesMs: readonly number[]): Distribution {
  const counts = LABELS.map(() => 0);
  for (const ms of timesMs) {
    const found = ENDS_MS.findIndex((end) => ms <= end);
    const at = found < 0 ? LABELS.length - 1 : found;
    counts[at] = (counts[at] ?? 0) + 1;
  }
  const fullest = Math.max(1, ...counts);
  const sorted = [...timesMs].sort((left, right) => left - right);
  return {
    ranges: LABELS.map((label, at) => {
      const count = counts[at] ?? 0;
      return { label, count, share: count / fullest };
    }),
    count: sorted.length,
    medianMs: quantile(sorted, 0.5),
    mostMs: quantile(sorted, 0.9),
    longestMs: sorted.at(-1) ?? 0,
  };
}

/** The smallest time that at least that part of all did not exceed; 0 of none. */
function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] ?? 0;
}

/** "Of 57 holds, half took at most 1.2s, nine of ten at most 4s, the longest 3m 00s." */
export function distributionText(of: Distribution, one: string): string {
  const { count, medianMs, mostMs, longestMs } = of;
  if (count === 0) return `No ${one} is known that has ended.`;
  if (count === 1) return `One ${one} is known: it took ${formatDuration(longestMs)}.`;
  const half = `half took at most ${formatDuration(medianMs)}`;
  const most = count < 10 ? "" : `, nine of ten at most ${formatDuration(mostMs)}`;
  return `Of ${countText(count, one)}, ${half}${most}, the longest ${formatDuration(longestMs)}.`;
}
