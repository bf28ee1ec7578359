/** Seeds of the simulator, as many as fit beside the other tests; those that found a bug among them. */
import { availableParallelism } from "node:os";
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors.js";
import { OP, STATUS } from "../../src/protocol/index.js";
import { MUTANTS } from "./mutants/catalogue.js";
import { FAULT_MAKERS } from "./plan/fault-makers.js";
import { planOf } from "./plan/plan-of.js";
import { type BatchSummary, runBatch } from "./run/run-batch.js";
import type { SeedResult } from "./run/seed-result.js";
import { WorkerPool } from "./run/worker-pool.js";

const SEEDS = 200;
const TIMEOUT_MS = 600_000;

/** What every batch of seeds must have seen at least once. */
const OUTCOMES = [
  [OP.acquire, STATUS.granted],
  [OP.acquire, STATUS.queued],
  [OP.acquire, ERROR_NUMBERS.LOCK_HELD],
  [OP.acquire, ERROR_NUMBERS.LOCK_TIMEOUT],
  [OP.release, STATUS.released],
  [OP.release, STATUS.notReleased],
  [OP.cancel, STATUS.ok],
  [OP.cancel, STATUS.released],
  [OP.close, STATUS.ok],
  [OP.inspect, STATUS.ok],
  [OP.transfer, STATUS.ok],
  [OP.changeMember, STATUS.ok],
] as const;

function explained({ seed, failure }: SeedResult): string {
  return `${failure?.message ?? ""}\nrepeat it: npm run sim -- --seed ${seed} --seeds 1`;
}

/** What a seed found before, be it a seeded bug, is worth another look at every change. */
const REMEMBERED = [
  ...MUTANTS.flatMap(({ seeds }) => seeds).filter((seed) => seed > SEEDS),
  // The only voter was down when the storm was over: nobody remembered that it was one, and then
  // only a node that had been away for long.
  209_966,
  303_505,
  // Requests for votes left a hung disk after another voter had joined.
  402_372,
  // A node that was added again, which only its newest entry said, ended itself with the leader.
  506_928,
  // Everybody waited for what a dead client held, and had no wish left when its lease ended.
  600_146,
  607_020,
];

async function withPool<T>(use: (pool: WorkerPool, jobs: number) => Promise<T>): Promise<T> {
  const jobs = availableParallelism();
  const pool = new WorkerPool({ jobs });
  try {
    return await use(pool, jobs);
  } finally {
    pool.close();
  }
}

function runAll(firstSeed: number, seedCount: number): Promise<BatchSummary> {
  const minutesMax = Number.POSITIVE_INFINITY;
  return withPool((pool, jobs) => {
    return runBatch(pool, { firstSeed, seedCount, minutesMax, jobs }, () => true);
  });
}

let firstBatch: Promise<BatchSummary> | undefined;

/** Run once for all tests that look at it. */
function firstSeeds(): Promise<BatchSummary> {
  firstBatch ??= runAll(1, SEEDS);
  return firstBatch;
}

describe("whole clusters on lying disks, broken networks and drifting clocks", () => {
  test(
    `keep every promise through ${SEEDS} seeds, and do in them what clients can do`,
    async () => {
      const summary = await firstSeeds();
      expect(summary.failures.map(explained)).toEqual([]);
      expect(summary.seeds).toBe(SEEDS);
      for (const [op, status] of OUTCOMES) {
        expect(summary.outcomes[`${op}/${status}`], `op ${op} with ${status}`).toBeGreaterThan(0);
      }
      // A harness that never sees these proves nothing about them.
      expect(summary.quarantines).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  // Where a paused holder that forgets its deadline is never seen beside the next one, the check of
  // exclusion sees nothing.
  test(
    "see that two hold at once who do not look at their deadline",
    async () => {
      expect((await firstSeeds()).overlapsWithoutDeadline).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    "keep them through every seed that found a seeded bug",
    async () => {
      const seeds = [...new Set(REMEMBERED)];
      const results = await withPool((pool) => {
        return Promise.all(seeds.map((seed) => pool.run({ seed, tellsStory: false })));
      });
      const failed = results.filter(({ failure }) => failure !== undefined);
      expect(failed.map(explained)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});

test("every kind of fault is planned by some of the first seeds", () => {
  const kinds = new Set<string>();
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    for (const { kind } of planOf(seed).faults) kinds.add(kind);
  }
  expect([...kinds].sort()).toEqual(Object.keys(FAULT_MAKERS).sort());
});
