/** Exclusive locks on a few keys: tries, limited waits and head starts, each held for a moment. */
import { acquire, hold, release } from "../lock-operations.js";
import { inspect, watchKeys } from "../watching.js";
import type { PlainWorker, Workload } from "../workload.js";

export const mutex: Workload = {
  name: "mutex",
  about: "exclusive locks: tries, limited waits, head starts; a watcher in each client",
  model: "lock",
  compares: ["exactly-once", "watches", "denials"],
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    if (random.chance(0.1)) {
      await inspect(worker, key);
      return;
    }
    const waitMs = random.pick([0, 200, 2_000]);
    const priority = random.chance(0.1) ? random.integer(1, 5) : 0;
    const wish = { mode: "exclusive", waitMs, priority } as const;
    const take = (value: string) => client.acquire(key, { ...wish, value });
    const lock = await acquire(worker, key, wish, take);
    if (lock === undefined) return;
    await hold(worker, lock, random.chance(0.01) ? worker.ttlMs : random.integer(0, 20));
    await release(worker, lock, key);
  },
  plainStep: plainRound,
  background: (worker) => watchKeys(worker, "mutex/"),
};

async function plainRound(worker: PlainWorker): Promise<void> {
  const { locks, random } = worker;
  const key = random.pick(worker.keys);
  const wish = { waitMs: random.pick([0, 200, 2_000]) };
  const lock = await acquire(worker, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await hold(worker, lock, random.integer(0, 20));
  await release(worker, lock, key);
}
