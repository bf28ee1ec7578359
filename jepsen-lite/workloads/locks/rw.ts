/** Shared and exclusive locks, with upgrades and downgrades on the way. */
import type { Lock } from "../../sdk.js";
import { acquire, grantOf, hold, release } from "../lock-operations.js";
import type { Task, Workload } from "../workload.js";

export const rw: Workload = {
  name: "rw",
  about: "shared and exclusive locks, upgrades and downgrades",
  model: "lock",
  compares: ["exactly-once"],
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    const mode = random.chance(0.7) ? "shared" : "exclusive";
    const wish = { mode, waitMs: random.pick([0, 300, 2_000]) } as const;
    const lock = await acquire(task, key, wish, () => client.acquire(key, wish));
    if (lock === undefined) return;
    await hold(task, lock, random.integer(0, 30));
    if (random.chance(0.2)) await convert(task, lock, key);
    await release(task, lock, key);
  },
};

async function convert(task: Task, lock: Lock, key: string): Promise<void> {
  const { token, mode } = lock;
  const operation = { key, value: { token } };
  if (mode === "exclusive") {
    await task.record({ f: "downgrade", ...operation }, () => lock.downgrade());
  } else {
    const upgrade = () => lock.upgrade({ waitMs: 300 });
    await task.record({ f: "upgrade", ...operation }, upgrade, () => grantOf(task, lock));
  }
  await hold(task, lock, task.random.integer(0, 10));
}
