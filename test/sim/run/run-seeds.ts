/** Batches of seeds for tests, on all cores. */
import { availableParallelism } from "node:os";
import { type BatchSummary, runBatch } from "./run-batch.js";
import type { SeedResult } from "./seed-result.js";
import { WorkerPool } from "./worker-pool.js";

/** What is needed to see a failure again. */
export function explained({ seed, failure }: SeedResult): string {
  return `${failure?.message ?? ""}\nrepeat it: npm run sim -- --seed ${seed} --seeds 1`;
}

async function withPool<T>(use: (pool: WorkerPool, jobs: number) => Promise<T>): Promise<T> {
  const jobs = availableParallelism();
  const pool = new WorkerPool({ jobs });
  try {
    return await use(pool, jobs);
  } finally {
    pool.close();
  }
}

/** `seedCount` seeds, one after the other. */
export function runRange(firstSeed: number, seedCount: number): Promise<BatchSummary> {
  const minutesMax = Number.POSITIVE_INFINITY;
  return withPool((pool, jobs) => {
    return runBatch(pool, { firstSeed, seedCount, minutesMax, jobs }, () => true);
  });
}

export function runSeeds(seeds: readonly number[]): Promise<SeedResult[]> {
  return withPool((pool) => {
    return Promise.all(seeds.map((seed) => pool.run({ seed, tellsStory: false })));
  });
}
