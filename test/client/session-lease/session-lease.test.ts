import { describe, expect, it } from "vitest";
import { LeaseClock } from "../../../src/client/session-lease/lease-clock.js";
import { marginMs, SessionLease } from "../../../src/client/session-lease/session-lease.js";
import { HoldfastError } from "../../../src/errors/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";

describe("the evidence of a lease", () => {
  it("counts from the newest transmission, less a tenth or a quarter of a second", () => {
    const lease = new SessionLease(15_000);
    expect(lease.deadlineMs).toBe(Number.NEGATIVE_INFINITY);
    lease.renew(1_000, 51_000);
    lease.renew(400, 50_400);
    expect(lease.deadlineMs).toBe(1_000 + 15_000 - 1_500);
    expect(marginMs(1_000)).toBe(250);
  });

  it("is measured by the larger of the two clocks, without running fast on the small steps", () => {
    const { world, server } = setUp();
    const platform = new SimulatedPlatform(world, server);
    const clock = new LeaseClock(platform);
    const begin = clock.read();
    for (let i = 0; i < 10_000; i++) {
      world.nowMs += 0.1;
      clock.read();
    }
    expect(clock.read() - begin).toBeCloseTo(1_000, 0);
    platform.jumpWallClock(-60_000);
    expect(clock.read() - begin).toBeCloseTo(1_000, 0);
    platform.jumpWallClock(5_000);
    expect(clock.read() - begin).toBeCloseTo(6_000, 0);
  });

  it("is asked for a quarter of the TTL after the newest, and not while commands bring it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 4_000 });
    const keepalives = () => server.applied.filter(({ op }) => op === OP.keepalive).length;
    const held = await world.until(client.acquire("held"));
    await world.run(10_050);
    expect(keepalives()).toBe(10);
    await world.until(held.release());
    for (let i = 0; i < 20; i++) {
      const lock = await world.until(client.acquire("a"));
      await world.run(500);
      await world.until(lock.release());
    }
    expect(keepalives()).toBeLessThanOrEqual(11);
  });

  it("is asked for by who has nothing as late as a failover allows", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 15_000 });
    const other = await connectTo(server, { ttlMs: 600_000 });
    const { session } = client;
    const keepalives = () => server.applied.filter(({ op }) => op === OP.keepalive).length;
    const during = async (ms: number) => {
      const before = keepalives();
      await world.run(ms);
      return keepalives() - before;
    };
    // 15 s less the margin of 1.5 s, a failover of 5 s and 3 s to come back: every 5.5 s.
    expect(await during(16_550)).toBe(3);
    const held = await world.until(other.client.acquire("a"));
    const waiting = client.acquire("a");
    expect(await during(37_550)).toBeGreaterThanOrEqual(10);
    await world.until(held.release());
    await world.until((await world.until(waiting)).release());
    const stream = client.watch("a")[Symbol.asyncIterator]();
    const change = stream.next();
    expect(await during(37_550)).toBeGreaterThanOrEqual(10);
    await world.until(client.acquire("a"));
    await world.until(change);
    expect(client.session).toBe(session);
  });

  it("is asked for no less than every quarter of a TTL in which no failover has room", async () => {
    const { world, server } = setUp();
    await connectTo(server, { ttlMs: 6_000 });
    await world.run(15_050);
    expect(server.applied.filter(({ op }) => op === OP.keepalive)).toHaveLength(10);
  });
});

