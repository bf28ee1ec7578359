/** What happens to a lock whose client died or was paused. Real processes. */
import { expect, test } from "vitest";
import { connect, type HoldfastError } from "../../src/index.js";
import { startCluster } from "./world/cluster-process.js";
import { startHolder } from "./world/holder-process.js";

const TTL_MS = 4_000;
/** While anything waits for time, entries are at most so far apart. */
const STAMP_INTERVAL_MS = 1_000;

test("a client killed while holding: the next waiter is granted after the lease, not before", async () => {
  await using cluster = await startCluster();
  await using client = await connect({ endpoints: cluster.endpoints });
  await using holder = await startHolder(cluster.endpoints, "orders/1", TTL_MS);
  const waiting = client.acquire("orders/1", { waitMs: 30_000 });

  await holder.kill("SIGKILL");
  // The lease that is left at the table, read after the holder can have renewed it for the last time.
  const askedAtMs = performance.now();
  const view = await client.inspect("orders/1");
  const [hold] = view.holds;
  expect(hold?.token).toBe(holder.token);

  const lock = await waiting;
  const waitedMs = performance.now() - askedAtMs;
  expect(lock.token).toBeGreaterThan(holder.token);
  // Not a statement about speed: cluster time never runs faster than true time, so nobody may get
  // the lock before what was left of the lease has really passed. A read writes nothing, so what it
  // shows is as of the last entry, which lies at most a second back.
  const leftMs = (hold?.leaseMs ?? Number.POSITIVE_INFINITY) - STAMP_INTERVAL_MS;
  expect(waitedMs).toBeGreaterThanOrEqual(leftMs - 1);
});

test("a client paused beyond its lease: its signal is aborted on waking and its release is harmless", async () => {
  await using cluster = await startCluster();
  await using client = await connect({ endpoints: cluster.endpoints });
  await using holder = await startHolder(cluster.endpoints, "orders/2", TTL_MS);
  const waiting = client.acquire("orders/2", { waitMs: 30_000 });

  holder.pause();
  const lock = await waiting;
  expect(lock.token).toBeGreaterThan(holder.token);

  holder.resume();
  const loss = await holder.lost();
  expect(loss).toEqual({ code: "LOCK_LOST" satisfies HoldfastError["code"], reason: "expired" });
  // The first thing it saw of its lock after waking was the loss, as early as a timer can look.
  expect(await holder.heldOnWaking()).toBe(false);

  const released = await holder.release();
  expect(released.released).toBe(false);
  const view = await client.inspect("orders/2");
  expect(view.holds.map((hold) => hold.token)).toEqual([lock.token]);
  expect(lock.isHeld).toBe(true);
});
