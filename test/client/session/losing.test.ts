/** What ends a lock against the will of its holder, and how the holder learns of it. */
import { describe, expect, it } from "vitest";
import type { Lock } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

/** Tells whether the table still had the lock when its client gave it up; `undefined` before that. */
function watchLoss(server: TableServer, { key, token, signal }: Lock): () => boolean | undefined {
  let wasHeld: boolean | undefined;
  signal.addEventListener("abort", () => {
    wasHeld = server.isHeld(key, token);
  });
  return () => wasHeld;
}

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

describe("a holder", () => {
  it("hears once that somebody begins to wait, and late listeners hear it at once", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    let told = 0;
    const stop = lock.on("contended", () => {
      told += 1;
    });
    expect(lock.isContended).toBe(false);
    void two.client.acquire("k").catch(() => undefined);
    void two.client.acquire("k").catch(() => undefined);
    await world.run(50);
    expect(told).toBe(1);
    expect(lock.isContended).toBe(true);
    lock.on("contended", () => {
      told += 10;
    });
    expect(told).toBe(11);
    stop();
  });

  it("hears of a revoke with its reason, and may release in peace", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 4_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const notices: unknown[] = [];
    lock.on("revoking", (notice) => notices.push(notice));
    const revoked = two.client.revoke({ key: "k" }, { graceMs: 10_000, reason: "maintenance" });
    expect(await world.until(revoked)).toEqual({
      revoked: 1,
      opened: 0,
      endsInMs: 10_000,
      leasesLeft: 0,
    });
    await world.run(20);
    expect(notices).toMatchObject([{ reason: "maintenance" }]);
    expect(lock.isHeld).toBe(true);
    // The lease goes on; the revoke does not.
    await world.run(5_000);
    expect(lock.remainingMs).toBeLessThan(5_000);
    expect(await world.until(lock.release())).toEqual({ released: true });
  });

  it("loses what it does not release, before the table gives it to another", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 4_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const { signal } = lock;
    const next = two.client.acquire("k");
    await world.run(20);
    await world.until(two.client.revoke({ token: lock.token }, { graceMs: 6_000 }));
    const wasHeld = watchLoss(server, lock);
    await world.until(next);
    expect(wasHeld()).toBe(true);
    expect(signal.reason).toMatchObject({ code: "LOCK_LOST", details: { reason: "revoked" } });
    expect(one.client.closed.aborted).toBe(false);
  });

  it("loses at once what is revoked at once", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    await world.until(two.client.revoke({ key: "k" }, { now: true }));
    await world.run(20);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "revoked" } });
    await world.run(3_000);
    expect(server.owedTo(one.client.session)).toEqual([]);
  });

  it("gives up at its cap, before the table does, and the session goes on", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 4_000 });
    const { session } = client;
    const lock = await world.until(client.acquire("k", { maxHoldMs: 5_000 }));
    const { signal } = lock;
    const wasHeld = watchLoss(server, lock);
    await world.run(6_000);
    expect(wasHeld()).toBe(true);
    expect(signal.reason).toMatchObject({ details: { reason: "maxHold" } });
    expect(holdsOf(server, "k")).toEqual([]);
    expect(client.session).toBe(session);
  });

  it("of a session that an operator ends is notified, and has given up by then", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 4_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const { signal } = lock;
    const next = two.client.acquire("k");
    await world.run(20);
    let notices = 0;
    lock.on("revoking", () => {
      notices += 1;
    });
    await world.until(two.client.endSession(one.client.session, { graceMs: 1_000 }));
    const wasHeld = watchLoss(server, lock);
    await world.until(next);
    expect(notices).toBe(1);
    expect(wasHeld()).toBe(true);
    expect(signal.reason).toMatchObject({ details: { reason: "revoked" } });
    // Another session is opened for what comes when this one has ended.
    await world.run(1_000);
    expect((await world.until(one.client.acquire("other"))).isHeld).toBe(true);
    const gone = await failure(world, two.client.endSession(9_999_999));
    expect(gone.code).toBe("NOT_HELD");
  });
});

describe("who waits", () => {
  it("learns that an operator ended the session, not that its lease ran out", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    await world.until(two.client.acquire("k"));
    const waiting = failure(world, one.client.acquire("k"));
    await world.run(20);
    await world.until(two.client.endSession(one.client.session, { now: true }));
    expect(await waiting).toMatchObject({
      code: "SESSION_EXPIRED",
      message: 'lock "k": the session was ended by an operator while waiting; nothing is held',
      details: { key: "k", reason: "revoked" },
    });
    expect(server.table.inspect("k").waiters).toEqual([]);
  });
});