describe("a lapse", () => {
  it("aborts the signal of a stopped process before anything else happens in it", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 1_000 });
    const two = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(one.client.acquire("a"));
    const next = two.client.acquire("a");
    const pending = one.client.acquire("b");
    const seen: string[] = [];
    lock.signal.addEventListener("abort", () => seen.push("aborted"));
    void pending.then(
      () => seen.push("granted"),
      () => seen.push("refused"),
    );
    one.platform.stop();
    await world.until(next);
    one.platform.goOn();
    await world.run(1);
    expect(seen[0]).toBe("aborted");
    expect(lock.signal.reason).toBeInstanceOf(HoldfastError);
    expect(lock.signal.reason.code).toBe("LOCK_LOST");
    expect(lock.signal.reason.details.reason).toBe("expired");
    expect(await world.until(lock.release())).toEqual({ released: false, reason: "expired" });
    await world.run(100);
    expect(two.client.session).toBeGreaterThan(0);
    expect(server.table.inspect("a").holds).toHaveLength(1);
  });

  it("is seen by all who look, without any timer having run", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(client.acquire("a"));
    expect(lock.remainingMs).toBeGreaterThan(700);
    // The event loop is blocked: time passes and nothing runs.
    world.nowMs += 800;
    expect(lock.remainingMs).toBe(0);
    expect(lock.isHeld).toBe(false);
    expect(lock.signal.aborted).toBe(true);
    expect(() => lock.assertHeld()).toThrow(/may have expired/);
  });

  it("is seen in a signal that was looked at before", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(client.acquire("a"));
    expect(lock.signal.aborted).toBe(false);
    world.nowMs += 800;
    expect(lock.signal.aborted).toBe(true);
    expect(lock.signal.reason).toMatchObject({ code: "LOCK_LOST" });
  });

  it("that is noticed by asking for something ends what its listeners abort or close", async () => {
    const { world, server } = setUp();
    const holder = await connectTo(server, { ttlMs: 60_000 });
    await world.until(holder.client.acquire("wanted"));
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const first = await world.until(client.acquire("a"));
    const controller = new AbortController();
    first.signal.addEventListener("abort", () => controller.abort());
    const { signal } = controller;
    world.nowMs += 800;
    const waiting = rejection(world, client.acquire("wanted", { signal }), 5_000);
    expect(await waiting).toBe(signal.reason);

    await world.run(500);
    const second = await world.until(client.acquire("a"));
    const closing: Promise<void>[] = [];
    second.signal.addEventListener("abort", () => closing.push(client.close()));
    world.nowMs += 800;
    expect((await failure(world, client.inspect("a"))).code).toBe("CANCELLED");
    await world.until(Promise.all(closing), 5_000);
    expect(closing).toHaveLength(1);
  });

  it("is seen after sleep, in which the monotonic clock stood still", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 10_000 });
    const lock = await world.until(client.acquire("a"));
    platform.stop(true);
    await world.run(60_000);
    platform.goOn();
    expect(lock.isHeld).toBe(false);
  });

  it("is noticed within a second of waking even if nobody looks", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
    const { signal } = await world.until(client.acquire("a"));
    const connection = platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    platform.stop(true);
    await world.run(120_000);
    platform.goOn();
    await world.run(1_001);
    expect(signal.aborted).toBe(true);
  });

  it("ends holds, not the session: it is resumed, they are released, waits keep their place", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000, name: "one" });
    const two = await connectTo(server, { ttlMs: 60_000, name: "two" });
    const { session } = one.client;
    const lock = await world.until(one.client.acquire("held"));
    const blocker = await world.until(two.client.acquire("wanted"));
    const waiting = one.client.acquire("wanted");
    await world.run(20);
    void two.client.acquire("wanted").catch(() => undefined);
    await world.run(20);
    // A wall clock that jumps ends the belief in the lease, but not the lease.
    one.platform.jumpWallClock(1_900);
    expect(lock.isHeld).toBe(false);
    await world.run(500);
    expect(server.table.inspect("held").holds).toEqual([]);
    expect(one.client.session).toBe(session);
    expect(server.table.inspect("wanted").waiters.map((each) => each.sessionName)).toEqual([
      "one",
      "two",
    ]);
    await world.until(blocker.release());
    expect((await world.until(waiting)).isHeld).toBe(true);
  });

  it("keeps a grant aside until the lease is proven again", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 4_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const blocker = await world.until(two.client.acquire("a"));
    const waiting = one.client.acquire("a");
    await world.run(50);
    let isGranted = false;
    void waiting.then(() => {
      isGranted = true;
    });
    // The wall clock jumps, the grant arrives, and the answer to the keepalive takes its time.
    server.faults.latencyMs = [100, 100];
    one.platform.jumpWallClock(3_900);
    void blocker.release();
    let held = false;
    while (!held) {
      await world.run(10);
      held = server.table.inspect("a").holds[0]?.session === one.client.session;
    }
    await world.run(150);
    expect(isGranted).toBe(false);
    const lock = await world.until(waiting);
    expect(lock.isHeld).toBe(true);
    expect(lock.remainingMs).toBeGreaterThan(3_000);
  });

  it("rejects what waited in a session that expired, and opens another for what comes next", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 1_000 });
    const two = await connectTo(server, { ttlMs: 60_000 });
    const { session } = one.client;
    const lock = await world.until(one.client.acquire("own"));
    await world.until(two.client.acquire("a"));
    const waiting = one.client.acquire("a");
    await world.run(50);
    one.platform.stop();
    await world.run(3_000);
    one.platform.goOn();
    const error = await failure(world, waiting);
    expect(error).toMatchObject({ code: "SESSION_EXPIRED", details: { reason: "expired" } });
    expect(lock.signal.reason.details.reason).toBe("expired");
    expect((await world.until(one.client.acquire("b"))).isHeld).toBe(true);
    expect(one.client.session).not.toBe(session);
  });

  it("asks the next session for what the one that ended certainly did not do, and only that", async () => {
    let askedAgain = 0;
    for (let askMs = 0; askMs < 8; askMs += 0.25) {
      const { world, server } = setUp(1 + askMs * 4);
      const one = await connectTo(server, { ttlMs: 10_000 });
      const operator = await connectTo(server, { ttlMs: 10_000 });
      const { session } = one.client;
      const ending = operator.client.endSession(session, { now: true });
      await world.run(askMs);
      const asked = one.client.acquireAll([{ key: "k" }, { key: "l", mode: "shared" }]);
      const limit = one.client.setLimit("s", 3);
      const lock = await world.until(asked);
      await world.until(limit);
      await world.until(ending);
      await world.run(20);
      // Granted by one session or the other, and by one only.
      const { holds } = server.table.inspect("k");
      const { isHeld } = lock;
      expect(holds.map(({ token }) => token)).toEqual(isHeld ? [lock.token] : []);
      if (!isHeld) expect(lock.signal.reason.details.reason).toBe("revoked");
      const acquires = server.applied.filter(({ op }) => op === OP.acquire);
      if (acquires.length > 1) askedAgain += 1;
      expect(await world.until(lock.release())).toMatchObject({ released: isHeld });
      await world.run(10_000);
      expect(server.owedTo(one.client.session)).toEqual([]);
    }
    expect(askedAgain).toBeGreaterThan(3);
  });
});
