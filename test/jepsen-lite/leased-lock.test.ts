/** Locks of peers, in the words of the workloads. */
import { once } from "node:events";
import { expect, test } from "vitest";
import { failureOf } from "../../jepsen-lite/clients/outcome.js";
import { HoldfastError } from "../../jepsen-lite/sdk.js";
import { LeasedLock, refused, unanswered } from "../../jepsen-lite/workloads/leases/leased-lock.js";

const giveBack = async () => ({ released: true }) as const;
const inMs = (milliseconds: number) => performance.now() + milliseconds;

test("a lock that nobody renews is lost when its lease runs out, with the reason", async () => {
  const lock = new LeasedLock({ token: 5, untilMs: inMs(20), giveBack });
  // Its own timer keeps no process alive; the test waits for it.
  const alive = setInterval(() => undefined, 1_000);
  await once(lock.signal, "abort");
  clearInterval(alive);
  expect([lock.isHeld, lock.remainingMs]).toEqual([false, 0]);
  expect(lock.signal.reason).toBeInstanceOf(HoldfastError);
  expect((lock.signal.reason as HoldfastError).details).toEqual({ token: 5, reason: "expired" });
  lock.extend(inMs(60_000));
  expect(lock.isHeld, "what was lost stays lost").toBe(false);
});

test("a renewal moves the deadline, and never back", () => {
  const lock = new LeasedLock({ token: 5, untilMs: inMs(30_000), giveBack });
  lock.extend(inMs(60_000));
  expect(lock.remainingMs).toBeGreaterThan(50_000);
  lock.extend(inMs(10_000));
  expect(lock.remainingMs).toBeGreaterThan(50_000);
});

test("a lock that was given back is not a lost one", async () => {
  const lock = new LeasedLock({ token: 5, untilMs: inMs(30_000), giveBack });
  expect(await lock.release()).toEqual({ released: true });
  expect(lock.isHeld).toBe(false);
  expect(lock.signal.reason).not.toBeInstanceOf(HoldfastError);
});

test("only what a service refused did not happen", () => {
  expect(failureOf(refused("k", 0))).toEqual({ type: "fail", error: "LOCK_HELD" });
  expect(failureOf(refused("k", 100))).toEqual({ type: "fail", error: "LOCK_TIMEOUT" });
  expect(failureOf(unanswered("k", new Error("reset")))).toMatchObject({ type: "info" });
  expect(failureOf(unanswered("k", "a replica", false))).toMatchObject({ type: "fail" });
  const details = { waitMs: 100, decidedBy: "client" };
  const guess = new HoldfastError("LOCK_TIMEOUT", "nobody answered", { details });
  expect(failureOf(guess)).toEqual({ type: "info", error: "LOCK_TIMEOUT" });
});
