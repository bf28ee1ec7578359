/** A session on its way from one process to another. */
import { describe, expect, it } from "vitest";
import type { ExportedSession } from "../../src/client/index.js";
import { OP } from "../../src/protocol/index.js";
import { exportOf } from "./exporting.js";
import { failure, setUp } from "./set-up.js";
import { connectTo, type SimulatedClient } from "./simulated-client.js";
import type { TableServer } from "./table-server.js";

function takeOver(server: TableServer, resume: ExportedSession): Promise<SimulatedClient> {
  return connectTo(server, { resume });
}

describe("an exported session", () => {
  it("keeps its holds under new tokens, and its waits in their places", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000, name: "mover" });
    const { session } = one.client;
    const lock = await world.until(one.client.acquire("a", { value: "v", maxHoldMs: 60_000 }));
    const slots = await world.until(
      one.client.semaphore("s", { limit: 3 }).acquire({ permits: 2 }),
    );
    const blocker = await world.until(other.client.acquire("b"));
    const waiting = failure(world, one.client.acquire("b"));
    await world.run(20);
    const behind = other.client.acquire("b");
    await world.run(20);

    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push(one.client.session));
    const exported = await exportOf(world, one);
    expect(seen).toHaveLength(1);
    expect(lock.signal.reason).toMatchObject({
      code: "LOCK_LOST",
      details: { reason: "exported" },
    });
    expect((await waiting).code).toBe("CANCELLED");
    expect(one.client.closed.aborted).toBe(true);
    expect(await lock.release()).toEqual({ released: false, reason: "exported" });
    await world.until(one.client.close());

    const two = await takeOver(server, exported);
    expect(two.client.session).toBe(session);
    const locks = two.client.resumed?.locks ?? [];
    expect(locks.map(({ key, value }) => [key, value])).toEqual([
      ["a", "v"],
      ["s", ""],
    ]);
    expect(locks[1]?.slots).toEqual(slots.slots);
    for (const [i, old] of [lock, slots].entries()) {
      expect(locks[i]?.isHeld).toBe(true);
      expect(locks[i]?.token).toBeGreaterThan(old.token);
      expect(server.isHeld(old.key, locks[i]?.token ?? 0)).toBe(true);
    }
    const waits = two.client.resumed?.waits ?? [];
    expect(waits.map(({ keys }) => keys)).toEqual([["b"]]);
    await world.until(blocker.release());
    const granted = await world.until(waits[0]?.lock ?? Promise.reject(new Error("none")));
    expect(granted.isHeld).toBe(true);
    await world.until(granted.release());
    await world.until(behind);
    for (const each of locks) expect(await world.until(each.release())).toEqual({ released: true });
    // A task of the other process is none of this one's new ones.
    expect(two.client.owner().id).toBeGreaterThan(granted.owner.id);
    await world.run(3_000);
    expect(server.owedTo(session)).toEqual([]);
  });

  it("is taken over once, however often that has to be said", async () => {
    for (let cutMs = 0; cutMs < 14; cutMs += 0.5) {
      const { world, server } = setUp(1 + cutMs * 2);
      const one = await connectTo(server, { ttlMs: 10_000 });
      const lock = await world.until(one.client.acquire("a"));
      const exported = await exportOf(world, one);
      const connecting = takeOver(server, exported);
      const cut = () => {
        for (const connection of server.connections) connection.cut();
      };
      world.after(cutMs, cut);
      const two = await connecting;
      const resumed = two.client.resumed?.locks[0];
      expect(resumed?.isHeld).toBe(true);
      expect(resumed?.token).toBe(lock.token + 1);
      expect(await world.until(resumed?.release() ?? Promise.reject())).toEqual({ released: true });
      expect(server.table.counts().holds).toBe(0);
    }
  });

  it("keeps a hold as often as it is held here, also by a wait that was granted on the way", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const one = await connectTo(server, { ttlMs: 20_000 });
      const owner = one.client.owner();
      const options = { owner, reentrant: true } as const;
      await world.until(one.client.acquire("a", options));
      one.client.acquire("a", options).catch(() => undefined);
      await world.run(1);
      const two = await takeOver(server, await exportOf(world, one));
      const { locks = [], waits = [] } = two.client.resumed ?? {};
      const handles = [...locks];
      for (const { lock } of waits) handles.push(await world.until(lock));
      await world.run(2_000);
      expect(server.table.inspect("a").holds[0]?.count).toBe(handles.length);
      for (const handle of handles) {
        expect(handle.isHeld).toBe(true);
        expect(server.isHeld("a", handle.token)).toBe(true);
        expect(await world.until(handle.release())).toMatchObject({ released: true });
      }
      expect(server.table.inspect("a").holds).toEqual([]);
    }
  });

  it("upgrades nothing before what may make it shared was carried out", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const isCancel = seed % 2 === 0;
      const { world, server } = setUp(seed);
      const one = await connectTo(server, { ttlMs: 20_000 });
      const mode = isCancel ? "shared" : "exclusive";
      const lock = await world.until(one.client.acquire("a", { mode }));
      if (isCancel) {
        const controller = new AbortController();
        const left = lock.upgrade({ signal: controller.signal }).catch(() => undefined);
        await world.run(1);
        server.faults.refusals = 1;
        controller.abort();
        await world.until(left);
      } else {
        server.faults.refusals = 1;
        void lock.downgrade().catch(() => undefined);
      }
      await world.run(5);
      const exported = await exportOf(world, one);
      server.faults.refusals = 0.6;
      const two = await takeOver(server, exported);
      const resumed = two.client.resumed?.locks[0];
      expect(resumed?.mode).toBe("shared");
      await world.until(resumed?.upgrade() ?? Promise.reject(new Error("no lock")));
      await world.run(5_000);
      expect(resumed?.mode).toBe("exclusive");
      const { token } = resumed ?? {};
      expect(server.table.inspect("a").holds).toMatchObject([{ token, mode: "exclusive" }]);
    }
  });

  it("believes in no wait more than what the hold that it counts was made meanwhile", async () => {
    for (let exportMs = 0; exportMs < 60; exportMs += 1) {
      const { world, server } = setUp(1 + exportMs);
      const one = await connectTo(server, { ttlMs: 20_000 });
      const options = { owner: one.client.owner(), reentrant: true } as const;
      const lock = await world.until(one.client.acquire("a", options));
      server.faults.commitMs = [15, 30];
      void one.client.acquire("a", options).catch(() => undefined);
      void lock.downgrade().catch(() => undefined);
      const isRaised = exportMs % 3 === 0;
      if (isRaised) void lock.upgrade({ waitMs: 5 }).catch(() => undefined);
      await world.run(exportMs % 2 === 0 ? 0 : 20);
      one.platform.connection?.cut();
      if (!isRaised) void lock.release();
      await world.run(exportMs);
      const two = await takeOver(server, await exportOf(world, one));
      const { locks = [], waits = [] } = two.client.resumed ?? {};
      const granted = await world.until(Promise.allSettled(waits.map((wait) => wait.lock)));
      const handles = [...locks];
      for (const each of granted) if (each.status === "fulfilled") handles.push(each.value);
      await world.run(2_000);
      const [hold] = server.table.inspect("a").holds;
      for (const { mode, isHeld } of handles) {
        expect(isHeld).toBe(true);
        if (mode === "exclusive") expect(hold?.mode).toBe("exclusive");
      }
      expect(hold?.count ?? 0).toBe(handles.length);
    }
  });

  it("takes along what was sent without an answer, and nothing happens twice", async () => {
    for (let exportMs = 0; exportMs < 8; exportMs += 0.5) {
      const { world, server } = setUp(1 + exportMs * 2);
      server.faults.duplicates = 0.5;
      const one = await connectTo(server, { ttlMs: 10_000 });
      const owner = one.client.owner();
      const options = { owner, reentrant: true } as const;
      const kept = await world.until(one.client.acquire("a", options));
      const counted = await world.until(one.client.acquire("a", options));
      const controller = new AbortController();
      void one.client.acquire("b").catch(() => undefined);
      let wasGranted = false;
      const left = one.client.acquire("c", { signal: controller.signal });
      const granted = (): void => {
        wasGranted = true;
      };
      void left.then(granted, () => undefined);
      void counted.release();
      await world.run(exportMs);
      controller.abort();
      const exported = await exportOf(world, one);
      const two = await takeOver(server, exported);
      await world.run(1_000);
      const { locks = [], waits = [] } = two.client.resumed ?? {};
      const others = await world.until(Promise.all(waits.map(({ lock }) => lock)));
      const keys = [...locks, ...others].map(({ key }) => key);
      expect(keys.sort()).toEqual(wasGranted ? ["a", "b", "c"] : ["a", "b"]);
      expect(server.table.inspect("a").holds).toMatchObject([{ count: 1 }]);
      expect(server.table.inspect("c").holds).toHaveLength(wasGranted ? 1 : 0);
      expect(locks[0]?.token).toBeGreaterThan(kept.token);
      for (const lock of [...locks, ...others]) {
        expect(await world.until(lock.release())).toEqual({ released: true });
      }
      expect(server.table.counts().holds).toBe(0);
      await world.run(3_000);
      expect(server.owedTo(two.client.session)).toEqual([]);
    }
  });

  it("counts what was counted once, and leaves upgrades undone", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000 });
    const outer = await world.until(one.client.acquire("a"));
    await world.until(outer.acquire("a", { reentrant: true }));
    const shared = await world.until(one.client.acquire("r", { mode: "shared" }));
    const reader = await world.until(other.client.acquire("r", { mode: "shared" }));
    void shared.upgrade().catch(() => undefined);
    await world.run(20);
    const two = await takeOver(server, await exportOf(world, one));
    await world.run(100);
    expect(server.table.inspect("a").holds).toMatchObject([{ count: 1 }]);
    expect(server.table.inspect("r").waiters).toEqual([]);
    await world.until(reader.release());
    expect(two.client.resumed?.locks.map(({ mode }) => mode)).toEqual(["exclusive", "shared"]);
    await world.until(Promise.all((two.client.resumed?.locks ?? []).map((lock) => lock.release())));
    expect(server.table.counts().holds).toBe(0);
  });

  it("is held as often as it has handles, whatever was on its way to count it", async () => {
    for (let exportMs = 0; exportMs < 8; exportMs += 0.25) {
      const { world, server } = setUp(1 + exportMs * 4);
      const one = await connectTo(server, { ttlMs: 10_000 });
      const options = { owner: one.client.owner(), reentrant: true } as const;
      await world.until(one.client.acquire("a", options));
      const second = await world.until(one.client.acquire("a", options));
      const controller = new AbortController();
      void one.client.acquire("a", options).catch(() => undefined);
      void one.client
        .acquire("a", { ...options, signal: controller.signal })
        .catch(() => undefined);
      if (exportMs % 1 === 0) void second.release();
      await world.run(exportMs);
      if (exportMs % 0.5 === 0) controller.abort();
      server.faults.refusals = 0.5;
      const two = await takeOver(server, await exportOf(world, one));
      server.faults.refusals = 0;
      const { locks = [], waits = [] } = two.client.resumed ?? {};
      const others = await world.until(Promise.all(waits.map(({ lock }) => lock)));
      await world.run(1_000);
      const handles = [...locks, ...others];
      expect(server.table.inspect("a").holds).toMatchObject([{ count: handles.length }]);
      for (const handle of handles) {
        expect(handle.isHeld).toBe(true);
        expect(await world.until(handle.release())).toEqual({ released: true });
      }
      expect(server.table.counts().holds).toBe(0);
    }
  });

  it("leaves nothing unread of a request that was granted to nobody before", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const { session } = one.client;
    const controller = new AbortController();
    const left = one.client.acquire("k", { signal: controller.signal }).catch(() => "left");
    const isGranted = () => server.table.counts().holds === 1;
    for (let steps = 0; steps < 100 && !isGranted(); steps += 1) await world.run(0.1);
    server.faults.refuses = ({ op }) => op === OP.cancel;
    controller.abort();
    expect(await left).toBe("left");
    // The grant is read, and the cancel goes along without an answer.
    await world.run(50);
    const exported = await exportOf(world, one);
    expect(exported.sent).toMatchObject([{ command: { op: OP.cancel, target: 1 } }]);
    server.faults.refuses = () => false;
    const two = await takeOver(server, exported);
    expect(two.client.resumed).toMatchObject({ locks: [], waits: [] });
    await world.run(3_000);
    expect(server.table.counts()).toMatchObject({ sessions: 1, holds: 0 });
    expect(server.owedTo(session)).toEqual([]);
  });

  it("that ended meanwhile, or is another's, is refused with what that means", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    await world.until(one.client.acquire("a"));
    const exported = await exportOf(world, one);
    const forged = { ...exported, nonce: "0".repeat(32) };
    expect((await failure(world, takeOver(server, forged))).code).toBe("FORBIDDEN");
    await world.run(3_000);
    const late = await failure(world, takeOver(server, exported));
    expect(late.code).toBe("SESSION_EXPIRED");
    expect(late.message).toContain("ended");
    expect(server.applied.filter(({ op }) => op === OP.open)).toHaveLength(1);
  });

  it("tells of holds that were lost on the way, with their signals aborted", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server);
    const one = await connectTo(server, { ttlMs: 10_000 });
    await world.until(one.client.acquire("a"));
    const exported = await exportOf(world, one);
    await world.until(other.client.acquire("a", { steal: true }));
    const two = await takeOver(server, exported);
    const [lock] = two.client.resumed?.locks ?? [];
    expect(lock?.isHeld).toBe(false);
    expect(lock?.signal.reason).toMatchObject({ details: { reason: "stolen" } });
  });
});
