/** Exclusive locks on a few keys: tries, limited waits and head starts, each held for a moment. */
import { acquire, hold, release } from "./lock-operations.js";
import type { PlainTask, Task, Workload } from "./workload.js";

export const mutex: Workload = {
  name: "mutex",
  about: "exclusive locks: tries, limited waits, head starts; a watcher in each client",
  model: "lock",
  compares: ["exactly-once", "watches"],
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    if (random.chance(0.1)) {
      const holdsOf = async () => {
        const view = await client.inspect(key);
        return { holds: view.holds.map(({ token }) => ({ token })) };
      };
      await task.record({ f: "inspect", key }, holdsOf);
      return;
    }
    const waitMs = random.pick([0, 200, 2_000]);
    const priority = random.chance(0.1) ? random.integer(1, 5) : 0;
    const wish = { mode: "exclusive", waitMs, priority } as const;
    const lock = await acquire(task, key, wish, () => client.acquire(key, wish));
    if (lock === undefined) return;
    await hold(task, lock, random.chance(0.01) ? task.ttlMs : random.integer(0, 20));
    await release(task, lock, key);
  },
  plainStep: plainRound,
  background: (task) => watchKeys(task),
};

async function plainRound(task: PlainTask): Promise<void> {
  const { locks, random } = task;
  const key = random.pick(task.keys);
  const wish = { waitMs: random.pick([0, 200, 2_000]) };
  const lock = await acquire(task, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await hold(task, lock, random.integer(0, 20));
  await release(task, lock, key);
}

/** Notes every change of the workload's keys, and opens a new stream if one cannot continue. */
async function watchKeys(task: Task): Promise<void> {
  for (let streams = 0; !task.signal.aborted; streams += 1) {
    const watch = `${task.process}-${streams}`;
    const target = { prefix: "mutex/" };
    try {
      for await (const change of task.client.watch(target, { signal: task.signal })) {
        const { key, revision, token } = change;
        const kind = change.type === "ended" ? change.reason : change.type;
        const value = { watch, revision: [revision.index, revision.number], kind, key, token };
        task.note({ f: "change", key, value });
      }
    } catch {
      // Too far behind, or the session is gone: the next stream begins with the present.
      await task.sleep(100);
    }
  }
}
