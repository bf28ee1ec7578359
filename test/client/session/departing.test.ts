/** A client that hands over everything it holds, and the clients that adopt it. */
import { describe, expect, it } from "vitest";
import type { Adopted, HandedOver } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { EMPTY, failure, setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";

/** As it arrives in another process. */
async function handedOver(world: SimulatedWorld, { client }: SimulatedClient): Promise<HandedOver> {
  return JSON.parse(JSON.stringify(await world.until(client.handOver()))) as HandedOver;
}

const adopt = (
  world: SimulatedWorld,
  { client }: SimulatedClient,
  handed: HandedOver,
): Promise<Adopted> => world.until(client.adopt(handed));

describe("a client that hands everything over", () => {
  it("gives up first, leaves no request behind, and ends", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000, name: "mover" });
    const lock = await world.until(one.client.acquire("a", { value: "v", maxHoldMs: 60_000 }));
    const slots = await world.until(
      one.client.semaphore("s", { limit: 3 }).acquire({ permits: 2 }),
    );
    const blocker = await world.until(other.client.acquire("b"));
    const waiting = failure(world, one.client.acquire("b"));
    await world.run(20);
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => {
      seen.push(server.applied.filter(({ op }) => op === OP.handOver).length);
    });
    const handed = await handedOver(world, one);
    expect(seen).toEqual([0]);
    expect(handed.confirmed).toBe(true);
    expect(handed.holds.map(({ keys }) => keys)).toEqual([["a"], ["s"]]);
    expect(lock.signal.reason).toMatchObject({ name: "AbortError" });
    expect((await waiting).code).toBe("CANCELLED");
    expect(one.client.closed.aborted).toBe(true);
    expect(await lock.release()).toEqual({ released: false, reason: "moved" });
    expect((await failure(world, one.client.acquire("c"))).code).toBe("CANCELLED");
    await world.run(50);
    expect(server.table.counts()).toMatchObject({ sessions: 1, holds: 3, waiters: 0 });
    const bearer = { holder: "bearer", sessionName: "mover", value: "v" };
    expect(server.table.inspect("a").holds).toMatchObject([bearer]);

    const two = await connectTo(server, { ttlMs: 10_000 });
    const { locks, gone, refused } = await adopt(world, two, handed);
    expect({ gone, refused }).toEqual({ gone: [], refused: [] });
    expect(locks.map(({ key, value }) => [key, value])).toEqual([
      ["a", "v"],
      ["s", ""],
    ]);
    expect(locks[1]?.slots).toEqual(slots.slots);
    for (const [at, old] of [lock, slots].entries()) {
      expect(locks[at]?.isHeld).toBe(true);
      expect(locks[at]?.token).toBeGreaterThan(old.token);
      expect(server.isHeld(old.key, locks[at]?.token ?? 0)).toBe(true);
    }
    for (const each of locks) expect(await world.until(each.release())).toEqual({ released: true });
    await world.until(Promise.all([blocker.release(), two.client.close(), other.client.close()]));
    expect(server.table.counts()).toMatchObject(EMPTY);
  });

  it("goes on with its locks if no node can be reached", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 20_000, connectTimeoutMs: 1_000 });
    const lock = await world.until(one.client.acquire("a"));
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    one.platform.connection?.cut();
    await world.run(50);
    const failed = await failure(world, one.client.handOver());
    expect(failed).toMatchObject({ code: "UNAVAILABLE", details: { indeterminate: false } });
    expect(lock.isHeld).toBe(true);
    server.faults.downNodes.clear();
    const handed = await handedOver(world, one);
    expect(handed).toMatchObject({ confirmed: true, holds: [{ keys: ["a"] }] });
  });

  it("gets CANCELLED if it is closed while no node can be reached", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 20_000 });
    await world.until(one.client.acquire("a"));
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    one.platform.connection?.cut();
    await world.run(50);
    const departing = failure(world, one.client.handOver());
    await world.until(one.client.close());
    expect((await departing).code).toBe("CANCELLED");
  });

  it("learns from the next connection what became of what it sent", async () => {
    for (const when of ["cutsBefore", "cutsAfter"] as const) {
      const { world, server } = setUp();
      const one = await connectTo(server, { ttlMs: 20_000 });
      await world.until(one.client.acquireAll([{ key: "a" }, { key: "b" }]));
      await world.until(one.client.acquire("c"));
      let cuts = 1;
      server.faults[when] = ({ op }) => {
        cuts -= op === OP.handOver ? 1 : 0;
        return op === OP.handOver && cuts === 0;
      };
      const handed = await handedOver(world, one);
      expect(handed.confirmed).toBe(true);
      const two = await connectTo(server);
      const { locks } = await adopt(world, two, handed);
      expect(locks.map(({ keys }) => keys)).toEqual([["a", "b"], ["c"]]);
    }
  });

  it("says so if it does not learn that, and the process that adopts learns the truth", async () => {
    for (const when of ["cutsBefore", "cutsAfter"] as const) {
      const { world, server } = setUp();
      const other = await connectTo(server, { ttlMs: 60_000 });
      const one = await connectTo(server, { ttlMs: 20_000 });
      await world.until(one.client.acquire("a"));
      server.faults[when] = ({ op }) => {
        if (op !== OP.handOver) return false;
        for (const { id } of server.nodes) server.faults.downNodes.add(id);
        return true;
      };
      const askedMs = world.nowMs;
      const handed = await handedOver(world, one);
      expect(world.nowMs - askedMs).toBeLessThanOrEqual(5_010);
      expect(handed).toMatchObject({ confirmed: false, holds: [{ keys: ["a"] }] });
      expect(one.client.closed.aborted).toBe(true);
      server.faults.downNodes.clear();
      const { locks, gone } = await adopt(world, other, handed);
      const isThere = when === "cutsAfter";
      expect(locks.map(({ key }) => key)).toEqual(isThere ? ["a"] : []);
      expect(gone).toEqual(isThere ? [] : [{ keys: ["a"], reason: "unknown" }]);
    }
  });

  it("hands over a hold once, however many handles it had, without what was not answered", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000 });
    const outer = await world.until(one.client.acquire("a"));
    await world.until(outer.acquire("a", { reentrant: true, mode: "shared" }));
    const shared = await world.until(one.client.acquire("r", { mode: "shared" }));
    const reader = await world.until(other.client.acquire("r", { mode: "shared" }));
    const upgrading = failure(world, shared.upgrade());
    await world.run(20);
    const handed = await handedOver(world, one);
    expect(await upgrading).toMatchObject({ code: "LOCK_LOST", details: { reason: "moved" } });
    await world.run(100);
    expect(server.table.inspect("r").waiters).toEqual([]);
    await world.until(reader.release());
    const two = await connectTo(server);
    const { locks } = await adopt(world, two, handed);
    expect(locks.map(({ mode }) => mode)).toEqual(["exclusive", "shared"]);
  });

  it("hands over as shared what an upgrade has made exclusive that it was not told of", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 20_000 });
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(one.client.acquire("a", { mode: "shared" }));
    const upgrading = failure(world, lock.upgrade());
    await world.run(30);
    expect(server.table.inspect("a").holds).toMatchObject([{ mode: "exclusive" }]);
    const handed = await handedOver(world, one);
    expect((await upgrading).code).toBe("LOCK_LOST");
    const { locks } = await adopt(world, await connectTo(server), handed);
    expect(locks.map(({ mode }) => mode)).toEqual(["shared"]);
  });

  it("hands over what its user knew to have, whatever is under way", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const isUpgradeLeft = seed % 2 === 0;
      const { world, server } = setUp(seed);
      const one = await connectTo(server, { ttlMs: 20_000 });
      const mode = isUpgradeLeft ? "shared" : "exclusive";
      const lock = await world.until(one.client.acquire("a", { mode }));
      server.faults.hardRefusals = 0.5;
      if (isUpgradeLeft) {
        const controller = new AbortController();
        const left = lock.upgrade({ signal: controller.signal }).catch(() => undefined);
        await world.run(1);
        controller.abort();
        await world.until(left);
      } else void lock.downgrade().catch(() => undefined);
      await world.run(seed % 5);
      const handed = await handedOver(world, one);
      server.faults.hardRefusals = 0;
      const two = await connectTo(server);
      const { locks } = await adopt(world, two, handed);
      expect(locks.map((each) => each.mode)).toEqual(["shared"]);
    }
  });

  it("leaves nobody waiting for what was granted to nobody", async () => {
    for (let atMs = 0; atMs < 8; atMs += 0.5) {
      const { world, server } = setUp(1 + atMs * 2);
      const other = await connectTo(server, { ttlMs: 60_000 });
      const one = await connectTo(server, { ttlMs: 20_000 });
      const asked = one.client.acquire("k").then(
        () => 1,
        () => 0,
      );
      await world.run(atMs);
      const handed = await world.until(one.client.handOver());
      expect(handed.holds).toHaveLength(await asked);
      const taking =
        handed.holds.length === 1
          ? other.client.adopt(handed).then(({ locks }) => locks[0])
          : other.client.acquire("k", { waitMs: 1_000 });
      expect((await world.until(taking))?.isHeld).toBe(true);
    }
  });
});

