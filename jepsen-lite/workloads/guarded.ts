/**
 * The purpose of locks: several clients read a value of a store, think, and write the next one,
 * under a lock. The client deliberately does not check its lock again before it writes: a check
 * before an action does not protect from a pause between the two. Fenced, the store refuses a token
 * older than one it has seen, with reads too; unfenced, it accepts every write, and a holder that
 * was stopped overwrites what others wrote meanwhile.
 */
import { acquire, release } from "./lock-operations.js";
import type { PlainTask, Workload } from "./workload.js";

const WAIT_MS = 3_000;

const GUARDING = {
  model: "lock",
  compares: ["exactly-once"],
  needsStore: true,
  tasksMax: 1,
} as const;

export const guarded: Workload = {
  name: "guarded",
  about: "read, think and write to a store under a lock; --unfenced: without comparing tokens",
  ...GUARDING,
  parts: { store: "updates" },
  step: (task) => round(task, task.isFenced),
  plainStep: (task) => round(task, task.isFenced),
};

export const unfenced: Workload = {
  name: "unfenced",
  about: "the same with a store that compares no tokens: shows what only fencing prevents",
  ...GUARDING,
  parts: { store: "unfenced-updates" },
  step: (task) => round(task, false),
  plainStep: (task) => round(task, false),
};

async function round(task: PlainTask, isFenced: boolean): Promise<void> {
  const { locks, random } = task;
  const key = random.pick(task.keys);
  const wish = { waitMs: WAIT_MS };
  const lock = await acquire(task, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await increment(task, key, lock.token, isFenced);
  await release(task, lock, key);
}

/** One update: recorded as one operation whose result contains the value it replaced. */
async function increment(
  task: PlainTask,
  key: string,
  token: number,
  isFenced: boolean,
): Promise<void> {
  const value = task.unique();
  const update = async () => {
    const shown = isFenced ? token : 0;
    const from = await task.store.read(key, shown);
    if (from === undefined) return { from: 0, to: value, token, isWritten: false };
    // The end of the load must not shorten it: it is the time in which a pause does harm.
    await new Promise((resolve) => setTimeout(resolve, task.random.integer(20, 250)));
    const isWritten = await task.store.write(key, value, shown);
    return { from, to: value, token, isWritten };
  };
  const operation = { f: "update", key, value: { to: value, token }, part: "store" };
  await task.record(operation, update);
}
