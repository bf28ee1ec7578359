/** Locks that one task holds more than once. */
import { describe, expect, it } from "vitest";
import { OP } from "../../src/protocol/index.js";
import { setUp } from "./set-up.js";
import { connectTo } from "./simulated-client.js";
import type { TableServer } from "./table-server.js";

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

describe("a reentrant lock", () => {
  it("is counted under one token, and given back with the last of its handles", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const other = await connectTo(server);
    const outer = await world.until(client.acquire("k"));
    const inner = await world.until(outer.acquire("k", { reentrant: true }));
    expect(inner).not.toBe(outer);
    expect(inner.token).toBe(outer.token);
    expect(holdsOf(server, "k")[0]?.count).toBe(2);
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
    const owner = client.owner();
    const one = await world.until(client.acquire("k", { owner, reentrant: true }));
    const two = await world.until(client.acquire("k", { owner, reentrant: true }));
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

  it("is given back once by a caller that left just before it was counted up", async () => {
    for (let leaveMs = 0; leaveMs < 8; leaveMs += 0.5) {
      const { world, server } = setUp(1 + leaveMs * 2);
      const { client } = await connectTo(server);
      const owner = client.owner();
      const lock = await world.until(client.acquire("k", { owner, reentrant: true }));
      const controller = new AbortController();
      const { signal } = controller;
      world.after(leaveMs, () => controller.abort());
      const more = client.acquire("k", { owner, reentrant: true, signal });
      const counted = await world.until(
        more.then(
          () => 2,
          () => 1,
        ),
      );
      await world.run(800);
      expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, count: counted }]);
      expect(lock.isHeld).toBe(true);
      expect(server.owedTo(client.session)).toEqual([]);
    }
  });

  it("is what was left of it when the answer that counted it comes last of all", async () => {
    for (const change of ["downgrade", "upgrade"] as const) {
      let lateCount = 0;
      for (let seed = 1; seed <= 100; seed += 1) {
        const { world, server } = setUp(seed);
        const { client, platform } = await connectTo(server);
        const mode = change === "downgrade" ? "exclusive" : "shared";
        const options = { owner: client.owner(), reentrant: true, mode } as const;
        const [first, second] = [client.acquire("k", options), client.acquire("k", options)];
        for (let steps = 0; steps < 100 && holdsOf(server, "k")[0]?.count !== 2; steps += 1) {
          await world.run(0.1);
        }
        // Both answers are lost, and either may be told again long before the other.
        platform.connection?.cut();
        server.faults.refusals = 0.6;
        let isThere = false;
        second.then(() => {
          isThere = true;
        });
        const one = await world.until(first);
        // Which may be given up, by a cluster that goes on being busy.
        await world.until(one[change]().catch(() => undefined));
        expect(await world.until(one.release())).toEqual({ released: true });
        server.faults.refusals = 0;
        lateCount += isThere ? 0 : 1;
        const two = await world.until(second);
        expect(two.isHeld).toBe(true);
        const left = holdsOf(server, "k");
        expect(left).toMatchObject([{ token: two.token, count: 1 }]);
        if (left[0]?.mode === "shared") expect(two.mode).toBe("shared");
        expect(await world.until(two.release())).toEqual({ released: true });
        expect(holdsOf(server, "k")).toEqual([]);
        await world.run(2_000);
        expect(server.owedTo(client.session)).toEqual([]);
      }
      expect(lateCount).toBeGreaterThan(0);
    }
  });

  it("has the token of an upgrade that was asked for by a handle that was given back", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 20_000 });
    const other = await connectTo(server);
    const reader = await world.until(other.client.acquire("k", { mode: "shared" }));
    const options = { owner: client.owner(), reentrant: true, mode: "shared" } as const;
    const [first, second] = [client.acquire("k", options), client.acquire("k", options)];
    for (let steps = 0; steps < 100 && holdsOf(server, "k")[1]?.count !== 2; steps += 1) {
      await world.run(0.1);
    }
    // Both answers are lost, and the second one is not told again for now.
    platform.connection?.cut();
    server.faults.refuses = (command) => command.op === OP.acquire && command.sequence === 2;
    const one = await world.until(first);
    const upgrading = one.upgrade();
    await world.run(100);
    expect(await world.until(one.release())).toEqual({ released: true });
    server.faults.refuses = () => false;
    const two = await world.until(second);
    expect(two.mode).toBe("shared");
    await world.until(reader.release());
    await world.until(upgrading);
    await world.run(6_000);
    expect(server.owedTo(client.session)).toEqual([]);
    const { token } = two;
    expect(holdsOf(server, "k")).toMatchObject([{ token, count: 1, mode: "exclusive" }]);
    expect(two.mode).toBe("exclusive");
    expect(await world.until(two.release())).toEqual({ released: true });
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("is released as often as it was counted when its lease lapses", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 2_000 });
    const outer = await world.until(client.acquire("k"));
    await world.until(outer.acquire("k", { reentrant: true }));
    platform.jumpWallClock(1_900);
    expect(outer.isHeld).toBe(false);
    await world.run(500);
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("has the cap of its first grant, also for who hears of it only by being counted up", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 20_000 });
    const owner = client.owner();
    const controller = new AbortController();
    const options = { owner, reentrant: true, maxHoldMs: 5_000 } as const;
    server.faults.latencyMs = [1_000, 1_000];
    const left = client.acquire("k", { ...options, signal: controller.signal });
    left.catch(() => undefined);
    // Granted, and its caller leaves before it hears of it; the other request arrives before that.
    await world.run(1_900);
    const counting = client.acquire("k", options);
    await world.run(1);
    controller.abort();
    await world.run(1_200);
    server.faults.latencyMs = [1, 1];
    const lock = await world.until(counting);
    expect(lock.isHeld).toBe(true);
    let wasHeld: boolean | undefined;
    lock.signal.addEventListener("abort", () => {
      wasHeld = server.isHeld("k", lock.token);
    });
    await world.run(10_000);
    expect(wasHeld).toBe(true);
  });

  it("is given back by a cancel that the cluster had no room for at first", async () => {
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
    // The grant comes, and keepalives go out, while the cancel does not.
    await world.run(5_000);
    expect(holdsOf(server, "k")).toMatchObject([{ session: two.client.session }]);
    server.faults.busy = "nothing";
    await world.run(3_000);
    expect(holdsOf(server, "k")).toEqual([]);
    expect(server.owedTo(two.client.session)).toEqual([]);
  });
});
