/** Permits: one to three of four, with their slots. */
import { acquire, hold, release } from "../lock-operations.js";
import type { Workload } from "../workload.js";

const LIMIT = 4;

export const semaphore: Workload = {
  name: "semaphore",
  about: "one to three permits of four, and their slots",
  model: "lock",
  compares: ["exactly-once"],
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    const permits = random.integer(1, 3);
    const waitMs = random.pick([0, 500, 2_000]);
    const permitsOf = () => client.semaphore(key, { limit: LIMIT }).acquire({ permits, waitMs });
    const lock = await acquire(worker, key, { permits, limit: LIMIT, waitMs }, permitsOf);
    if (lock === undefined) return;
    await hold(worker, lock, random.integer(0, 30));
    await release(worker, lock, key);
  },
};
