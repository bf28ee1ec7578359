/**
 * A workload for jepsen-lite: one task hands a lock over, and the next adopts it. Run it with
 *   npm run jepsen -- --workload ./examples/jepsen-workload.ts --nemesis kill,partition
 */
import type { Workload } from "../jepsen-lite/index.js";
import { type ErrorCode, HoldfastError } from "../src/index.js";

export const workload: Workload = {
  name: "relay",
  about: "a lock is handed over by one task and adopted by the next",
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
    const handed = await task.record(
      { f: "hand-over", key, value },
      async () => {
        const given = await lock.handOver({ ttlMs: 5_000 });
        return given.confirmed ? given : fail("UNAVAILABLE", true);
      },
      () => undefined,
    );
    if (handed === undefined) return;
    const adopted = await task.record(
      { f: "adopt", key, value },
      async () => (await client.adopt(handed)).locks[0] ?? fail("NOT_HELD", false),
      ({ token }) => ({ token }),
    );
    if (adopted === undefined) return;
    const held = { f: "release", key, value: { token: adopted.token } };
    await task.record(held, () => adopted.release());
  },
};

function fail(code: ErrorCode, indeterminate: boolean): never {
  throw new HoldfastError(code, "it was not adopted", { details: { indeterminate } });
}
