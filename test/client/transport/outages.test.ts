/**
 * What an application sees while its cluster cannot be reached or has no leader: everything
 * continues by itself as soon as possible, every wait ends at its own limit and not before, and an
 * error says whether a command may have been executed.
 */
import { describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, connectOn } from "../../../src/client/index.js";
import type { HoldfastError } from "../../../src/errors/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

const TIMEOUT_MS = 2_000;

interface Scene extends SimulatedClient {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
}

async function scene(ttlMs = 60_000, seed = 1): Promise<Scene> {
  const { world, server } = setUp(seed);
  const connected = await connectTo(server, { ttlMs, connectTimeoutMs: TIMEOUT_MS });
  return { world, server, ...connected };
}

function takeNodesAway({ server, platform }: Scene): void {
  for (const { id } of server.nodes) server.faults.downNodes.add(id);
  platform.connection?.cut();
}

function giveNodesBack({ server }: Pick<Scene, "server">): void {
  server.faults.downNodes.clear();
}

/** What it fails with, and how long that took. */
async function failureAfter(
  { world }: Pick<Scene, "world">,
  promise: Promise<unknown>,
): Promise<{ readonly error: HoldfastError; readonly tookMs: number }> {
  const startedMs = world.nowMs;
  const error = await failure(world, promise);
  return { error, tookMs: world.nowMs - startedMs };
}

function applied({ server }: Scene, op: number): number {
  return server.applied.filter((command) => command.op === op).length;
}

describe("while every node is of another version", () => {
  it("connect says which versions these are, and asks none of them for anything", async () => {
    const { world, server } = setUp();
    server.version += 1;
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, connectTimeoutMs: 5_000 };
    const platform = new SimulatedPlatform(world, server);
    const { message } = await failure(world, connectOn(platform, settings));
    expect(message).toMatch(/speaks version 4 of the protocol, and this client version 3: update/);
    expect(server.applied).toEqual([]);
  });
});

