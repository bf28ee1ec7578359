/** What can be asked for: several keys, permits, policies, and the refusals that say what to do. */
import { describe, expect, it } from "vitest";
import type { WantedItem } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("several keys", () => {
  it("are granted in one step, with the modes and slots of each", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const items: WantedItem[] = [
      { key: "a" },
      { key: "b", mode: "shared" },
      { key: "pool", permits: 2, limit: 4 },
    ];
    const one = await world.until(client.acquireAll(items));
    expect(one.keys).toEqual(["a", "b", "pool"]);
    expect(one.key).toBe("a");
    expect(one.mode).toBe("exclusive");
    expect(one.items).toEqual([
      { key: "a", mode: "exclusive", permits: 0, slots: [] },
      { key: "b", mode: "shared", permits: 0, slots: [] },
      { key: "pool", mode: "permits", permits: 2, slots: [0, 1] },
    ]);
    const second = client.acquireAll([
      { key: "b", mode: "shared" },
      { key: "pool", permits: 3 },
    ]);
    await world.run(50);
    expect(server.table.inspect("b").holds).toHaveLength(1);
    await world.until(one.release());
    expect((await world.until(second)).items[1]?.slots).toEqual([0, 1, 2]);
  });

  it("that are locked in turn by two tasks are a deadlock, which names who waits for whom", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "billing-7" });
    const two = await connectTo(server, { name: "report-2" });
    const first = await world.until(one.client.acquire("a"));
    const second = await world.until(two.client.acquire("b"));
    const waiting = first.acquire("b");
    await world.run(20);
    const error = await failure(world, second.acquire("a"));
    expect(error.code).toBe("DEADLOCK");
    expect(error.retryable).toBe(false);
    expect(error.message).toContain('"report-2" task 1 waits in "a" for "billing-7" task 1');
    expect(error.message).toContain('"billing-7" task 1 waits in "b" for "report-2" task 1');
    expect(error.message).toContain("acquireAll");
    expect(error.details).toMatchObject({
      key: "a",
      cycle: [
        { sessionName: "report-2", key: "a" },
        { sessionName: "billing-7", key: "b" },
      ],
    });
    await world.until(second.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  it("are of one task if they name it; otherwise each is a task of its own", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const task = client.task();
    const lock = await world.until(client.acquire("a", { task }));
    expect(lock.task).toBe(task);
    const own = await failure(world, client.acquire("a", { task }));
    expect(own.code).toBe("DEADLOCK");
    expect(own.message).toMatch(/; share it with reentrant, upgrade the shared lock/);
    expect(own.message).toContain("its own task");
    const timeout = await failure(world, client.acquire("a", { waitMs: 100 }));
    expect(timeout.code).toBe("LOCK_TIMEOUT");
    const undetected = client.acquire("a", { task, waitMs: 100, detect: false });
    expect((await failure(world, undetected)).code).toBe("LOCK_TIMEOUT");
    const stranger = await connectTo(server);
    const borrowed = stranger.client.acquire("b", { task });
    await expect(borrowed).rejects.toThrow(/task must be one of this client/);
  });
});

describe("a semaphore", () => {
  it("gives slots, waits beyond its limit, and passes them on", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const gpu = client.semaphore("gpu", { limit: 2 });
    const one = await world.until(gpu.acquire());
    const two = await world.until(gpu.acquire());
    expect([one.slots, two.slots]).toEqual([[0], [1]]);
    expect(one.mode).toBe("permits");
    expect(await world.until(gpu.tryAcquire())).toBeUndefined();
    const used = gpu.using({ permits: 2 }, (slots) => slots.slots);
    await world.until(one.release());
    await world.until(two.release());
    expect(await world.until(used)).toEqual([0, 1]);
  });

  it("has one limit, which is named in the refusal of another and can be changed", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const unknown = await failure(world, client.semaphore("gpu").acquire());
    expect(unknown.code).toBe("INVALID_ARGUMENT");
    expect(unknown.message).toContain("no limit given");
    const held = await world.until(client.semaphore("gpu", { limit: 4 }).acquire());
    const other = await failure(world, client.semaphore("gpu", { limit: 8 }).acquire());
    expect(other.code).toBe("LIMIT_MISMATCH");
    expect(other.details).toMatchObject({ key: "gpu", limit: 4 });
    expect(other.message).toContain("its limit is 4");
    const gpu = client.semaphore("gpu");
    await world.until(gpu.setLimit(8));
    expect((await world.until(gpu.acquire({ permits: 7 }))).slots).toHaveLength(7);
    await world.until(held.release());
    await world.until(client.setLimit("gpu", undefined));
    expect((await failure(world, client.acquire("gpu"))).code).toBe("WRONG_KIND");
    await world.until(client.acquire("lock"));
    expect((await failure(world, client.setLimit("lock", 3))).code).toBe("WRONG_KIND");
  });
});

