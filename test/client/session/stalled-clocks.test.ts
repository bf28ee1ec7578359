/**
 * What an application sees when its own machine is at fault: a clock that stands still, a process
 * that was stopped, a machine that slept.
 */
import { describe, expect, it } from "vitest";
import type { Change } from "../../../src/client/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

async function scene(ttlMs: number, countsSleep = false) {
  const { world, server } = setUp();
  const one = await connectTo(server, { ttlMs, connectTimeoutMs: 2_000 }, 1, countsSleep);
  const two = await connectTo(server, { ttlMs: 600_000 });
  return { world, server, one, two };
}

/** Where a clock counts sleep, and where the wall clock has to do for it. */
const KINDS = [
  ["on a machine with a clock that counts sleep", true],
  ["on a machine without one", false],
] as const;

describe.each(KINDS)("a monotonic clock that stands still, %s,", (_, countsSleep) => {
  it("makes no lock look held for longer than the wall clock allows", async () => {
    const { world, one, two } = await scene(2_000, countsSleep);
    const lock = await world.until(one.client.acquire("k"));
    const next = two.client.acquire("k");
    one.platform.stallMonotonicClock();
    let lookedMs = 0;
    while (lock.isHeld) {
      lookedMs = world.nowMs;
      await world.run(25);
    }
    expect(lookedMs).toBeGreaterThan(1_000);
    // Nobody else had it yet when the holder saw that it was over.
    expect(await Promise.race([next, "nobody"])).toBe("nobody");
    expect((await world.until(next)).token).toBeGreaterThan(lock.token);
  });

  it("is noticed by the first thing that the network says, without anybody's looking", async () => {
    const { world, server, one, two } = await scene(2_000, countsSleep);
    const { signal } = await world.until(one.client.acquire("k"));
    const next = two.client.acquire("k");
    one.platform.stallMonotonicClock();
    await world.until(next);
    await world.run(100);
    expect(signal.aborted).toBe(true);
    expect(server.table.counts().holds).toBe(1);
  });
});

describe.each(KINDS)(
  "a machine that slept while an answer was on its way, %s,",
  (_, countsSleep) => {
    it("gives a capped lock up before the table does, whatever it was to be woken for", async () => {
      for (let sleepMs = 100; sleepMs <= 700; sleepMs += 50) {
        const { world, server, one } = await scene(2_000, countsSleep);
        server.faults.latencyMs = [20, 20];
        const acquiring = one.client.acquire("k", { maxHoldMs: 1_000 });
        await world.run(5);
        one.platform.stop(true);
        await world.run(sleepMs);
        one.platform.goOn();
        const { signal, token } = await world.until(acquiring);
        let wasHeld: boolean | undefined;
        signal.addEventListener("abort", () => {
          wasHeld = server.isHeld("k", token);
        });
        await world.run(3_000);
        expect(wasHeld).toBe(true);
      }
    });
  },
);

describe("a wall clock that jumps", () => {
  it.each([-3_600_000, -1, 1, 4])("by %i ms changes nothing", async (byMs) => {
    const { world, one } = await scene(4_000);
    const lock = await world.until(one.client.acquire("k"));
    one.platform.jumpWallClock(byMs);
    await world.run(10_000);
    expect(lock.isHeld).toBe(true);
  });

  it("costs nothing where a clock says that the machine did not sleep", async () => {
    const { world, one } = await scene(4_000, true);
    const lock = await world.until(one.client.acquire("k"));
    for (const byMs of [13_500, 3_600_000, -86_400_000, 20, -7_200_000]) {
      one.platform.jumpWallClock(byMs);
      expect(lock.isHeld).toBe(true);
      await world.run(10_000);
    }
    expect(lock.isHeld).toBe(true);
    // That clock is slow to read: no turn but those that see a step asks for it.
    expect(one.platform.sleepClockReads).toBeLessThan(10);
  });

  it("back while the machine sleeps hides nothing from a clock that counts it", async () => {
    const { world, one } = await scene(4_000, true);
    const lock = await world.until(one.client.acquire("k"));
    one.platform.stop(true);
    await world.run(60_000);
    one.platform.jumpWallClock(-3_600_000);
    one.platform.goOn();
    expect(lock.isHeld).toBe(false);
  });

  it("forward beyond the lease ends what is held where no clock says that it did not sleep", async () => {
    const { world, one } = await scene(4_000);
    const lock = await world.until(one.client.acquire("k"));
    one.platform.jumpWallClock(3_600_000);
    expect(lock.isHeld).toBe(false);
    await world.run(100);
    expect((await world.until(one.client.acquire("k"))).isHeld).toBe(true);
  });
});

