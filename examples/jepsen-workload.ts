/**
 * A workload for jepsen-lite: a lock is handed over to another task as a ticket. Run it with
 *
 *   npm run jepsen -- --workload ./examples/jepsen-workload.ts --nemesis kill,partition
 */
import type { Workload } from "../jepsen-lite/index.js";

export const workload: Workload = {
  name: "relay",
  about: "a lock is detached by one task and claimed by the next",
  model: "lock",
  async step(task) {
    const { client, random } = task;
    const key = random.pick(task.keys);
    const asked = { f: "acquire", key, value: { waitMs: 1_000, ttlMs: task.ttlMs } };
    const lock = await task.record(
      asked,
      () => client.acquire(key, { waitMs: 1_000 }),
      ({ token, remainingMs }) => ({ token, untilNs: task.now() + remainingMs * 1_000_000 }),
    );
    if (lock === undefined) return;
    const value = { token: lock.token };
    lock.signal.addEventListener("abort", () => {
      if (lock.signal.reason?.code === "LOCK_LOST") task.note({ f: "lost", key, value });
    });
    const ticket = await task.record(
      { f: "detach", key, value },
      () => lock.detach({ ticketTtlMs: 5_000 }),
      () => undefined,
    );
    if (ticket === undefined) return;
    const claimed = await task.record(
      { f: "claim", key, value },
      () => client.claim(ticket),
      ({ token }) => ({ token }),
    );
    if (claimed === undefined) return;
    await task.sleep(random.integer(0, 20));
    const held = { f: "release", key, value: { token: claimed.token } };
    await task.record(held, () => claimed.release());
  },
};
