/** The use of one lock: the callback of `using`, the release, and the lock's signal. */
import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/client/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("a lock in use", () => {
  it("is released when the callback is done, and its result is returned", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const result = await world.until(
      client.using("k", { mode: "shared" }, (lock) => `${lock.mode} ${lock.isHeld}`),
    );
    expect(result).toBe("shared true");
    expect(server.table.counts().holds).toBe(0);
  });

  it("is released when the callback fails, and the callback's error wins over everything", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const mistake = new Error("mistake");
    const failing = client.using("k", () => {
      throw mistake;
    });
    expect(await rejection(world, failing)).toBe(mistake);
    const losing = client.using("k", () => {
      world.nowMs += 5_000;
      throw mistake;
    });
    expect(await rejection(world, losing)).toBe(mistake);
    await world.run(200);
    expect(server.table.counts().holds).toBe(0);
  });

  it("that was lost before the callback ended makes a good result LOCK_LOST", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const losing = client.using("k", (lock) => {
      world.nowMs += 5_000;
      return lock.token;
    });
    const error = await failure(world, losing);
    expect(error.code).toBe("LOCK_LOST");
    expect(error.details).toMatchObject({ key: "k", reason: "expired" });
  });

  it("may be released by the callback itself", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const early = client.using("k", async (lock) => (await lock.release()).released);
    expect(await world.until(early)).toBe(true);
  });

  it("nests others under the same task, and none once it is gone", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const tasks: number[] = [];
    await world.until(
      client.using("outer", async (outer) => {
        await outer.using("inner", () => {
          for (const key of ["outer", "inner"]) {
            tasks.push(...server.table.inspect(key).holds.map(({ task }) => task));
          }
        });
        await outer.release();
        await expect(outer.acquire("late")).rejects.toMatchObject({ code: "LOCK_LOST" });
      }),
    );
    expect(tasks).toHaveLength(2);
    expect(tasks[0]).toBe(tasks[1]);
    const other = await world.until(client.acquire("other"));
    expect(server.table.inspect("other").holds[0]?.task).not.toBe(tasks[0]);
    await world.until(Promise.resolve(other[Symbol.asyncDispose]()));
  });
});

describe("release", () => {
  it("aborts the signal first, says the same again, and never throws", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const { signal } = lock;
    const seen: unknown[] = [];
    signal.addEventListener("abort", () => seen.push(server.isHeld("k", lock.token), lock.isHeld));
    const first = lock.release();
    expect(seen).toEqual([true, false]);
    expect(signal.reason).toMatchObject({ name: "AbortError" });
    expect(lock.release()).toBe(first);
    expect(await world.until(first)).toEqual({ released: true });
    expect(await lock.release()).toEqual({ released: true });
    expect(() => lock.assertHeld()).toThrow(/was released/);
    expect(lock.remainingMs).toBe(0);
  });

  it("of a lock whose signal was never looked at has one that is aborted", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    await world.until(lock.release());
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal).toBe(lock.signal);
  });

  it("ends with the lease at the latest when the cluster cannot be reached", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 3_000 });
    const lock: Lock = await world.until(client.acquire("k"));
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    platform.connection?.cut();
    await world.run(1);
    const beganMs = world.nowMs;
    const result = await world.until(lock.release());
    expect(result).toEqual({ released: false, reason: "expired" });
    expect(world.nowMs - beganMs).toBeLessThanOrEqual(2_700);
    server.faults.downNodes.clear();
    await world.run(3_000);
    expect(server.table.counts().holds).toBe(0);
  });
});