describe("while no node can be reached", () => {
  it("connect looks for one until connectTimeoutMs, and says what was in the way", async () => {
    const { world, server } = setUp();
    const platform = new SimulatedPlatform(world, server);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, connectTimeoutMs: 5_000 };
    const { error, tookMs } = await failureAfter({ world }, connectOn(platform, settings));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.details).toEqual({ indeterminate: false });
    expect(error.message).toMatch(/ws:\/\/node-\d:7411: connection refused/);
    expect(tookMs).toBeGreaterThanOrEqual(5_000);
    expect(tookMs).toBeLessThan(5_100);
    const attempts = server.opened.length;
    await world.run(10_000);
    expect(server.opened.length).toBe(attempts);
  });

  it("connect succeeds as soon as there is one", async () => {
    const { world, server } = setUp();
    const platform = new SimulatedPlatform(world, server);
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    world.after(3_000, () => giveNodesBack({ server }));
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints };
    const client = await world.until(connectOn(platform, settings));
    expect(client.session).toBeGreaterThan(0);
    expect(world.nowMs).toBeLessThan(4_100);
  });

  it("rounds of attempts are spread at random, and no more than two a second", async () => {
    const rounds: number[] = [];
    for (let seed = 1; seed <= 12; seed++) {
      const each = await scene(60_000, seed);
      takeNodesAway(each);
      await each.world.run(10_000);
      const before = each.server.opened.length;
      await each.world.run(60_000);
      // Each round tries all three nodes.
      rounds.push((each.server.opened.length - before) / 3);
    }
    expect(Math.max(...rounds)).toBeLessThanOrEqual(120);
    expect(Math.min(...rounds)).toBeGreaterThanOrEqual(60);
    expect(new Set(rounds).size).toBeGreaterThan(3);
  });

  it("a hand-over fails after connectTimeoutMs, and its lock stays held", async () => {
    const each = await scene(20_000);
    const { world, server, client } = each;
    const lock = await world.until(client.acquire("k"));
    takeNodesAway(each);
    await world.run(10);
    const { error, tookMs } = await failureAfter(each, lock.handOver());
    expect(error).toMatchObject({ code: "UNAVAILABLE", details: { indeterminate: false } });
    expect(tookMs).toBeGreaterThanOrEqual(TIMEOUT_MS);
    expect(tookMs).toBeLessThan(TIMEOUT_MS + 300);
    expect([lock.isHeld, lock.signal.aborted]).toEqual([true, false]);
    giveNodesBack(each);
    await world.run(3_000);
    expect(applied(each, OP.handOver)).toBe(0);
    expect(server.table.inspect("k").holds).toMatchObject([{ token: lock.token }]);
    expect((await world.until(lock.handOver())).confirmed).toBe(true);
  });

  it("a hand-over fails with the end of its lock, if the lease is over before", async () => {
    const each = await scene(6_000);
    const { world, client } = each;
    const lock = await world.until(client.acquire("k"));
    takeNodesAway(each);
    await world.run(4_000);
    const { error, tookMs } = await failureAfter(each, lock.handOver());
    expect(error).toMatchObject({ code: "LOCK_LOST", details: { reason: "expired" } });
    expect(tookMs).toBeLessThan(TIMEOUT_MS);
    giveNodesBack(each);
    expect((await world.until(client.acquire("k"), 3_000)).isHeld).toBe(true);
    expect(applied(each, OP.handOver)).toBe(0);
  });

  it("a hand-over that never arrived is not confirmed, and the process that adopts learns it", async () => {
    const each = await scene(6_000);
    const { world, server, client } = each;
    const lock = await world.until(client.acquire("k"));
    await world.until(lock.acquire("k", { reentrant: true }));
    const handing = lock.handOver({ ttlMs: 600_000 });
    await world.run(0.1);
    takeNodesAway(each);
    const handed = await world.until(handing, 6_000);
    expect(handed.confirmed).toBe(false);
    expect(client.closed.aborted).toBe(false);
    giveNodesBack(each);
    const { locks, gone } = await world.until(client.adopt(handed), 3_000);
    expect([locks, gone]).toEqual([[], [{ keys: ["k"], reason: "unknown" }]]);
    const next = await world.until(client.acquire("k"), 3_000);
    expect(server.table.inspect("k").holds).toMatchObject([{ token: next.token }]);
    expect(applied(each, OP.handOver)).toBe(0);
    await world.until(next.release());
    await world.run(5_000);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("a hand-over whose answer was lost is not confirmed, and can be adopted", async () => {
    const each = await scene(6_000);
    const { world, server, client } = each;
    const lock = await world.until(client.acquire("k"));
    const handing = lock.handOver();
    while (applied(each, OP.handOver) === 0) await world.run(0.1);
    takeNodesAway(each);
    const handed = await world.until(handing, 6_000);
    expect(handed.confirmed).toBe(false);
    expect(server.table.inspect("k").holds).toMatchObject([{ holder: "bearer" }]);
    giveNodesBack(each);
    const { locks } = await world.until(client.adopt(handed), 9_000);
    expect(locks.map(({ isHeld }) => isHeld)).toEqual([true]);
    await world.run(5_000);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("a try and a read fail with UNAVAILABLE after connectTimeoutMs, having done nothing", async () => {
    const each = await scene();
    const lock = await each.world.until(each.client.acquire("handed over"));
    const handed = await each.world.until(lock.handOver({ ttlMs: 600_000 }));
    takeNodesAway(each);
    await each.world.run(10);
    const asked = [
      () => each.client.tryAcquire("k"),
      () => each.client.acquire("k", { waitMs: 0 }),
      () => each.client.inspect("k"),
      () => each.client.setLimit("s", 3),
      () => each.client.adopt(handed),
    ];
    for (const ask of asked) {
      const { error, tookMs } = await failureAfter(each, ask());
      expect(error.code).toBe("UNAVAILABLE");
      expect(error.details).toEqual({ indeterminate: false });
      expect(tookMs).toBeGreaterThanOrEqual(TIMEOUT_MS);
      expect(tookMs).toBeLessThan(TIMEOUT_MS + 300);
    }
    const before = each.server.applied.length;
    giveNodesBack(each);
    await each.world.run(3_000);
    const later = each.server.applied.slice(before);
    expect(later.filter(({ op }) => op === OP.acquire || op === OP.setLimit)).toEqual([]);
  });

  it("an acquire ends at its own deadline, and without one when the cluster is back", async () => {
    const each = await scene();
    takeNodesAway(each);
    const patient = each.client.acquire("k");
    const { error, tookMs } = await failureAfter(each, each.client.acquire("k", { waitMs: 700 }));
    expect(error.code).toBe("LOCK_TIMEOUT");
    expect(tookMs).toBeGreaterThanOrEqual(700);
    await each.world.run(20_000);
    giveNodesBack(each);
    expect((await each.world.until(patient)).isHeld).toBe(true);
    expect(each.server.table.counts()).toMatchObject({ holds: 1, waiters: 0 });
  });

  it("an acquire outlives its session if it was never sent", async () => {
    const each = await scene(1_000);
    const { session } = each.client;
    takeNodesAway(each);
    const waiting = each.client.acquire("k");
    await each.world.run(10_000);
    giveNodesBack(each);
    expect((await each.world.until(waiting)).isHeld).toBe(true);
    expect(each.client.session).not.toBe(session);
  });

  it("a lock is given up before the cluster can grant it to somebody else", async () => {
    const each = await scene(4_000);
    const { world, server, client } = each;
    const other = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(client.acquire("k"));
    const next = other.client.acquire("k");
    await world.run(50);
    let wasHeldAtAbort = false;
    lock.signal.addEventListener("abort", () => {
      wasHeldAtAbort = server.isHeld("k", lock.token);
    });
    // The other has a connection of its own, which stays.
    takeNodesAway(each);
    expect((await world.until(next)).isHeld).toBe(true);
    expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "expired" } });
    expect(wasHeldAtAbort).toBe(true);
  });

  it("a release and a close are waited for no longer than they say", async () => {
    const each = await scene(4_000);
    const { world, client } = each;
    const lock = await world.until(client.acquire("k"));
    takeNodesAway(each);
    const startedMs = world.nowMs;
    const released = await world.until(lock.release());
    expect(released).toEqual({ released: false, reason: "expired" });
    expect(world.nowMs - startedMs).toBeLessThanOrEqual(4_000);
    const closingMs = world.nowMs;
    await world.until(client.close());
    expect(world.nowMs - closingMs).toBeLessThanOrEqual(4_000 + 10);
  });
});

