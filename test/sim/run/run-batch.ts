/** Runs many seeds on all cores, and sums up their results. */
import { type CoverageSum, withCounts } from "./coverage-report.js";
import { NO_COUNTS, type RunCounts, type SeedResult } from "./seed-result.js";
import type { WorkerPool } from "./worker-pool.js";

export interface BatchOptions {
  readonly firstSeed: number;
  readonly seedCount: number;
  readonly minutesMax: number;
  readonly jobs: number;
  /** Counts what states and events the runs come to. */
  readonly counts?: boolean;
}

export interface BatchSummary extends RunCounts {
  readonly seeds: number;
  readonly simulatedSeconds: number;
  readonly wallSeconds: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly coverage: CoverageSum;
  readonly failures: readonly SeedResult[];
}

/** `onResult` is called after every run; it returns false when that is enough. */
export async function runBatch(
  pool: WorkerPool,
  options: BatchOptions,
  onResult: (soFar: BatchSummary) => boolean,
): Promise<BatchSummary> {
  const startMs = performance.now();
  const untilMs = startMs + options.minutesMax * 60_000;
  let summary: BatchSummary = {
    seeds: 0,
    simulatedSeconds: 0,
    wallSeconds: 0,
    ...NO_COUNTS,
    outcomes: {},
    coverage: {},
    failures: [],
  };
  let seed = options.firstSeed;
  const end = seed + options.seedCount;
  let isEnough = false;
  const work = async (): Promise<void> => {
    while (seed < end && !isEnough && performance.now() < untilMs) {
      const task = { seed, tellsStory: true, counts: options.counts === true };
      seed += 1;
      const result = await pool.run(task);
      summary = withResult(summary, result, (performance.now() - startMs) / 1_000);
      if (!onResult(summary)) isEnough = true;
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  return summary;
}

function withResult(sum: BatchSummary, result: SeedResult, wallSeconds: number): BatchSummary {
  const outcomes = { ...sum.outcomes };
  for (const [name, count] of Object.entries(result.outcomes)) {
    outcomes[name] = (outcomes[name] ?? 0) + count;
  }
  return {
    seeds: sum.seeds + 1,
    simulatedSeconds: sum.simulatedSeconds + result.simulatedMs / 1_000,
    wallSeconds,
    ...added(sum, result),
    outcomes,
    coverage: withCounts(sum.coverage, result.coverage),
    failures: result.failure === undefined ? sum.failures : [...sum.failures, result],
  };
}

function added(sum: RunCounts, run: RunCounts): RunCounts {
  const names = Object.keys(NO_COUNTS) as (keyof RunCounts)[];
  return Object.fromEntries(names.map((name) => [name, sum[name] + run[name]])) as never;
}
