/**
 * What users of the npm package `redlock` reported, played against this SDK. Each scenario would
 * show the reported symptom if the same thing were wrong here.
 */
import { describe, expect, test } from "vitest";
import { setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";

describe("redlock #296: a lock that was waited for is over before it is handed out", () => {
  // Fails if the time of a lock is counted from the first try instead of from what renewed it last.
  test("since its time is counted from the first try", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    const two = await connectTo(server, { ttlMs: 2_000 });
    const held = await world.until(one.client.acquire("k"));
    const waiting = two.client.acquire("k");
    await world.run(7_000);
    await world.until(held.release());
    const lock = await world.until(waiting);
    // What is left is a lease renewed a quarter of the TTL ago, less the margin.
    expect(lock.remainingMs).toBeGreaterThan(1_200);
    await world.run(6_000);
    expect(lock.isHeld).toBe(true);
    expect(lock.remainingMs).toBeGreaterThan(1_000);
  });

  // Fails if a grant is handed out with what is left of a lease that is over.
  test("or since nothing was heard of the cluster for longer than the lease", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server, { ttlMs: 2_000 });
    const held = await world.until(one.client.acquire("k"));
    const waiting = two.client.acquire("k");
    await world.run(100);
    two.platform.stop();
    await world.run(1_200);
    await world.until(held.release());
    await world.run(300);
    // The session of `two` still lives in the table, but its own count of the lease is over.
    two.platform.jumpWallClock(10_000);
    two.platform.goOn();
    const lock = await world.until(waiting);
    expect([lock.isHeld, lock.remainingMs > 1_000]).toEqual([true, true]);
    expect(server.isHeld("k", lock.token)).toBe(true);
  });
});

describe("redlock #168: to release a lock that has expired is an error", () => {
  // Fails if the end of a lock makes its release reject, or report what did not happen.
  test("instead of an answer that says why there was nothing to release", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(one.client.acquire("k"));
    one.platform.stop();
    const next = await world.until(two.client.acquire("k"));
    one.platform.goOn();
    expect(await world.until(lock.release())).toEqual({ released: false, reason: "expired" });
    expect(await world.until(lock.release())).toEqual({ released: false, reason: "expired" });
    expect(next.isHeld).toBe(true);
  });

  // Fails if the release at the end of a callback takes the place of the callback's own error.
  test("which hides the error of the work that was done under it", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 2_000 });
    const own = new Error("of the work itself");
    const using = client.using("k", async (lock) => {
      await new Promise<void>((resolve) => {
        lock.signal.addEventListener("abort", () => resolve());
      });
      throw own;
    });
    await world.run(100);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await expect(world.until(using)).rejects.toBe(own);
  });
});
