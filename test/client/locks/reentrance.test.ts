/** Locks that one task holds more than once: the SDK counts, and the table has one hold. */
import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

function executed(server: TableServer, op: number): number {
  return server.executed.filter(({ command }) => command.op === op).length;
}

describe("a reentrant lock", () => {
  it("has one token, and is given back with the last of its handles", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const other = await connectTo(server);
    const outer = await world.until(client.acquire("k"));
    const inner = await world.until(outer.acquire("k", { reentrant: true }));
    expect(inner).not.toBe(outer);
    expect(inner.token).toBe(outer.token);
    expect(executed(server, OP.acquire)).toBe(1);
    const waiting = other.client.acquire("k");
    await world.run(20);
    expect(await world.until(outer.release())).toEqual({ released: true });
    expect(outer.isHeld).toBe(false);
    expect(outer.signal.aborted).toBe(true);
    expect(inner.isHeld).toBe(true);
    expect(inner.signal.aborted).toBe(false);
    expect(await world.until(inner.release())).toEqual({ released: true });
    expect((await world.until(waiting)).token).toBeGreaterThan(inner.token);
  });

  it("shares its fate: what ends it aborts all of its handles", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const task = client.task();
    const one = await world.until(client.acquire("k", { task, reentrant: true }));
    const two = await world.until(client.acquire("k", { task, reentrant: true }));
    const thief = await connectTo(server);
    await world.until(thief.client.acquire("k", { steal: true }));
    await world.run(20);
    for (const lock of [one, two]) {
      expect(lock.signal.reason).toMatchObject({ details: { reason: "stolen" } });
      expect(await lock.release()).toEqual({ released: false, reason: "stolen" });
    }
    // That it was lost is remembered until it was read.
    await world.run(2_000);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("is as strong as the strongest of its handles asked for, and no stronger", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const other = await connectTo(server);
    const outer = await world.until(client.acquire("k", { mode: "shared" }));
    const inner = await world.until(outer.acquire("k", { reentrant: true }));
    expect([inner.mode, inner.token]).toEqual(["exclusive", outer.token]);
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive", token: outer.token }]);
    const reading = other.client.acquire("k", { mode: "shared" });
    const innermost = await world.until(inner.acquire("k", { reentrant: true, mode: "shared" }));
    await world.until(inner.release());
    expect((await world.until(reading)).isHeld).toBe(true);
    expect([outer.isHeld, innermost.isHeld]).toEqual([true, true]);
    expect(holdsOf(server, "k").map(({ mode }) => mode)).toEqual(["shared", "shared"]);
  });

  it("is made shared by a handle for that handle alone", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const one = await world.until(client.acquire("k"));
    const two = await world.until(one.acquire("k", { reentrant: true }));
    await world.until(one.downgrade());
    expect([one.mode, two.mode]).toEqual(["shared", "exclusive"]);
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive" }]);
    await world.until(two.downgrade());
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "shared" }]);
  });

  it("is of the same keys exactly: others of the task are refused with what to do", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const task = client.task();
    const options = { task, reentrant: true } as const;
    const items = [{ key: "a" }, { key: "b", mode: "shared" } as const];
    const lock = await world.until(client.acquireAll(items, options));
    const again = await world.until(client.acquireAll([...items].reverse(), options));
    expect(again.token).toBe(lock.token);
    const overlapping = await failure(world, client.acquire("a", options));
    expect(overlapping.code).toBe("DEADLOCK");
    const wider = client.acquireAll([...items, { key: "c" }], options);
    expect((await failure(world, wider)).code).toBe("DEADLOCK");
    expect(executed(server, OP.acquire)).toBe(1);
  });

  it("of permits is counted up to what is held", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const options = { task: client.task(), reentrant: true } as const;
    const pool = client.semaphore("pool", { limit: 4 });
    const two = await world.until(pool.acquire({ ...options, permits: 2 }));
    const one = await world.until(pool.acquire({ ...options, permits: 1 }));
    expect(one.token).toBe(two.token);
    const more = await failure(world, pool.acquire({ ...options, permits: 3 }));
    expect(more.code).toBe("DEADLOCK");
    expect(holdsOf(server, "pool")).toMatchObject([{ permits: 2 }]);
  });

  it("is asked for by one acquire of a task after the other, each with its own deadline", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 60_000 });
    const other = await connectTo(server, { ttlMs: 60_000 });
    const held = await world.until(other.client.acquire("k"));
    const options = { task: client.task(), reentrant: true } as const;
    const first = client.acquire("k", options);
    const late = failure(world, client.acquire("k", { ...options, waitMs: 200 }));
    const trying = client.tryAcquire("k", options);
    const third = client.acquire("k", options);
    expect(await world.until(trying)).toBeUndefined();
    expect((await late).code).toBe("LOCK_TIMEOUT");
    expect(server.table.inspect("k").waiters).toHaveLength(1);
    await world.until(held.release());
    const [one, three] = await world.until(Promise.all([first, third]));
    expect(three.token).toBe(one.token);
    await world.until(one.release());
    expect(three.isHeld).toBe(true);
    await world.until(three.release());
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("stays with who waits for it when the acquire before is left", async () => {
    for (let leaveMs = 0; leaveMs < 8; leaveMs += 0.5) {
      const { world, server } = setUp(1 + leaveMs * 2);
      const { client } = await connectTo(server);
      const options = { task: client.task(), reentrant: true } as const;
      const controller = new AbortController();
      const { signal } = controller;
      const left = client.acquire("k", { ...options, signal });
      const waiting = client.acquire("k", options);
      world.after(leaveMs, () => controller.abort());
      const [one, two] = await world.until(Promise.allSettled([left, waiting]));
      expect(two.status).toBe("fulfilled");
      await world.run(800);
      const lock = (two as PromiseFulfilledResult<Lock>).value;
      expect(lock.isHeld).toBe(true);
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token }]);
      await world.until(lock.release());
      expect(holdsOf(server, "k")).toHaveLength(one.status === "fulfilled" ? 1 : 0);
      expect(server.owedTo(client.session)).toEqual([]);
    }
  });

  it("is exclusive for all who asked for that, whatever is refused and lowered before", async () => {
    let grants = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server);
      const options = { task: client.task(), reentrant: true } as const;
      const lock = await world.until(client.acquire("k", options));
      server.faults.hardRefusals = 0.7;
      const lowering = lock.downgrade().catch(() => undefined);
      // With every second seed nobody here has it any more when it is asked for again.
      const isGivenBack = seed % 2 === 0;
      if (isGivenBack) void lock.release();
      await world.run(world.random() * 100);
      // It may be given up, by a cluster that goes on being busy.
      const again = await world.until(client.acquire("k", options).catch(() => undefined));
      await world.until(lowering);
      await world.run(2_000);
      if (again === undefined) continue;
      grants += 1;
      expect(again.mode).toBe("exclusive");
      const { token } = again;
      expect(holdsOf(server, "k")).toMatchObject([{ token, mode: "exclusive" }]);
    }
    expect(grants).toBeGreaterThan(0);
  });

  it("is left by the signal or deadline of a stronger acquire that cannot be sent", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 4_000 });
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    server.faults.refuses = ({ op }) => op === OP.upgrade;
    const controller = new AbortController();
    const { signal } = controller;
    const left = rejection(world, lock.acquire("k", { reentrant: true, signal }));
    const late = failure(world, lock.acquire("k", { reentrant: true, waitMs: 100 }));
    await world.run(10);
    controller.abort();
    expect(await left).toBe(signal.reason);
    const error = await late;
    expect(error.code).toBe("LOCK_TIMEOUT");
    expect(error.details).toMatchObject({ decidedBy: "client" });
    server.faults.refuses = () => false;
    await world.run(2_000);
    expect(executed(server, OP.upgrade)).toBe(0);
    expect(lock.isHeld).toBe(true);
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "shared" }]);
  });

  it("is not upgraded any more for a handle that was given back", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 20_000 });
    const other = await connectTo(server);
    const reader = await world.until(other.client.acquire("k", { mode: "shared" }));
    const options = { task: client.task(), reentrant: true, mode: "shared" } as const;
    const one = await world.until(client.acquire("k", options));
    const two = await world.until(client.acquire("k", options));
    const upgrading = failure(world, one.upgrade());
    await world.run(100);
    expect(await world.until(one.release())).toEqual({ released: true });
    expect((await upgrading).code).toBe("LOCK_LOST");
    await world.until(reader.release());
    await world.run(6_000);
    expect(server.owedTo(client.session)).toEqual([]);
    expect(holdsOf(server, "k")).toMatchObject([{ token: two.token, mode: "shared" }]);
    expect(two.mode).toBe("shared");
    expect(await world.until(two.release())).toEqual({ released: true });
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("is given back as one when its lease lapses", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 2_000 });
    const outer = await world.until(client.acquire("k"));
    await world.until(outer.acquire("k", { reentrant: true }));
    platform.jumpWallClock(1_900);
    expect(outer.isHeld).toBe(false);
    await world.run(500);
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("has the cap of its grant, also for who joins it later", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 20_000 });
    const options = { task: client.task(), reentrant: true, maxHoldMs: 5_000 } as const;
    await world.until(client.acquire("k", options));
    await world.run(1_900);
    const lock = await world.until(client.acquire("k", options));
    let wasHeld: boolean | undefined;
    lock.signal.addEventListener("abort", () => {
      wasHeld = server.isHeld("k", lock.token);
    });
    expect(lock.remainingMs).toBeLessThan(3_100);
    await world.run(10_000);
    expect(wasHeld).toBe(true);
  });
});

it("a grant to a caller that left is given back, though there is no room for that at first", async () => {
  const { world, server } = setUp();
  const one = await connectTo(server, { ttlMs: 60_000 });
  const two = await connectTo(server, { ttlMs: 2_000 });
  await world.until(one.client.acquire("k", { maxHoldMs: 3_000 }));
  const controller = new AbortController();
  const waiting = two.client.acquire("k", { signal: controller.signal });
  waiting.catch(() => undefined);
  await world.run(20);
  server.faults.busy = "commands";
  controller.abort();
  // The grant comes, and keepalives go out, while the end does not.
  await world.run(5_000);
  expect(holdsOf(server, "k")).toMatchObject([{ session: two.client.session }]);
  server.faults.busy = "nothing";
  await world.run(3_000);
  expect(holdsOf(server, "k")).toEqual([]);
  expect(server.owedTo(two.client.session)).toEqual([]);
});
