/** Changes of a lock while it is held: of its mode and its value. */
import { describe, expect, it } from "vitest";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

describe("an upgrade", () => {
  it("waits for other readers, and brings a newer token in the same lock", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k", { mode: "shared" }));
    const reader = await world.until(two.client.acquire("k", { mode: "shared" }));
    const before = lock.token;
    const upgrading = lock.upgrade();
    await world.run(50);
    expect(lock.mode).toBe("shared");
    await world.until(reader.release());
    await world.until(upgrading);
    expect(lock.mode).toBe("exclusive");
    expect(lock.token).toBeGreaterThan(before);
    expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "exclusive" }]);
    await world.until(lock.upgrade());
    await world.until(lock.downgrade());
    expect(lock.mode).toBe("shared");
    await world.until(two.client.acquire("k", { mode: "shared" }));
    expect(await world.until(lock.release())).toEqual({ released: true });
    expect(server.owedTo(one.client.session)).toEqual([]);
  });

  it("of two at once is a deadlock: the second is refused, and stays shared", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "one" });
    const two = await connectTo(server, { name: "two" });
    const first = await world.until(one.client.acquire("k", { mode: "shared" }));
    const second = await world.until(two.client.acquire("k", { mode: "shared" }));
    const upgrading = first.upgrade();
    await world.run(20);
    const error = await failure(world, second.upgrade());
    expect(error.code).toBe("DEADLOCK");
    expect(error.message).toMatch(/; release it, and ask for it exclusively from the start$/);
    expect(second.isHeld).toBe(true);
    expect(second.mode).toBe("shared");
    await world.until(second.release());
    await world.until(upgrading);
    expect(first.mode).toBe("exclusive");
  });

  it("that is given up leaves the lock shared, whenever it was granted", async () => {
    for (let leaveMs = 0; leaveMs < 8; leaveMs += 0.5) {
      const { world, server } = setUp(1 + leaveMs * 2);
      const { client } = await connectTo(server);
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      const controller = new AbortController();
      const { signal } = controller;
      world.after(leaveMs, () => controller.abort());
      const isUpgraded = await world.until(
        lock.upgrade({ signal }).then(
          () => true,
          () => false,
        ),
      );
      await world.run(100);
      const mode = isUpgraded ? "exclusive" : "shared";
      expect(lock.mode).toBe(mode);
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode }]);
      expect(await world.until(lock.release())).toEqual({ released: true });
      expect(holdsOf(server, "k")).toEqual([]);
    }
  });

  it("is known by its newest token over a connection that broke around the grant", async () => {
    for (let cutMs = 0; cutMs < 10; cutMs += 0.5) {
      const { world, server } = setUp(1 + cutMs * 2);
      const { client, platform } = await connectTo(server);
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      world.after(cutMs, () => platform.connection?.cut());
      await world.until(lock.upgrade());
      expect(lock.mode).toBe("exclusive");
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "exclusive" }]);
      expect(await world.until(lock.release())).toEqual({ released: true });
      expect(holdsOf(server, "k")).toEqual([]);
    }
  });

  it("is not overtaken by a downgrade that was refused before it", async () => {
    for (const hardRefusals of [0, 0.5]) {
      for (let seed = 1; seed <= 20; seed += 1) {
        const { world, server } = setUp(seed);
        const { client } = await connectTo(server);
        const lock = await world.until(client.acquire("k"));
        server.faults.hardRefusals = 1;
        const lowering = lock.downgrade();
        await world.run(5);
        server.faults.hardRefusals = hardRefusals;
        await world.until(lock.upgrade());
        expect(lock.mode).toBe("exclusive");
        await world.until(lowering);
        expect(lock.mode).toBe("exclusive");
        expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "exclusive" }]);
      }
    }
  });

  it("that a downgrade follows ends in a shared lock, whatever was refused or lost", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world, server } = setUp(seed);
      const { client, platform } = await connectTo(server, { ttlMs: 4_000 });
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      world.afterEach = () => {
        if (lock.mode === "shared") return;
        expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive" }]);
      };
      server.faults.refusals = world.random();
      server.faults.hardRefusals = world.random() * 0.5;
      const upgrading = Promise.allSettled([lock.upgrade()]);
      await world.run(world.random() * 8);
      const lowering = lock.downgrade();
      world.after(world.random() * 8, () => platform.connection?.cut());
      await world.run(world.random() * 100);
      Object.assign(server.faults, { refusals: 0, hardRefusals: 0 });
      await world.until(lowering);
      const [upgraded] = await world.until(upgrading);
      if (upgraded.status === "rejected")
        expect(upgraded.reason).toMatchObject({ code: "CANCELLED" });
      await world.run(1_000);
      expect(lock.mode).toBe("shared");
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "shared" }]);
      expect(server.owedTo(client.session)).toEqual([]);
    }
  });

  it("is not undone by an earlier one that was left", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server);
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      const controller = new AbortController();
      const left = lock.upgrade({ signal: controller.signal }).catch(() => {});
      await world.run(1);
      server.faults.hardRefusals = 0.5;
      controller.abort();
      await world.until(left);
      await world.until(lock.upgrade());
      await world.run(2_000);
      expect(lock.mode).toBe("exclusive");
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "exclusive" }]);
    }
  });

  it("that is granted is exclusive, also where another one of the same lock is left", async () => {
    let leftCount = 0;
    for (let leaveMs = 0; leaveMs < 10; leaveMs += 0.25) {
      const { world, server } = setUp(1 + leaveMs * 4);
      const { client } = await connectTo(server, { ttlMs: 4_000 });
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      const controller = new AbortController();
      const leaving = lock.upgrade({ signal: controller.signal }).then(
        () => 0,
        () => 1,
      );
      const upgrading = lock.upgrade().then(() => lock.mode);
      await world.run(leaveMs);
      controller.abort();
      leftCount += await world.until(leaving);
      expect(await world.until(upgrading)).toBe("exclusive");
      await world.run(2_000);
      expect(lock.mode).toBe("exclusive");
      expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive", token: lock.token }]);
      expect(server.owedTo(client.session)).toEqual([]);
      expect(await world.until(lock.release())).toEqual({ released: true });
    }
    expect(leftCount).toBeGreaterThan(0);
  });

  it("ends with the lock that it was of", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k", { mode: "shared" }));
    await world.until(two.client.acquire("k", { mode: "shared" }));
    const upgrading = failure(world, lock.upgrade());
    await world.run(20);
    one.platform.jumpWallClock(1_900);
    expect(lock.isHeld).toBe(false);
    expect((await upgrading).code).toBe("LOCK_LOST");
    await world.run(200);
    expect(holdsOf(server, "k")).toHaveLength(1);
    await expect(lock.upgrade()).rejects.toMatchObject({ code: "LOCK_LOST" });
  });
});