describe("of several that adopt", () => {
  it("one gets everything, and the others learn that", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const one = await connectTo(server, { ttlMs: 10_000 });
      for (const key of ["a", "b", "c"]) await world.until(one.client.acquire(key));
      const handed = await handedOver(world, one);
      const heirs = [await connectTo(server), await connectTo(server)];
      const found = await world.until(Promise.all(heirs.map(({ client }) => client.adopt(handed))));
      expect(found.map(({ locks }) => locks.length).sort()).toEqual([0, 3]);
      const moved = ["a", "b", "c"].map((key) => ({ keys: [key], reason: "moved" }));
      expect(found.find(({ locks }) => locks.length === 0)?.gone).toEqual(moved);
    }
  });

  it("the one that is told that the first has ended goes on", async () => {
    const { world, server } = setUp();
    const other = await connectTo(server, { ttlMs: 60_000 });
    const one = await connectTo(server, { ttlMs: 10_000 });
    for (const key of ["a", "b"]) await world.until(one.client.acquire(key));
    const handed = await handedOver(world, one);
    await world.until(other.client.acquire("a", { steal: true }));
    const two = await connectTo(server);
    const { locks, gone } = await adopt(world, two, handed);
    expect(gone).toEqual([{ keys: ["a"], reason: "stolen" }]);
    expect(locks.map(({ key }) => key)).toEqual(["b"]);
  });

  it("none goes on where it is not known what became of the first, unless asked to", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 10_000 });
    for (const key of ["a", "b"]) await world.until(one.client.acquire(key));
    const handed = await handedOver(world, one);
    const [first, second] = [await connectTo(server), await connectTo(server)];
    const { holds } = handed;
    // The first heir dies between the two.
    await adopt(world, first, { ...handed, holds: holds.slice(0, 1) });
    const refused = await adopt(world, second, handed);
    expect(refused.locks).toEqual([]);
    const { locks, gone } = await world.until(second.client.adopt(handed, { rest: true }));
    expect(gone).toEqual([{ keys: ["a"], reason: "moved" }]);
    expect(locks.map(({ key }) => key)).toEqual(["b"]);
  });

  it("who comes too late learns how it ended", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 10_000 });
    await world.until(one.client.acquire("a"));
    const handed = await world.until(one.client.handOver({ ttlMs: 1_000 }));
    await world.run(1_100);
    const two = await connectTo(server);
    expect((await adopt(world, two, handed)).gone).toEqual([{ keys: ["a"], reason: "expired" }]);
  });
});
