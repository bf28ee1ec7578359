/** Several keys in one step, locks and permits mixed: all or none. */
import type { WantedItem } from "../../sdk.js";
import { acquire, hold, release } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";

const POOL_LIMIT = 3;

export const multi: Workload = {
  name: "multi",
  about: "two or three keys in one atomic request, locks and permits mixed",
  model: "lock",
  compares: ["exactly-once"],
  async step(worker) {
    const { client, random } = worker;
    const items = itemsOf(worker);
    const waitMs = random.pick([0, 500, 2_000]);
    const wish = { items, waitMs };
    const lock = await acquire(worker, undefined, wish, () => client.acquireAll(items, { waitMs }));
    if (lock === undefined) return;
    await hold(worker, lock, random.integer(0, 20));
    await release(worker, lock);
  },
};

function itemsOf({ random, keys }: Worker): WantedItem[] {
  const items: WantedItem[] = random
    .sample(keys, random.integer(1, Math.min(2, keys.length)))
    .map((key) => ({ key, mode: random.chance(0.3) ? "shared" : "exclusive" }));
  if (items.length < 2 || random.chance(0.3)) {
    items.push({ key: "multi/pool", permits: random.integer(1, 2), limit: POOL_LIMIT });
  }
  return items;
}
