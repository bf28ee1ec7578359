/**
 * The order of a queue: all clients wait for the same few locks and are granted them in the order
 * in which the requests arrived. `inspect` is called during the wait to find and note when a
 * request has its place.
 */
import type { Task as LockTask } from "../../sdk.js";
import { acquire, hold, release } from "../lock-operations.js";
import type { Task, Workload } from "../workload.js";

const KEYS_MAX = 2;
/** One task of each client, so that the time it takes does not grow with the number of tasks. */
const PATIENT = {
  /**
   * The longest is longer than the end of a run takes: a forgotten request waits to the last line.
   */
  waitsMs: [3_000, 10_000, 40_000],
  /** Long enough for a holder to die while a request waits for it. */
  holdMs: [100, 300],
} as const;
const HASTY = { waitsMs: [3_000, 10_000], holdMs: [0, 15] } as const;

export const queue: Workload = {
  name: "queue",
  about: "long queues: grants in the order in which requests arrived",
  model: "lock",
  compares: ["exactly-once", "order", "leases", "wake-ups"],
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys.slice(0, KEYS_MAX));
    const asker = client.task();
    const { waitsMs, holdMs } = task.index === 0 ? PATIENT : HASTY;
    const waitMs = random.pick<number>(waitsMs);
    const place = new AbortController();
    const wait = async () => {
      const granted = client.acquire(key, { waitMs, task: asker });
      void notePlace(task, key, asker, AbortSignal.any([task.signal, place.signal]));
      return granted.finally(() => place.abort());
    };
    const lock = await acquire(task, key, { waitMs }, wait, asker.id);
    if (lock === undefined) return;
    await hold(task, lock, random.integer(holdMs[0], holdMs[1]));
    await release(task, lock, key);
    await task.sleep(random.integer(0, 60));
  },
};

async function notePlace(
  task: Task,
  key: string,
  asker: LockTask,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { waiters } = await task.client.inspect(key, { signal });
    const { session } = task.client;
    const isQueued = waiters.some((each) => each.session === session && each.task === asker.id);
    if (isQueued && !signal.aborted) task.note({ f: "queued", key, owner: asker.id });
  } catch {
    // Granted meanwhile, or no answer: then nothing is known about its place.
  }
}
