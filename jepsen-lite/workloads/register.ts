/**
 * A linearizable register made of locks: the limit of a semaphore is a replicated setting of its
 * key, written by `setLimit` and read by `inspect`. It has no leases, so any standard model of a
 * register can judge it.
 */
import type { Task, Workload } from "./workload.js";

const VALUES = 1_000_000;

export const register: Workload = {
  name: "register",
  about: "reads and writes of a value in the table, checked by the standard register model",
  model: "register",
  tasksMax: 2,
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    if (random.chance(0.6)) {
      await read(task, key);
    } else {
      const value = random.integer(1, VALUES);
      await task.record({ f: "write", key, value }, () => client.setLimit(key, value));
    }
    await task.sleep(random.integer(0, 20));
  },
  finalRead: (task, key) => read(task, key),
};

async function read(task: Task, key: string): Promise<void> {
  const limitNow = async () => {
    const { limit } = await task.client.inspect(key);
    return { value: limit === 0 ? null : limit };
  };
  await task.record({ f: "read", key }, limitNow, ({ value }) => value);
}
