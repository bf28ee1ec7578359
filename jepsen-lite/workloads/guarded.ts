/**
 * What locks are for: several clients read a value of a store, think, and write the next one, under
 * a lock. The client deliberately does not look at its lock again before it writes: a check before
 * an act is no protection from a pause between the two. Fenced, the store refuses a token older
 * than one it has seen; unfenced, it takes what comes, and a holder that was stopped overwrites what
 * others wrote meanwhile.
 */
import { acquire, release } from "./lock-operations.js";
import type { Task, Workload } from "./workload.js";

export const guarded: Workload = {
  name: "guarded",
  about: "read, think and write a store under a lock; --unfenced: without comparing tokens",
  model: "lock",
  parts: { store: "updates" },
  needsStore: true,
  tasksMax: 1,
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    const waitMs = 3_000;
    const lock = await acquire(task, key, { waitMs }, () => client.acquire(key, { waitMs }));
    if (lock === undefined) return;
    await increment(task, key, lock.token);
    await release(task, lock, key);
  },
};

/** One update: recorded as one operation whose result names what it replaced. */
async function increment(task: Task, key: string, token: number): Promise<void> {
  const value = task.unique();
  const update = async () => {
    const from = await task.store.read(key);
    // Not to be cut short by the end of the load: it is the time in which a pause does harm.
    await new Promise((resolve) => setTimeout(resolve, task.random.between(20, 250)));
    const isWritten = await task.store.write(key, value, task.isFenced ? token : 0);
    return { from, to: value, token, isWritten };
  };
  const operation = { f: "update", key, value: { to: value, token }, part: "store" };
  await task.record(operation, update);
}
