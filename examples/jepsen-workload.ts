/**
 * A workload for jepsen-lite: one worker hands a lock over, and the next adopts it. Run it with
 *   npm run jepsen -- --workload ./examples/jepsen-workload.ts --nemesis kill,partition
 */
import type { Workload } from "../jepsen-lite/index.js";
import { type ErrorCode, HoldfastError } from "../src/index.js";

export const workload: Workload = {
  name: "relay",
  about: "a lock is handed over by one worker and adopted by the next",
  model: "lock",
  async step(worker) {
    const { client, random } = worker;
    const key = random.pick(worker.keys);
    const asked = { f: "acquire", key, value: { waitMs: 1_000, ttlMs: worker.ttlMs } };
    const lock = await worker.record(
      asked,
      () => client.acquire(key, { waitMs: 1_000 }),
      ({ token, remainingMs }) => ({ token, untilNs: worker.now() + remainingMs * 1_000_000 }),
    );
    if (lock === undefined) return;
    const value = { token: lock.token };
    lock.signal.addEventListener("abort", () => {
      if (lock.signal.reason?.code === "LOCK_LOST") worker.note({ f: "lost", key, value });
    });
    const handed = await worker.record(
      { f: "hand-over", key, value },
      async () => {
        const given = await lock.handOver({ ttlMs: 5_000 });
        return given.confirmed ? given : fail("UNAVAILABLE", true);
      },
      () => undefined,
    );
    if (handed === undefined) return;
    const adopted = await worker.record(
      { f: "adopt", key, value },
      async () => (await client.adopt(handed)).locks[0] ?? fail("NOT_HELD", false),
      ({ token }) => ({ token }),
    );
    if (adopted === undefined) return;
    const held = { f: "release", key, value: { token: adopted.token } };
    await worker.record(held, () => adopted.release());
  },
};

function fail(code: ErrorCode, indeterminate: boolean): never {
  throw new HoldfastError(code, "it was not adopted", { details: { indeterminate } });
}
