/**
 * Requests that wait for a lock: order, deadlines, abort signals, and lost connections meanwhile.
 */
import { describe, expect, it } from "vitest";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("waiting for a lock", () => {
  it("is granted in the order of arrival, one hand-over a release", async () => {
    const { world, server } = setUp();
    const clients = await Promise.all(["a", "b", "c"].map((name) => connectTo(server, { name })));
    const order: number[] = [];
    const all = Array.from({ length: 30 }, async (_, i) => {
      const lock = await (clients[i % 3] as (typeof clients)[number]).client.acquire("k");
      order.push(lock.token);
      expect(await lock.release()).toEqual({ released: true });
    });
    await world.until(Promise.all(all));
    expect(order).toEqual([...order].sort((a, b) => a - b));
    expect(new Set(order).size).toBe(30);
  });

  it("shares among readers and excludes writers", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const readers = await world.until(
      Promise.all([1, 2, 3].map(() => client.acquire("k", { mode: "shared" }))),
    );
    expect(readers.every((lock) => lock.isHeld && lock.mode === "shared")).toBe(true);
    expect(await world.until(client.tryAcquire("k"))).toBeUndefined();
  });

  it("ends with LOCK_TIMEOUT after waitMs, and with LOCK_HELD at once when it is 0", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "holder" });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const beganMs = world.nowMs;
    const timeout = await failure(world, two.client.acquire("k", { waitMs: 700 }));
    expect(timeout.code).toBe("LOCK_TIMEOUT");
    expect(timeout.message).toContain("not granted in 700 ms");
    expect(timeout.details).toEqual({ key: "k", waitMs: 700, decidedBy: "service" });
    expect(world.nowMs - beganMs).toBeGreaterThanOrEqual(700);
    expect(world.nowMs - beganMs).toBeLessThan(800);
    const held = await failure(world, two.client.acquire("k", { waitMs: 0 }));
    expect(held.code).toBe("LOCK_HELD");
    expect(held.details).toMatchObject({ blockedBy: "holds", blockers: [{ token: lock.token }] });
  });

  it("counts waitMs from the call, not from when the request could be sent", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    await world.until(one.client.acquire("k"));
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    two.platform.connection?.cut();
    await world.run(1);
    const beganMs = world.nowMs;
    const waiting = failure(world, two.client.acquire("k", { waitMs: 2_000 }));
    await world.run(1_000);
    server.faults.downNodes.clear();
    expect((await waiting).code).toBe("LOCK_TIMEOUT");
    expect(world.nowMs - beganMs).toBeGreaterThanOrEqual(2_000);
    expect(world.nowMs - beganMs).toBeLessThan(2_100);
  });

  it("ends by its own clock when the cluster says nothing, and leaves nothing behind", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    server.faults.isLeaderless = true;
    const beganMs = world.nowMs;
    const error = await failure(world, client.acquire("k", { waitMs: 300 }));
    expect(error.code).toBe("LOCK_TIMEOUT");
    expect(error.details).toEqual({
      ...{ key: "k", waitMs: 300, decidedBy: "client", indeterminate: true },
    });
    expect(world.nowMs - beganMs).toBeLessThan(1_100);
    server.faults.isLeaderless = false;
    await world.run(200);
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
  });

  it("says of a try that it found no cluster, not that the lock is held", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000, connectTimeoutMs: 2_000 });
    server.faults.isLeaderless = true;
    const error = await failure(world, client.tryAcquire("k"));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.details).toMatchObject({ indeterminate: true });
  });

  it("keeps its place over every way of losing the connection", async () => {
    const { world, server } = setUp();
    const holder = await connectTo(server, { ttlMs: 60_000 });
    const names = ["first", "second", "third"];
    const waiters = await Promise.all(
      names.map((name) => connectTo(server, { ttlMs: 9_000, name })),
    );
    const lock = await world.until(holder.client.acquire("k"));
    const granted: string[] = [];
    const all: Promise<unknown>[] = [];
    for (const [i, { client }] of waiters.entries()) {
      all.push(
        client.using("k", () => {
          granted.push(names[i] as string);
        }),
      );
      await world.run(20);
    }
    waiters[0]?.platform.connection?.cut();
    const silent = waiters[1]?.platform.connection;
    if (silent !== undefined) silent.isBlackhole = true;
    waiters[2]?.platform.connection?.close(1012, "restart");
    await world.run(5_000);
    waiters[0]?.platform.connection?.cut();
    await world.run(100);
    await world.until(lock.release());
    await world.until(Promise.all(all));
    expect(granted).toEqual(names);
  });

  it("hears of a grant that was told to a connection which broke", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 60_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const blocker = await world.until(two.client.acquire("k"));
    const waiting = one.client.acquire("k");
    await world.run(20);
    const connection = one.platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    await world.until(blocker.release());
    await world.run(20);
    connection?.cut();
    const beganMs = world.nowMs;
    expect((await world.until(waiting)).isHeld).toBe(true);
    expect(world.nowMs - beganMs).toBeLessThan(200);
  });

  it("that ended in a grant needs no word that this was read: the hold says it", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server);
    for (let i = 0; i < 5; i++) {
      // The second of a pair waits, and is granted by the release of the first.
      const [first, second] = [client.acquire("k"), client.acquire("k")];
      await world.until((await world.until(first)).release());
      await world.until((await world.until(second)).release());
    }
    const last = await world.until(client.acquire("k"));
    platform.connection?.cut();
    await world.run(600);
    expect(last.isHeld).toBe(true);
    const acknowledged = server.applied.flatMap((command) =>
      "acknowledged" in command ? command.acknowledged : [],
    );
    expect(acknowledged).toEqual([]);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("is forgotten by the table also if its end is told to a repetition", async () => {
    const { world, server } = setUp();
    server.faults.latencyMs = [1, 1];
    server.faults.commitMs = [1, 1];
    const one = await connectTo(server, { ttlMs: 4_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    await world.until(two.client.acquire("k"));
    const waiting = failure(world, one.client.acquire("k", { waitMs: 300 }));
    // The request arrives and the answer `queued` does not.
    await world.run(2.5);
    expect(server.table.inspect("k").waiters).toHaveLength(1);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    one.platform.connection?.cut();
    await world.run(400);
    expect(server.table.inspect("k").waiters).toHaveLength(0);
    server.faults.downNodes.clear();
    expect((await waiting).code).toBe("LOCK_TIMEOUT");
    // With the next keepalive of a session that has nothing.
    await world.run(3_000);
    expect(server.owedTo(one.client.session)).toEqual([]);
  });
});

