/** Fills the table with locks that stay held, as fast as the cluster grants them. */
import type { Client } from "../../src/index.js";
import { fetchFigures } from "../cluster/node-pages.js";
import type { OwnCluster } from "../cluster/own-cluster.js";
import { until } from "../cluster/until.js";
import { tenths } from "../measures/statistics.js";
import type { Progress } from "../progress.js";

/** Acquires in flight at the same time, over all clients. */
const IN_FLIGHT = 1_024;
/** A fill that takes longer is given up. */
const FILL_MS_MAX = 1_800_000;
/** How many times a long fill shows its progress. */
const PROGRESS_STEPS = 200;

/**
 * Acquires `prefix/<n>` for every n below `count` and keeps the locks. Resolves with the seconds it
 * took, when every node has them all; rejects with the first failure, or if `signal` is aborted.
 */
export async function fillTable(
  cluster: OwnCluster,
  clients: readonly Client[],
  prefix: string,
  count: number,
  progress: Progress,
  signal: AbortSignal,
): Promise<number> {
  const startMs = performance.now();
  const step = Math.max(1, Math.floor(count / PROGRESS_STEPS));
  const bounded = AbortSignal.any([signal, AbortSignal.timeout(FILL_MS_MAX)]);
  await acquireAll(clients, prefix, count, bounded, (held) => {
    if (held % step === 0) progress.show(`${held} of ${count} locks are held`);
  });
  for (const { id, endpoint } of cluster.nodes) {
    const hasAll = async () => ((await fetchFigures(endpoint))?.holds ?? 0) >= count;
    await until(`node ${id} to have every hold`, hasAll, signal);
  }
  return tenths((performance.now() - startMs) / 1_000);
}

/** @param onProgress called after each grant with the number of locks held */
async function acquireAll(
  clients: readonly Client[],
  prefix: string,
  count: number,
  signal: AbortSignal,
  onProgress: (held: number) => void,
): Promise<void> {
  let next = 0;
  let held = 0;
  const options = { signal };
  const work = async (client: Client): Promise<void> => {
    while (next < count) {
      const key = `${prefix}/${next}`;
      next += 1;
      await client.acquire(key, options);
      held += 1;
      onProgress(held);
    }
  };
  const workers = Array.from({ length: IN_FLIGHT }, (_, index) =>
    work(clients[index % clients.length] as Client),
  );
  await Promise.all(workers);
}
