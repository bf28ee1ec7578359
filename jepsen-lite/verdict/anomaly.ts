/**
 * One anomaly of a run as people see it: its kind, one plain sentence, and its story step by step
 * in the order of time.
 */
import type { AnomalyCounts, AnomalyKind, Violation } from "../checker/index.js";

const NANOSECONDS = 1_000_000;

export interface Anomaly {
  readonly kind: AnomalyKind;
  readonly sentence: string;
  readonly keys: readonly string[];
  /** When it happened; without a `toMs` it was one moment. Absent if it is not known. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** In the order of time. */
  readonly steps: readonly StoryStep[];
  /** Why nothing explains it, or the last output of a node that ended. */
  readonly reasons: readonly string[];
}

export interface StoryStep {
  readonly text: string;
  /** When it happened, if that is known. */
  readonly timeMs?: number;
  /** Line in the history, from 1. */
  readonly line?: number;
}

/** Times of a history are nanoseconds since the run began. */
export function anomalyOf(violation: Violation): Anomaly {
  const { kind, text, keys, steps, fromNs, toNs, reasons = [] } = violation;
  return {
    kind,
    sentence: text,
    keys,
    ...(fromNs === undefined ? {} : { fromMs: fromNs / NANOSECONDS }),
    ...(toNs === undefined ? {} : { toMs: toNs / NANOSECONDS }),
    steps: steps.map((step) => {
      const { line, timeNs } = step;
      return {
        text: step.text,
        line,
        ...(timeNs === undefined ? {} : { timeMs: timeNs / NANOSECONDS }),
      };
    }),
    reasons,
  };
}

/**
 * For the checks of one history: several may see the same incident, so the count of each kind is
 * the largest that a check reports.
 */
export function mostOf(counts: readonly AnomalyCounts[]): AnomalyCounts {
  return combined(counts, Math.max);
}

/** For different histories, which have nothing in common. */
export function sumOf(counts: readonly AnomalyCounts[]): AnomalyCounts {
  return combined(counts, (one, other) => one + other);
}

function combined(
  counts: readonly AnomalyCounts[],
  combine: (one: number, other: number) => number,
): AnomalyCounts {
  const all: Partial<Record<AnomalyKind, number>> = {};
  for (const each of counts) {
    for (const [name, times] of Object.entries(each)) {
      const kind = name as AnomalyKind;
      all[kind] = combine(all[kind] ?? 0, times);
    }
  }
  return all;
}
