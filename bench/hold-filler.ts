/** Fills the table with locks that stay held, as fast as the cluster grants them. */
import type { Client } from "../src/index.js";

/** Acquires under way at once, over all clients. */
const IN_FLIGHT = 1_024;

/**
 * Acquires `prefix/<n>` for every n below `count` and keeps them. Rejects with the first failure, or
 * when `signal` is aborted.
 *
 * @param onProgress called with how many are held by now, after each grant
 */
export async function fillTable(
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
