/**
 * What users of Redisson's locks reported, played against this table and this SDK. Each scenario
 * would show the reported symptom if the same thing were wrong here.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { END_REASON, MESSAGE, STATUS } from "../../src/protocol/index.js";
import { rejection, setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";
import { ClusterLog, exclusive, permits, resultOf, shared } from "../lockfsm/plans/cluster-log.js";

describe("redisson #4796: a reader that asks for the write lock waits for itself, forever", () => {
  // Fails if a task's own hold is not seen as what its request waits for.
  test("and gets an error at once instead", () => {
    const log = new ClusterLog();
    const a = log.open("a");
    const hold = a.take(shared("k"));
    expect(a.acquire(exclusive("k"))).toMatchObject({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [{ sessionName: "a", key: "k", mode: "exclusive" }],
    });
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(resultOf(a.end(hold))).toEqual({ status: STATUS.released });
  });

  // Fails if an upgrade waits behind its own shared hold, or behind those who wait already.
  test("though as the only reader it could simply become the writer", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const hold = a.take(shared("k"));
    b.acquire(exclusive("k"));
    const upgraded = a.upgrade(hold, "k", 0);
    expect(upgraded).toEqual({ status: STATUS.upgraded, token: hold.token + 1 });
    expect(log.table.inspect("k").holds).toMatchObject([
      { mode: "exclusive", token: hold.token + 1 },
    ]);
    expect(log.line("k")).toEqual(["a", "|", "b"]);
  });

  // Fails if two readers that both want to write are left to wait for each other.
  test("and with two of them neither can go on, unless the second is refused", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const [one, two] = [a.take(shared("k")), b.take(shared("k"))];
    expect(a.upgrade(one)).toEqual({ status: STATUS.queued });
    expect(b.upgrade(two)).toMatchObject({
      status: ERROR_NUMBERS.DEADLOCK,
      cycle: [{ sessionName: "b" }, { sessionName: "a" }],
    });
    // Its shared hold is as it was, and in its release the first becomes the writer.
    const messages = b.end(two);
    expect(messages.at(-1)).toMatchObject({
      kind: MESSAGE.outcome,
      result: { status: STATUS.upgraded },
    });
  });
});

// The text of this report was not to be found; the scenario comes from its kin on the fair lock.
describe("redisson #4462: waiters that died or gave up delay everybody behind them in the queue", () => {
  // Fails if a place in the queue outlives its waiter, or costs those behind it a time of its own.
  test("each by a time of its own", () => {
    const log = new ClusterLog();
    const holder = log.open("holder", 60_000);
    const dead = Array.from({ length: 5 }, (_, i) => log.open(`dead ${i}`, 5_000));
    const late = Array.from({ length: 5 }, (_, i) => log.open(`late ${i}`, 60_000));
    const last = log.open("last", 60_000);
    const hold = holder.take();
    for (const client of dead) client.acquire();
    for (const client of late) client.acquire(exclusive("k"), 5_000);
    last.acquire();
    log.pass(5_000);
    expect(log.line("k")).toEqual(["holder", "|", "last"]);
    holder.end(hold);
    expect(log.line("k")).toEqual(["last", "|"]);
  });

  // Fails if the lock is handed to one who is gone when all of it happens in one entry.
  test("even if the lock comes free in the very entry in which they end", () => {
    const log = new ClusterLog();
    const holder = log.open("holder", 60_000);
    const [dead, late] = [log.open("dead", 5_000), log.open("late", 60_000)];
    const last = log.open("last", 60_000);
    const hold = holder.take();
    dead.acquire();
    late.acquire(exclusive("k"), 5_000);
    last.acquire();
    log.stamp += 5_000;
    holder.end(hold);
    expect(log.line("k")).toEqual(["last", "|"]);
  });
});

describe("redisson #7272: the lock is renewed forever after an interrupted acquire and its unlock", () => {
  // Fails if neither giving up nor the grant that comes late is answered to the table.
  test("at whatever moment it is interrupted, and with the connection breaking too", async () => {
    for (let abortMs = 0; abortMs < 9; abortMs += 0.5) {
      const { world, server } = setUp(1 + abortMs * 2);
      const one = await connectTo(server, { ttlMs: 2_000 });
      const two = await connectTo(server, { ttlMs: 2_000 });
      const controller = new AbortController();
      const interrupted = one.client.acquire("k", { signal: controller.signal });
      world.after(abortMs, () => {
        controller.abort();
        one.platform.connection?.cut();
      });
      const released = interrupted.then(
        (lock) => lock.release(),
        () => undefined,
      );
      await world.until(released);
      // The session lives on for ten times its TTL, renewed by nothing but keepalives.
      await world.run(20_000);
      expect(one.client.session).toBeGreaterThan(0);
      expect(server.table.counts()).toMatchObject({ sessions: 2, holds: 0, waiters: 0 });
      expect((await world.until(two.client.tryAcquire("k")))?.isHeld).toBe(true);
      expect(one.platform.keepsProcess).toBe(false);
    }
  });

  // Fails if the same is left to the end of the session.
  test("when the grant was on its way as its caller left", async () => {
    const { world, server } = setUp();
    server.faults.latencyMs = [20, 20];
    const { client } = await connectTo(server, { ttlMs: 2_000 });
    const controller = new AbortController();
    const interrupted = client.acquire("k", { signal: controller.signal });
    await world.run(25);
    expect(server.table.counts()).toMatchObject({ holds: 1 });
    controller.abort();
    expect(await rejection(world, interrupted)).toBe(controller.signal.reason);
    await world.run(60);
    expect(server.table.counts()).toMatchObject({ holds: 0, waiters: 0 });
  });
});

// The text of this report was not to be found; the scenario comes from its kin on the semaphores.
describe("redisson #4456: permits of a dead holder never come back, or come back twice", () => {
  // Fails if permits are counted anywhere but by the holds that have them.
  test("and what is given back late gives back nothing", () => {
    const log = new ClusterLog();
    const [dead, a, b] = [log.open("dead", 5_000), log.open("a", 60_000), log.open("b", 60_000)];
    const lost = dead.take(permits("pool", 2, 3));
    const wide = a.take(permits("pool", 1));
    expect(b.acquire(permits("pool", 2))).toEqual({ status: STATUS.queued });
    log.pass(5_000);
    expect(log.line("pool")).toEqual(["a", "b", "|"]);
    // The dead holder wakes up, and has nothing to give.
    expect(dead.end(lost)).toMatchObject([{ kind: MESSAGE.ended, reason: END_REASON.unknown }]);
    expect(a.acquire(permits("pool", 1), 0, { task: 2 })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
    const slots = log.table.inspect("pool").holds.flatMap((hold) => hold.slots);
    expect([...slots].sort((x, y) => x - y)).toEqual([0, 1, 2]);
    expect(resultOf(a.end(wide))).toEqual({ status: STATUS.released });
    expect(resultOf(a.end(wide))).toMatchObject({ status: STATUS.notReleased });
    expect(a.acquire(permits("pool", 2), 0, { task: 2 })).toMatchObject({
      status: ERROR_NUMBERS.LOCK_HELD,
    });
  });
});
