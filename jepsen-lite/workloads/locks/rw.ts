/** Shared and exclusive locks, with upgrades and downgrades on the way. */
import type { Lock } from "../../sdk.js";
import { acquire, grantOf, hold, release } from "../lock-operations.js";
import type { Worker, Workload } from "../workload.js";

export const rw: Workload = {
  name: "rw",
  about: "shared and exclusive locks, upgrades and downgrades",
  model: "lock",
  compares: ["exactly-once"],
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    const mode = random.chance(0.7) ? "shared" : "exclusive";
    const wish = { mode, waitMs: random.pick([0, 300, 2_000]) } as const;
    const lock = await acquire(worker, key, wish, () => client.acquire(key, wish));
    if (lock === undefined) return;
    await hold(worker, lock, random.integer(0, 30));
    if (random.chance(0.2)) await convert(worker, lock, key);
    await release(worker, lock, key);
  },
};

async function convert(worker: Worker, lock: Lock, key: string): Promise<void> {
  const { token, mode } = lock;
  const operation = { key, value: { token } };
  if (mode === "exclusive") {
    await worker.record({ f: "downgrade", ...operation }, () => lock.downgrade());
  } else {
    const upgrade = () => lock.upgrade({ waitMs: 300 });
    await worker.record({ f: "upgrade", ...operation }, upgrade, () => grantOf(worker, lock));
  }
  await hold(worker, lock, worker.random.integer(0, 10));
}
