/**
 * Separates stalls of the event loop during snapshots from the others. Pure; times are milliseconds
 * of one clock. A node's `loopDelayMaxMs` looks back over ten seconds, so one sample says little,
 * but samples taken each second bound the stall of every interval between two of them: it cannot be
 * longer than the smallest of all samples that look back on the whole interval.
 */

/** A sample looks back at least this far, and at most a second further. */
export const REMEMBERED_MS = 10_000;
/** The bound of an interval may come from the second before it, and work ends a moment late. */
const AFTERMATH_MS = 1_500;

/** A snapshot of one node. */
export interface SnapshotSpan {
  readonly node: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface StallSample {
  readonly node: number;
  readonly atMs: number;
  /** The longest stall within the remembered time. */
  readonly stallMs: number;
}

/** The upper bound of a node's stall between two samples. */
export interface StallBound {
  readonly node: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly stallMs: number;
}

/** Cycles that ended within a period. */
export interface RateSample {
  readonly fromMs: number;
  readonly toMs: number;
  readonly cycles: number;
}

export interface Compared {
  readonly without: number;
  readonly with: number;
}

/**
 * The bounds of all intervals of one node that are final: later samples do not look back on them.
 *
 * @param samples of one node, ascending
 */
export function stallBounds(samples: readonly StallSample[]): StallBound[] {
  const bounds: StallBound[] = [];
  for (const [index, { node, atMs: toMs }] of samples.entries()) {
    const before = samples[index - 1];
    if (before === undefined) continue;
    const fromMs = before.atMs;
    const beyond = samples.findIndex(({ atMs }) => atMs - REMEMBERED_MS > fromMs);
    if (beyond === -1) break;
    const covering = samples.slice(index, Math.max(beyond, index + 1));
    const stallMs = Math.min(...covering.map((sample) => sample.stallMs));
    bounds.push({ node, fromMs, toMs, stallMs });
  }
  return bounds;
}

/**
 * The largest stall of each kind. "With": during one of the node's own snapshots. "Without": while
 * no node took one, because nodes of one machine slow each other down.
 */
export function comparedStalls(
  bounds: readonly StallBound[],
  spans: readonly SnapshotSpan[],
): Compared {
  const largest = { without: 0, with: 0 };
  for (const bound of bounds) {
    const own = spans.filter(({ node }) => node === bound.node);
    if (isTouched(bound, own)) largest.with = Math.max(largest.with, bound.stallMs);
    else if (!isTouched(bound, spans)) {
      largest.without = Math.max(largest.without, bound.stallMs);
    }
  }
  return largest;
}

/** Cycles per second outside of all snapshots and during any; 0 if there is no such time. */
export function comparedRates(
  samples: readonly RateSample[],
  spans: readonly SnapshotSpan[],
): Compared {
  return {
    without: rateOf(samples.filter((sample) => !isTouched(sample, spans))),
    with: rateOf(samples.filter((sample) => isTouched(sample, spans))),
  };
}

/** Whether a snapshot was under way during it, or had just ended. */
export function isTouched(
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
  spans: readonly SnapshotSpan[],
): boolean {
  return spans.some((span) => span.fromMs <= toMs && span.toMs + AFTERMATH_MS >= fromMs);
}

function rateOf(samples: readonly RateSample[]): number {
  let cycles = 0;
  let milliseconds = 0;
  for (const { fromMs, toMs, cycles: each } of samples) {
    cycles += each;
    milliseconds += toMs - fromMs;
  }
  return milliseconds === 0 ? 0 : Math.round((cycles / milliseconds) * 1_000);
}
