/**
 * A linearizable register made of locks: the limit of a semaphore is a replicated setting of its
 * key, written by `setLimit` and read by `inspect`. It has no leases, so any standard model of a
 * register can judge it.
 */
import type { Worker, Workload } from "./workload.js";

const VALUES = 1_000_000;

export const register: Workload = {
  name: "register",
  about: "reads and writes of a value in the table, checked by the standard register model",
  model: "register",
  workersMax: 2,
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    if (random.chance(0.6)) {
      await read(worker, key);
    } else {
      const value = random.integer(1, VALUES);
      await worker.record({ f: "write", key, value }, () => client.setLimit(key, value));
    }
    await worker.sleep(random.integer(0, 20));
  },
  finalRead: (worker, key) => read(worker, key),
};

async function read(worker: Worker, key: string): Promise<void> {
  const limitNow = async () => {
    const { limit } = await worker.client.inspect(key);
    return { value: limit === 0 ? null : limit };
  };
  await worker.record({ f: "read", key }, limitNow, ({ value }) => value);
}