describe("an AbortSignal", () => {
  it("has its own reason thrown at every moment, and leaves nothing in the table", async () => {
    // From before the call to long after the grant, in steps below the latency of the network.
    for (let abortMs = 0; abortMs < 14; abortMs += 0.25) {
      const { world, server } = setUp(1 + abortMs * 4);
      const { client } = await connectTo(server);
      const controller = new AbortController();
      const reason = new Error(`aborted after ${abortMs}`);
      const waiting = client.acquire("k", { signal: controller.signal });
      world.after(abortMs, () => controller.abort(reason));
      let token = 0;
      try {
        token = (await world.until(waiting)).token;
      } catch (error) {
        expect(error).toBe(reason);
      }
      await world.run(100);
      const { holds, waiters } = server.table.counts();
      expect({ holds, waiters }).toEqual({ holds: token === 0 ? 0 : 1, waiters: 0 });
    }
  });

  it("takes a waiting request out of the queue", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    await world.until(one.client.acquire("k"));
    const controller = new AbortController();
    const waiting = two.client.acquire("k", { signal: controller.signal });
    world.after(50, () => controller.abort());
    expect(await rejection(world, waiting)).toBe(controller.signal.reason);
    await world.run(50);
    expect(server.table.inspect("k").waiters).toEqual([]);
  });

  it("that is aborted already costs the cluster nothing", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const before = server.applied.length;
    const aborted = client.acquire("k", { signal: AbortSignal.abort() });
    expect(await rejection(world, aborted)).toMatchObject({ name: "AbortError" });
    await world.run(50);
    expect(server.applied.length).toBe(before);
  });

  it("gives a lock back whose grant was kept aside", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 4_000 });
    server.faults.latencyMs = [50, 50];
    const controller = new AbortController();
    const waiting = client.acquire("k", { signal: controller.signal });
    await world.run(60);
    platform.jumpWallClock(3_900);
    await world.run(60);
    controller.abort();
    expect(await rejection(world, waiting)).toMatchObject({ name: "AbortError" });
    await world.run(300);
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
    expect(platform.keepsProcess).toBe(false);
  });
});