describe("UNAVAILABLE", () => {
  it("says that it may have happened where the command was sent", async () => {
    const each = await scene();
    const { world, server, client } = each;
    server.faults.isLeaderless = true;
    const { error } = await failureAfter(each, client.setLimit("s", 3));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.details).toEqual({ indeterminate: true });
    server.faults.isLeaderless = false;
    await world.run(500);
    expect(applied(each, OP.setLimit)).toBe(1);
  });

  it("says that it did not where each node that it was sent to refused it", async () => {
    const each = await scene();
    each.server.faults.busy = "commands";
    const { error } = await failureAfter(each, each.client.setLimit("s", 3));
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.details).toEqual({ indeterminate: false });
    each.server.faults.busy = "nothing";
    await each.world.run(3_000);
    expect(applied(each, OP.setLimit)).toBe(0);
  });

  it("of a try says so too, and it leaves nothing held, whether or not it was granted", async () => {
    const each = await scene();
    const { world, server, client } = each;
    server.faults.isLeaderless = true;
    const { error } = await failureAfter(each, client.tryAcquire("k"));
    expect(error.details).toEqual({ indeterminate: true });
    server.faults.isLeaderless = false;
    await world.run(500);
    expect(applied(each, OP.acquire)).toBe(1);
    expect(server.table.counts().holds).toBe(0);
  });

  it("of an acquire whose grant was swallowed says so, though it did not wait", async () => {
    const each = await scene();
    const { world, server, client, platform } = each;
    const acquiring = failureAfter(each, client.acquire("k", { waitMs: 0 }));
    while (applied(each, OP.acquire) === 0) await world.run(0.1);
    platform.connection?.cut();
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const { error } = await acquiring;
    expect(error.code).toBe("UNAVAILABLE");
    expect(error.details).toEqual({ indeterminate: true });
    expect(server.table.counts().holds).toBe(1);
  });

  it("of an upgrade, and of an acquire that shares a hold, says whether the upgrade was sent", async () => {
    for (const isSent of [true, false]) {
      const each = await scene();
      const { world, server, client } = each;
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      if (isSent) server.faults.isLeaderless = true;
      else takeNodesAway(each);
      await world.run(10);
      const upgrading = failure(world, lock.upgrade({ waitMs: 0 }));
      expect((await upgrading).details).toEqual({ indeterminate: isSent });
      const nested = failure(world, lock.acquire("k", { reentrant: true, waitMs: 0 }));
      expect((await nested).details).toEqual({ indeterminate: isSent });
      server.faults.isLeaderless = false;
    }
  });

  it("a client that ends says of each open call whether it may have been executed", async () => {
    const each = await scene();
    const { world, server, client } = each;
    const waiting = failure(world, client.acquire("k"));
    server.faults.isLeaderless = true;
    const sent = failure(world, client.setLimit("s", 3));
    await world.run(10);
    takeNodesAway(each);
    await world.run(10);
    const unsent = failure(world, client.setLimit("s", 4));
    void client.close();
    expect((await sent).details).toEqual({ indeterminate: true });
    expect((await unsent).details).toEqual({ indeterminate: false });
    expect((await waiting).code).toBe("CANCELLED");
  });
});

