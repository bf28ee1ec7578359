/** A session on its way from one process to another. */
import { describe, expect, it } from "vitest";
import type { ExportedSession } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { exportOf } from "../world/exporting.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

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

  it("is exported also if no node lets its process in any more", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 10_000 });
    const lock = await world.until(one.client.acquire("a"));
    const kept = await world.until(one.client.acquire("b"));
    // So that the export has an answer to wait for.
    const { commitMs } = server.faults;
    server.faults.commitMs = [1_500, 1_500];
    void lock.release();
    const exporting = one.client.export();
    for (let times = 0; times < 3; times += 1) {
      await world.run(100);
      for (const connection of server.connections) connection.close(1008, "unknown credential");
    }
    await world.run(100);
    expect(one.client.closed.aborted).toBe(true);
    server.faults.commitMs = commitMs;
    const exported = JSON.parse(JSON.stringify(await world.until(exporting)));
    const two = await takeOver(server, exported);
    expect(two.client.resumed?.locks.map(({ key }) => key)).toEqual([kept.key]);
    await world.run(1_000);
    expect(server.table.inspect("a").holds).toEqual([]);
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

  it("has one handle for a hold, however many there were, and leaves upgrades undone", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000 });
    const outer = await world.until(one.client.acquire("a"));
    await world.until(outer.acquire("a", { reentrant: true, mode: "shared" }));
    const shared = await world.until(one.client.acquire("r", { mode: "shared" }));
    const reader = await world.until(other.client.acquire("r", { mode: "shared" }));
    const upgrading = failure(world, shared.upgrade());
    await world.run(20);
    const two = await takeOver(server, await exportOf(world, one));
    expect((await upgrading).code).toBe("CANCELLED");
    await world.run(100);
    expect(server.table.inspect("r").waiters).toEqual([]);
    await world.until(reader.release());
    expect(two.client.resumed?.locks.map(({ mode }) => mode)).toEqual(["exclusive", "shared"]);
    await world.until(Promise.all((two.client.resumed?.locks ?? []).map((lock) => lock.release())));
    expect(server.table.counts().holds).toBe(0);
    await world.run(6_000);
    expect(server.owedTo(two.client.session)).toEqual([]);
  });

  it("is shared where that was asked for before the export, and can be upgraded again", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const isUpgradeLeft = seed % 2 === 0;
      const { world, server } = setUp(seed);
      const one = await connectTo(server, { ttlMs: 20_000 });
      const mode = isUpgradeLeft ? "shared" : "exclusive";
      const lock = await world.until(one.client.acquire("a", { mode }));
      if (isUpgradeLeft) {
        const controller = new AbortController();
        const left = lock.upgrade({ signal: controller.signal }).catch(() => undefined);
        await world.run(1);
        server.faults.hardRefusals = 1;
        controller.abort();
        await world.until(left);
      } else {
        server.faults.hardRefusals = 1;
        void lock.downgrade().catch(() => undefined);
      }
      await world.run(5);
      const exported = await exportOf(world, one);
      server.faults.hardRefusals = 0.4;
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

  it("takes along what was told, and ends what was asked for and not told", async () => {
    for (let exportMs = 0; exportMs < 8; exportMs += 0.5) {
      const { world, server } = setUp(1 + exportMs * 2);
      server.faults.duplicates = 0.5;
      const one = await connectTo(server, { ttlMs: 10_000 });
      const told = ["a"];
      const kept = await world.until(one.client.acquire("a"));
      const given = await world.until(one.client.acquire("given"));
      for (const key of ["b", "c"]) {
        const note = (): void => {
          told.push(key);
        };
        void one.client.acquire(key).then(note, () => undefined);
      }
      void given.release();
      await world.run(exportMs);
      const two = await takeOver(server, await exportOf(world, one));
      await world.run(1_000);
      const { locks = [], waits = [] } = two.client.resumed ?? {};
      expect(waits).toEqual([]);
      expect(locks.map(({ key }) => key).sort()).toEqual(told);
      expect(server.table.counts()).toMatchObject({ holds: told.length, waiters: 0 });
      expect(locks[0]?.token).toBeGreaterThan(kept.token);
      for (const lock of locks)
        expect(await world.until(lock.release())).toEqual({ released: true });
      await world.run(3_000);
      expect(server.table.counts().holds).toBe(0);
      expect(server.owedTo(two.client.session)).toEqual([]);
    }
  });

  it("is given also while no node can be reached; its heir ends what was left open", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 20_000 });
    const kept = await world.until(one.client.acquire("kept"));
    const given = await world.until(one.client.acquire("given"));
    const left = await world.until(one.client.acquire("left"));
    const lowered = await world.until(one.client.acquire("lowered"));
    await world.until(other.client.acquire("busy"));
    const waiting = failure(world, one.client.acquire("busy"));
    await world.run(50);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    one.platform.connection?.cut();
    const releasing = given.release();
    const detaching = failure(world, left.detach());
    lowered.downgrade().catch(() => undefined);
    const askedMs = world.nowMs;
    const exported = await exportOf(world, one);
    expect(world.nowMs - askedMs).toBeLessThanOrEqual(2_010);
    expect(await releasing).toMatchObject({ released: false });
    expect((await detaching).code).toBe("LOCK_LOST");
    expect((await waiting).code).toBe("CANCELLED");
    expect(kept.isHeld).toBe(false);
    server.faults.downNodes.clear();
    const two = await takeOver(server, exported);
    await world.run(1_000);
    const { locks = [], waits = [] } = two.client.resumed ?? {};
    expect(locks.map(({ key, mode }) => [key, mode])).toEqual([
      ["kept", "exclusive"],
      ["lowered", "shared"],
    ]);
    expect(waits.map(({ keys }) => keys)).toEqual([["busy"]]);
    expect(server.table.counts()).toMatchObject({ holds: 3, waiters: 1 });
    expect(server.table.inspect("lowered").holds).toMatchObject([{ mode: "shared" }]);
  });

  it("leaves nothing unread of a request that was granted to nobody before", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const { session } = one.client;
    const controller = new AbortController();
    const left = one.client.acquire("k", { signal: controller.signal }).catch(() => "left");
    const isGranted = () => server.table.counts().holds === 1;
    for (let steps = 0; steps < 100 && !isGranted(); steps += 1) await world.run(0.1);
    server.faults.refuses = ({ op }) => op === OP.end;
    controller.abort();
    expect(await left).toBe("left");
    // The grant is read, and its end goes along undone.
    await world.run(50);
    const exported = await exportOf(world, one);
    expect(exported).toMatchObject({ holds: [], waits: [], loose: { ends: [1], downgrades: [] } });
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
