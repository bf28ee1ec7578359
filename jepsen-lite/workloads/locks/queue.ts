/**
 * The order of a queue: all clients wait for the same few locks and are granted them in the order
 * in which the requests arrived. `inspect` is called during the wait to find and note when a
 * request has its place.
 */
import type { Task } from "../../sdk.js";
import { acquire, hold, release } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";

const KEYS_MAX = 2;
/** One worker of each client, so that the time it takes does not grow with the number of workers. */
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
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys.slice(0, KEYS_MAX));
    const task = client.task();
    const { waitsMs, holdMs } = worker.index === 0 ? PATIENT : HASTY;
    const waitMs = random.pick<number>(waitsMs);
    const place = new AbortController();
    const wait = async () => {
      const granted = client.acquire(key, { waitMs, task });
      void notePlace(worker, key, task, AbortSignal.any([worker.signal, place.signal]));
      return granted.finally(() => place.abort());
    };
    const lock = await acquire(worker, key, { waitMs }, wait, task.id);
    if (lock === undefined) return;
    await hold(worker, lock, random.integer(holdMs[0], holdMs[1]));
    await release(worker, lock, key);
    await worker.sleep(random.integer(0, 60));
  },
};

async function notePlace(
  worker: Worker,
  key: string,
  task: Task,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { waiters } = await worker.client.inspect(key, { signal });
    const { session } = worker.client;
    const isQueued = waiters.some((each) => each.session === session && each.task === task.id);
    if (isQueued && !signal.aborted) worker.note({ f: "queued", key, task: task.id });
  } catch {
    // Granted meanwhile, or no answer: then nothing is known about its place.
  }
}