describe("while the cluster has no leader", () => {
  it("errors say how many nodes answer and how many are needed", async () => {
    const { world, server } = setUp();
    server.faults.isLeaderless = true;
    const connecting = (): Promise<unknown> => connectTo(server, { connectTimeoutMs: 3_000 });
    expect((await failure(world, connecting())).message).toBe(
      "no node serves: no leader yet: 3 of 3 nodes answer",
    );
    for (const id of [1, 3]) server.faults.downNodes.add(id);
    expect((await failure(world, connecting())).message).toBe(
      "no node serves: no leader: 1 of 3 nodes answers, 2 are needed; start the others",
    );
  });

  it("a client that lost its nodes says so too, until there is a leader again", async () => {
    const each = await scene();
    const { world, server, client } = each;
    server.faults.isLeaderless = true;
    for (const id of [1, 3]) server.faults.downNodes.add(id);
    for (const connection of server.connections) connection.cut();
    const text = "no leader: 1 of 3 nodes answers, 2 are needed; start the others";
    expect((await failure(world, client.tryAcquire("k"))).message).toBe(`lock "k": ${text}`);
    expect((await failure(world, client.inspect("k"))).message).toContain(text);
    server.faults.isLeaderless = false;
    server.leaderId = 2;
    await world.until(client.acquire("k"));
    server.faults.downNodes.add(2);
    for (const connection of server.connections) connection.cut();
    expect((await failure(world, client.inspect("k"))).message).toContain("connection refused");
  });

  it("what was sent is done once when there is one, however often it was sent again", async () => {
    const each = await scene(6_000);
    const { world, server, client } = each;
    server.faults.isLeaderless = true;
    const waiting = client.acquire("k");
    // Long enough that the client goes from node to node.
    await world.run(8_000);
    server.faults.isLeaderless = false;
    const lock = await world.until(waiting);
    expect(server.table.inspect("k").holds.map(({ token }) => token)).toEqual([lock.token]);
    expect(applied(each, OP.acquire)).toBeGreaterThanOrEqual(1);
    await world.until(lock.release());
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
  });

  it("a lock is given up by the client's own clock, though the table's stands still", async () => {
    const each = await scene(2_000);
    const { world, server, client } = each;
    const { session } = client;
    const lock = await world.until(client.acquire("k"));
    server.faults.isLeaderless = true;
    await world.run(30_000);
    expect(lock.signal.aborted).toBe(true);
    expect(server.isHeld("k", lock.token)).toBe(true);
    server.faults.isLeaderless = false;
    await world.run(1_000);
    // Given up is given up: the session lives, and has released it.
    expect(client.session).toBe(session);
    expect(server.table.counts().holds).toBe(0);
    expect((await world.until(client.acquire("k"))).token).toBeGreaterThan(lock.token);
  });

  it("waits keep their places and their sessions", async () => {
    const each = await scene(2_000);
    const { world, server } = each;
    const other = await connectTo(server, { ttlMs: 2_000 });
    const holder = await connectTo(server, { ttlMs: 600_000 });
    const held = await world.until(holder.client.acquire("k"));
    const order: string[] = [];
    const first = each.client.using("k", () => order.push("first"));
    await world.run(50);
    const second = other.client.using("k", () => order.push("second"));
    await world.run(50);
    server.faults.isLeaderless = true;
    await world.run(20_000);
    server.faults.isLeaderless = false;
    await world.until(held.release());
    await world.until(Promise.all([first, second]));
    expect(order).toEqual(["first", "second"]);
  });
});
