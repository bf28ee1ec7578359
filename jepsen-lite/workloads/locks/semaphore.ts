/** Permits: one to three of four, with their slots. */
import { acquire, hold, release } from "../lock-operations.js";
import type { Workload } from "../workload.js";

const LIMIT = 4;

export const semaphore: Workload = {
  name: "semaphore",
  about: "one to three permits of four, and their slots",
  model: "lock",
  compares: ["exactly-once"],
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    const permits = random.integer(1, 3);
    const waitMs = random.pick([0, 500, 2_000]);
    const permitsOf = () => client.semaphore(key, { limit: LIMIT }).acquire({ permits, waitMs });
    const lock = await acquire(task, key, { permits, limit: LIMIT, waitMs }, permitsOf);
    if (lock === undefined) return;
    await hold(task, lock, random.integer(0, 30));
    await release(task, lock, key);
  },
};
