/** A task takes a lock that it holds once or twice again, and releases it as often. */
import { acquire, hold, release } from "../lock-operations.js";
import type { Workload } from "../workload.js";

export const reentrant: Workload = {
  name: "reentrant",
  about: "the same task takes a lock two or three times",
  model: "lock",
  compares: ["exactly-once"],
  workersMax: 2,
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    const task = client.task();
    const wish = { waitMs: random.pick([0, 500, 2_000]), reentrant: true };
    const again = () => client.acquire(key, { ...wish, task });
    const locks = [];
    for (let depth = random.integer(1, 3); depth > 0; depth -= 1) {
      const lock = await acquire(worker, key, wish, again, task.id);
      if (lock === undefined) break;
      locks.push(lock);
      await hold(worker, lock, random.integer(0, 10));
    }
    for (const lock of locks.reverse()) await release(worker, lock, key);
  },
};
