/** Exclusive locks on a few keys: tries, limited waits and head starts, each held for a moment. */
import { acquire, hold, release } from "../lock-operations.js";
import { inspect, watchKeys } from "../watching.js";
import type { PlainTask, Workload } from "../workload.js";

export const mutex: Workload = {
  name: "mutex",
  about: "exclusive locks: tries, limited waits, head starts; a watcher in each client",
  model: "lock",
  compares: ["exactly-once", "watches", "denials"],
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    if (random.chance(0.1)) {
      await inspect(task, key);
      return;
    }
    const waitMs = random.pick([0, 200, 2_000]);
    const priority = random.chance(0.1) ? random.integer(1, 5) : 0;
    const wish = { mode: "exclusive", waitMs, priority } as const;
    const take = (value: string) => client.acquire(key, { ...wish, value });
    const lock = await acquire(task, key, wish, take);
    if (lock === undefined) return;
    await hold(task, lock, random.chance(0.01) ? task.ttlMs : random.integer(0, 20));
    await release(task, lock, key);
  },
  plainStep: plainRound,
  background: (task) => watchKeys(task, "mutex/"),
};

async function plainRound(task: PlainTask): Promise<void> {
  const { locks, random } = task;
  const key = random.pick(task.keys);
  const wish = { waitMs: random.pick([0, 200, 2_000]) };
  const lock = await acquire(task, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await hold(task, lock, random.integer(0, 20));
  await release(task, lock, key);
}
