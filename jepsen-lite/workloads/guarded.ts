/**
 * The purpose of locks: several clients read a value of a store, think, and write the next one,
 * under a lock. The client deliberately does not check its lock again before it writes: a check
 * before an action does not protect from a pause between the two. Fenced, the store refuses a token
 * older than one it has seen, with reads too; unfenced, it accepts every write, and a holder that
 * was stopped overwrites what others wrote meanwhile.
 */
import { acquire, release } from "./lock-operations.js";
import type { PlainWorker, Workload } from "./workload.js";

const WAIT_MS = 3_000;

const GUARDING = {
  model: "lock",
  compares: ["exactly-once"],
  needsStore: true,
  workersMax: 1,
} as const;

export const guarded: Workload = {
  name: "guarded",
  about: "read, think and write to a store under a lock; --unfenced: without comparing tokens",
  ...GUARDING,
  parts: { store: "updates" },
  step: (worker) => round(worker, worker.isFenced),
  plainStep: (worker) => round(worker, worker.isFenced),
};

export const unfenced: Workload = {
  name: "unfenced",
  about: "the same with a store that compares no tokens: shows what only fencing prevents",
  ...GUARDING,
  parts: { store: "unfenced-updates" },
  step: (worker) => round(worker, false),
  plainStep: (worker) => round(worker, false),
};

async function round(worker: PlainWorker, isFenced: boolean): Promise<void> {
  const { locks, random } = worker;
  const key = random.pick(worker.keys);
  const wish = { waitMs: WAIT_MS };
  const lock = await acquire(worker, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await increment(worker, key, lock.token, isFenced);
  await release(worker, lock, key);
}

/** One update: recorded as one operation whose result contains the value it replaced. */
async function increment(
  worker: PlainWorker,
  key: string,
  token: number,
  isFenced: boolean,
): Promise<void> {
  const value = worker.unique();
  const update = async () => {
    const shown = isFenced ? token : 0;
    const from = await worker.store.read(key, shown);
    if (from === undefined) return { from: 0, to: value, token, isWritten: false };
    // The end of the load must not shorten it: it is the time in which a pause does harm.
    await new Promise((resolve) => setTimeout(resolve, worker.random.integer(20, 250)));
    const isWritten = await worker.store.write(key, value, shown);
    return { from, to: value, token, isWritten };
  };
  const operation = { f: "update", key, value: { to: value, token }, part: "store" };
  await worker.record(operation, update);
}