describe("a lost session", () => {
  it("sends no end to the next one, where the same number belongs to another call", async () => {
    for (const waitedMs of [0, 1, 50]) {
      const { world, server } = setUp();
      const other = await connectTo(server, { ttlMs: 60_000 });
      await world.until(other.client.acquire("b"));
      const { client } = await connectTo(server, { ttlMs: 4_000 });
      const { session } = client;
      const lock = await world.until(client.acquire("a"));
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = client.acquire("b", { signal }).catch((error: unknown) => error);
      await world.run(waitedMs);
      const next: Promise<Lock>[] = [];
      lock.signal.addEventListener("abort", () => {
        next.push(client.acquire("c"), client.acquire("d"));
        controller.abort();
      });
      await world.until(other.client.endSession(session, { now: true }));
      expect(await world.until(waiting)).toBe(signal.reason);
      await world.run(1_000);
      expect(client.session).not.toBe(session);
      for (const granted of await world.until(Promise.all(next))) {
        expect(granted.isHeld).toBe(true);
        expect(server.isHeld(granted.key, granted.token)).toBe(true);
      }
      expect(server.applied.filter(({ op }) => op === OP.end)).toEqual([]);
    }
  });
});

describe("a new connection", () => {
  it("is not believed before it told of a revoke that the old one missed", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 6_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const { signal } = lock;
    const next = two.client.acquire("k");
    // A keepalive is about to be due: what resumes the session renews the lease by a good part.
    await world.run(1_300);
    // The notice is lost; the session is resumed, and what reports the revoke is held up.
    const broken = one.platform.connection;
    if (broken !== undefined) broken.isBlackhole = true;
    await world.until(two.client.revoke({ key: "k" }, { graceMs: 0 }));
    broken?.cut();
    const applied = server.applied.length;
    while (!server.applied.slice(applied).some(({ op }) => op === OP.resume)) await world.run(0.1);
    await world.run(2.1);
    const resumed = one.platform.connection;
    if (resumed !== undefined) resumed.isBlackhole = true;
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    const wasHeld = watchLoss(server, lock);
    await world.until(next);
    expect(signal.aborted).toBe(true);
    expect(wasHeld()).toBe(true);
  });

  it("reports revokes, caps and waiting others that the old one missed", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 6_000 });
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const notices: unknown[] = [];
    lock.on("revoking", (notice) => notices.push(notice));
    const broken = one.platform.connection;
    if (broken !== undefined) broken.isBlackhole = true;
    void two.client.acquire("k").catch(() => undefined);
    await world.until(two.client.revoke({ key: "k" }, { graceMs: 20_000, reason: "why" }));
    broken?.cut();
    await world.run(100);
    expect(lock.isContended).toBe(true);
    expect(notices).toHaveLength(1);
    expect(lock.isHeld).toBe(true);
  });

  it("reports that a wait which was granted meanwhile is revoked", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 6_000 });
    const two = await connectTo(server);
    const before = await world.until(two.client.acquire("k"));
    const asking = one.client.acquire("k");
    await world.run(100);
    const broken = one.platform.connection;
    if (broken !== undefined) broken.isBlackhole = true;
    await world.until(before.release());
    await world.until(two.client.revoke({ key: "k" }, { graceMs: 20_000, reason: "why" }));
    broken?.cut();
    const lock = await world.until(asking);
    const notices: unknown[] = [];
    lock.on("revoking", (notice) => notices.push(notice));
    expect(notices).toHaveLength(1);
    expect(lock.isHeld).toBe(true);
  });

  it("reports for a lock that is granted later that an operator ends its session", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 6_000 });
    const two = await connectTo(server);
    const before = await world.until(two.client.acquire("k"));
    const asking = one.client.acquire("k");
    await world.run(100);
    const order = { graceMs: 3_000, reason: "why" };
    await world.until(two.client.endSession(one.client.session, order));
    await world.until(before.release());
    const lock = await world.until(asking);
    const notices: unknown[] = [];
    lock.on("revoking", (notice) => notices.push(notice));
    expect(notices).toEqual([expect.objectContaining({ reason: "why" })]);
    await world.run(10_000);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "revoked" } });
  });

  it("reports that a grant it repeats was lost since, and nobody believes in it", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 6_000 });
    const two = await connectTo(server);
    // Granted, told to nobody, stolen, and only then asked for again.
    const connection = one.platform.connection;
    const asking = one.client.acquire("k");
    while (holdsOf(server, "k").length === 0) await world.run(0.1);
    if (connection !== undefined) connection.isBlackhole = true;
    const thief = await world.until(two.client.acquire("k", { steal: true }));
    connection?.cut();
    const lock = await world.until(asking);
    expect(lock.isHeld).toBe(false);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "stolen" } });
    expect(thief.isHeld).toBe(true);
    await world.run(5_000);
    expect(server.owedTo(one.client.session)).toEqual([]);
  });

  it("reports the cap of a wait that was granted meanwhile", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 8_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const blocker = await world.until(two.client.acquire("k"));
    const waiting = one.client.acquire("k", { maxHoldMs: 4_000 });
    await world.run(3_000);
    const connection = one.platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    await world.until(blocker.release());
    connection?.cut();
    const lock = await world.until(waiting);
    // Not counted from when it began to wait, nor from when the grant arrived.
    expect(lock.remainingMs).toBeGreaterThan(3_000);
    expect(lock.remainingMs).toBeLessThan(4_000);
  });
});