describe("a value", () => {
  it("is shown with the hold, and its holder can change it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k", { value: "first" }));
    expect(holdsOf(server, "k")[0]?.value).toBe("first");
    await world.until(lock.update("second"));
    expect(lock.value).toBe("second");
    expect(holdsOf(server, "k")[0]?.value).toBe("second");
    await expect(lock.update("é".repeat(513))).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await world.until(lock.release());
    await expect(lock.update("third")).rejects.toMatchObject({ code: "LOCK_LOST" });
  });
});

it("upgrades of two keys are made one after the other, over a connection that breaks between", async () => {
  for (let cutMs = 0; cutMs < 12; cutMs += 0.5) {
    const { world, server } = setUp(1 + cutMs * 2);
    const { client, platform } = await connectTo(server, { ttlMs: 20_000 });
    const items = [{ key: "a", mode: "shared" } as const, { key: "b", mode: "shared" } as const];
    const lock = await world.until(client.acquireAll(items));
    const { token } = lock;
    const upgrading = [lock.upgrade({ key: "a" }), lock.upgrade({ key: "b" })];
    world.after(cutMs, () => platform.connection?.cut());
    await world.until(Promise.all(upgrading));
    expect(lock.items.map(({ mode }) => mode)).toEqual(["exclusive", "exclusive"]);
    expect(lock.token).toBe(token + 2);
    expect(server.isHeld("a", lock.token)).toBe(true);
    await world.run(6_000);
    expect(server.owedTo(client.session)).toEqual([]);
    expect(await world.until(lock.release())).toEqual({ released: true });
    expect(server.table.counts().holds).toBe(0);
  }
});