describe("a policy", () => {
  it("of a head start overtakes those who wait", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const holder = await world.until(client.acquire("k"));
    const order: string[] = [];
    const plain = client.using("k", () => order.push("plain"));
    await world.run(50);
    const urgent = client.using("k", { priority: 5 }, () => order.push("urgent"));
    await world.run(50);
    await world.until(holder.release());
    await world.until(Promise.all([plain, urgent]));
    expect(order).toEqual(["urgent", "plain"]);
  });

  it("keeps a key closed for the rest of minHoldMs, and for lockDelayMs when it was lost", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(one.client.acquire("k", { minHoldMs: 1_000 }));
    await world.until(lock.release());
    const closed = await failure(world, two.client.acquire("k", { waitMs: 0 }));
    expect(closed.details).toMatchObject({ blockedBy: "cooldown" });
    expect(await world.until(two.client.tryAcquire("k"))).toBeUndefined();
    const beganMs = world.nowMs;
    await world.until(one.client.acquire("k", { lockDelayMs: 5_000 }));
    expect(world.nowMs - beganMs).toBeGreaterThan(900);
    await world.until(two.client.revoke({ key: "k" }, { now: true }));
    const revokedMs = world.nowMs;
    await world.until(two.client.acquire("k"));
    expect(world.nowMs - revokedMs).toBeGreaterThan(4_900);
  });

  it("of stealing ends what is held, and goes ahead of all", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    void one.client.acquire("k").catch(() => undefined);
    await world.run(20);
    const stolen = await world.until(two.client.acquire("k", { steal: true }));
    await world.run(20);
    expect(stolen.isHeld).toBe(true);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "stolen" } });
  });
});

describe("a setting", () => {
  it("is seen and changed by any session, and bounds what is refused with a hint", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    await world.until(client.changeSetting("waitersMax", 1));
    const settings = await world.until(client.settings());
    expect(settings).toContainEqual(
      expect.objectContaining({ name: "waitersMax", value: 1, defaultValue: 100_000 }),
    );
    await world.until(client.acquire("k"));
    void client.acquire("k").catch(() => undefined);
    await world.run(20);
    const full = await failure(world, client.acquire("k"));
    expect(full.code).toBe("QUEUE_FULL");
    expect(full.message).toContain("waitersMax");
    await world.until(client.changeSetting("holdsPerSessionMax", 1));
    const quota = await failure(world, client.acquire("other"));
    expect(quota.code).toBe("QUOTA");
    expect(quota.message).toContain("holdsPerSessionMax");
    await world.until(client.changeSetting("waitersMax", undefined));
    const unknown = await failure(world, client.changeSetting("nothing", 1));
    expect(unknown.code).toBe("INVALID_ARGUMENT");
  });
});

describe("a request that makes no sense", () => {
  const wrong: [string, (client: Awaited<ReturnType<typeof connectTo>>["client"]) => unknown][] = [
    ["no items", (client) => client.acquireAll([])],
    [
      "17 items",
      (client) => client.acquireAll(Array.from({ length: 17 }, (_, i) => ({ key: `${i}` }))),
    ],
    ["a key twice", (client) => client.acquireAll([{ key: "a" }, { key: "a", mode: "shared" }])],
    [
      "permits beyond the limit",
      (client) => client.acquireAll([{ key: "a", permits: 3, limit: 2 }]),
    ],
    ["no permits", (client) => client.semaphore("a").acquire({ permits: 0 })],
    ["a limit of 0", (client) => client.semaphore("a", { limit: 0 })],
    ["a limit of a lock", (client) => client.acquireAll([{ key: "a", limit: 2 } as WantedItem])],
    ["a shared theft", (client) => client.acquire("a", { mode: "shared", steal: true })],
    ["a theft of one's own", (client) => client.acquire("a", { reentrant: true, steal: true })],
    ["a cap below a second", (client) => client.acquire("a", { maxHoldMs: 999 })],
    ["a delay above a minute", (client) => client.acquire("a", { lockDelayMs: 60_001 })],
    ["a priority of 61", (client) => client.acquire("a", { priority: 61 })],
    ["a value of 1,025 bytes", (client) => client.acquire("a", { value: "x".repeat(1_025) })],
    ["a reason of two lines", (client) => client.revoke({ key: "a" }, { reason: "a\nb" })],
    ["a grace of two hours", (client) => client.revoke({ key: "a" }, { graceMs: 7_200_000 })],
    ["nothing handed over", (client) => client.adopt({ holds: [] } as never)],
    ["a watch from nowhere", (client) => client.watch("a", { after: { index: 0, number: 0 } })],
  ];
  it.each(wrong)("is refused without a word to the cluster: %s", async (_name, ask) => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const before = server.applied.length;
    const error: unknown = await Promise.resolve()
      .then(() => ask(client))
      .catch((reason: unknown) => reason);
    const isPlain = error instanceof TypeError || error instanceof RangeError;
    if (!isPlain) expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    await world.run(50);
    expect(server.applied.length).toBe(before);
  });
});

describe("a revoke that takes several commands", () => {
  it("says that it may have been executed when one of the later ones fails", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    await world.until(client.changeSetting("holdsPerStepMax", 1));
    const holders = [1, 2].map(() => client.acquire("a", { mode: "shared" }));
    for (const lock of holders) await world.until(lock);
    let revokes = 0;
    server.faults.refusesForGood = ({ op }) => {
      if (op === OP.revoke) revokes += 1;
      return op === OP.revoke && revokes > 1;
    };
    const error = await failure(world, client.revoke({ key: "a" }, { now: true }));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.details).toMatchObject({ indeterminate: true });
    expect(server.table.inspect("a").holds).toHaveLength(1);
  });

  it("says nothing of that when the first one fails", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    server.faults.refusesForGood = ({ op }) => op === OP.revoke;
    const error = await failure(world, client.revoke({ key: "a" }, { now: true }));
    expect(error.details).not.toHaveProperty("indeterminate");
  });
});