describe.each([
  ["stopped", false, false],
  ["asleep, with a clock that counts sleep,", true, true],
  ["asleep, without one,", true, false],
])("a process that was %s", (_, isAsleep, countsSleep) => {
  it("for less than its lease goes on as if nothing had been", async () => {
    const { world, one } = await scene(10_000, countsSleep);
    const { session } = one.client;
    const lock = await world.until(one.client.acquire("k"));
    one.platform.stop(isAsleep);
    await world.run(3_000);
    one.platform.goOn();
    await world.run(20_000);
    expect(lock.isHeld).toBe(true);
    expect(one.client.session).toBe(session);
  });

  it("for longer finds its locks lost, and works with a new session", async () => {
    const { world, one, two } = await scene(2_000, countsSleep);
    const { session } = one.client;
    const lock = await world.until(one.client.acquire("k"));
    const next = two.client.acquire("k");
    one.platform.stop(isAsleep);
    await world.run(60_000);
    one.platform.goOn();
    expect(lock.isHeld).toBe(false);
    expect((await world.until(next)).isHeld).toBe(true);
    const released = await world.until(lock.release());
    expect(released).toEqual({ released: false, reason: "expired" });
    await world.run(3_000);
    expect((await world.until(one.client.acquire("other"))).isHeld).toBe(true);
    expect(one.client.session).not.toBe(session);
  });

  it("while it waited is granted nothing that ended before it woke", async () => {
    const { world, server, one, two } = await scene(2_000, countsSleep);
    const holder = await world.until(two.client.acquire("k"));
    const waiting = one.client.acquire("k");
    waiting.catch(() => undefined);
    await world.run(50);
    one.platform.stop(isAsleep);
    await world.until(holder.release());
    await world.run(10_000);
    one.platform.goOn();
    const ended = await world.until(
      waiting.then(
        (lock) => lock.isHeld,
        (error: { code: unknown }) => error.code,
      ),
    );
    expect([false, "SESSION_EXPIRED"]).toContain(ended);
    await world.run(3_000);
    expect(server.table.inspect("k").holds).toEqual([]);
    expect((await world.until(one.client.acquire("k"))).isHeld).toBe(true);
  });

  it("beyond the deadline of its wait has it refused, and is in nobody's way", async () => {
    const { world, server, one, two } = await scene(60_000, countsSleep);
    const holder = await world.until(two.client.acquire("k"));
    const waiting = one.client.acquire("k", { waitMs: 1_000 });
    waiting.catch(() => undefined);
    await world.run(50);
    one.platform.stop(isAsleep);
    await world.run(5_000);
    one.platform.goOn();
    expect((await failure(world, waiting)).code).toBe("LOCK_TIMEOUT");
    await world.until(holder.release());
    await world.run(1_000);
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
  });

  it("while it watched gets everything that it missed", async () => {
    const { world, one, two } = await scene(2_000, countsSleep);
    const watch = one.client.watch("k");
    await world.run(50);
    one.platform.stop(isAsleep);
    const tokens: number[] = [];
    for (let i = 0; i < 20; i++) {
      const lock = await world.until(two.client.acquire("k"));
      tokens.push(lock.token);
      await world.until(lock.release());
      await world.run(500);
    }
    one.platform.goOn();
    const granted: number[] = [];
    while (granted.length < 20) {
      const { value } = (await world.until(watch.next())) as { value: Change };
      if (value.type === "granted") granted.push(value.token);
    }
    expect(granted).toEqual(tokens);
    await watch.return?.();
  });
});
