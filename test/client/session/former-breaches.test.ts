/**
 * Cases in which an earlier model broke a promise, by name. Each stays here after its cause was
 * removed, as a test of the promise.
 */
import { describe, expect, it } from "vitest";
import type { Change, Lock } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

type Op = (typeof OP)[keyof typeof OP];

function refuse(server: TableServer, ...ops: Op[]): void {
  server.faults.refuses = ({ op }) => ops.includes(op);
}

/** Lets time pass until the table has executed such a command; its answer is on its way then. */
async function executed(world: SimulatedWorld, server: TableServer, op: Op): Promise<void> {
  const isDone = (): boolean => server.executed.some(({ command }) => command.op === op);
  for (let steps = 0; steps < 1_000 && !isDone(); steps += 1) await world.run(0.1);
  expect(isDone()).toBe(true);
}

/** A shared lock that another client shares, so that no upgrade is granted. */
async function readers() {
  const { world, server } = setUp();
  const one = await connectTo(server, { ttlMs: 4_000 });
  const other = await connectTo(server, { ttlMs: 60_000 });
  const lock = await world.until(one.client.acquire("k", { mode: "shared" }));
  const reader = await world.until(other.client.acquire("k", { mode: "shared" }));
  return { world, server, one, other, lock, reader };
}

describe("a lock that is left in the turn in which its client hands over, or shortly before", () => {
  it("goes to one adopter, who has it as it is in the table", async () => {
    const { world, server, one, other, lock, reader } = await readers();
    const more = lock.acquire("k", { reentrant: true });
    more.catch(() => undefined);
    await world.run(20);
    refuse(server, OP.handOver, OP.end);
    const handing = lock.handOver();
    await world.run(20);
    const departing = one.client.handOver();
    await world.run(20);
    refuse(server);
    const handed = await world.until(handing);
    expect((await world.until(departing)).holds).toEqual([]);
    await world.until(reader.release());
    const two = await connectTo(server, { ttlMs: 4_000 });
    const { locks } = await world.until(two.client.adopt(handed));
    await world.run(2_000);
    const holds = server.table.inspect("k").holds.filter(({ holder }) => holder === "session");
    expect(locks.map(({ token }) => token)).toEqual(holds.map(({ token }) => token));
    await world.until(Promise.all(locks.map((each) => each.release())));
    const next = await world.until(other.client.acquire("k", { waitMs: 20_000 }));
    expect(next.isHeld).toBe(true);
  });

  it.each(["handOver", "release"] as const)("by %s is not handed over once more", async (how) => {
    const { world, server } = setUp();
    const one = await connectTo(server, { ttlMs: 2_000 });
    const lock = await world.until(one.client.acquire("k"));
    const leaving: Promise<unknown> =
      how === "release" ? lock.release() : lock.handOver({ ttlMs: 10_000 });
    const { holds } = await world.until(one.client.handOver());
    await world.until(leaving);
    expect(holds).toEqual([]);
    // A bearer that nobody was given ends after its own time.
    await world.run(20_000);
    expect(server.table.inspect("k").holds).toEqual([]);
  });

  it("by downgrade is shared for the adopter and in the table", async () => {
    for (const isCut of [false, true]) {
      const { world, server } = setUp();
      const one = await connectTo(server, { ttlMs: 4_000 });
      const two = await connectTo(server, { ttlMs: 60_000 });
      const lock = await world.until(one.client.acquire("k"));
      let cuts = isCut ? 1 : 0;
      server.faults.cutsBefore = ({ op }) => op === OP.downgrade && cuts-- > 0;
      lock.downgrade().catch(() => undefined);
      const handed = await world.until(one.client.handOver());
      const { locks } = await world.until(two.client.adopt(handed));
      await world.run(1_000);
      expect(locks.map(({ mode }) => mode)).toEqual(["shared"]);
      expect(server.table.inspect("k").holds).toMatchObject([{ mode: "shared" }]);
    }
  });
});

describe("an upgrade that is left", () => {
  it("by its signal or deadline makes no other exclusive acquire of the task shared", async () => {
    for (let leaveMs = 0; leaveMs < 12; leaveMs += 0.5) {
      for (const isDeadline of [false, true]) {
        const { world, server } = setUp(1 + leaveMs * 2);
        const { client, platform } = await connectTo(server, { ttlMs: 10_000 });
        const other = await connectTo(server, { ttlMs: 60_000 });
        const lock = await world.until(client.acquire("k", { mode: "shared" }));
        const controller = new AbortController();
        // It is granted, and the answer is lost.
        server.faults.cutsAfter = ({ op }) => op === OP.upgrade;
        const wish = isDeadline ? { waitMs: leaveMs } : { signal: controller.signal };
        const left = lock.upgrade(wish).catch(() => undefined);
        const counting = lock.acquire("k", { reentrant: true });
        await world.run(leaveMs);
        controller.abort();
        server.faults.cutsAfter = () => false;
        await world.until(left);
        platform.connection?.cut();
        const inner = await world.until(counting);
        const reader = other.client.tryAcquire("k", { mode: "shared" });
        expect(await world.until(reader)).toBeUndefined();
        expect(inner.isHeld).toBe(true);
        expect(inner.mode).toBe("exclusive");
        expect(server.table.inspect("k").holds).toMatchObject([{ mode: "exclusive" }]);
        await world.until(inner.release());
        await world.until(lock.release());
      }
    }
  });

  it("by a lapse of the lease is not granted afterwards, and starves nobody", async () => {
    const { world, server, one, other, lock, reader } = await readers();
    const upgrading = failure(world, lock.upgrade());
    await world.run(50);
    expect(server.table.counts().waiters).toBe(1);
    // The client's clock says that its lease is over; the table's does not.
    one.platform.stop();
    await world.run(3_800);
    one.platform.goOn();
    expect((await upgrading).code).toBe("LOCK_LOST");
    await world.run(2_000);
    expect(server.table.counts().waiters).toBe(0);
    await world.until(reader.release());
    const next = await world.until(other.client.acquire("k", { mode: "shared" }));
    await world.run(2_000);
    expect(server.table.inspect("k").holds.map(({ token }) => token)).toEqual([next.token]);
  });
});

describe("a lock that was stolen after an upgrade and a new connection", () => {
  it("is reported as stolen, and the loss is read", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 4_000 });
    const thief = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    server.faults.cutsAfter = ({ op }) => op === OP.upgrade;
    const upgrading = lock.upgrade();
    upgrading.catch(() => undefined);
    await executed(world, server, OP.upgrade);
    server.faults.cutsAfter = () => false;
    await world.until(thief.client.acquire("k", { steal: true }));
    await world.until(Promise.allSettled([upgrading]));
    await world.run(3_000);
    expect(platform.connection?.session).toBe(client.session);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "stolen" } });
    expect(server.owedTo(client.session)).toEqual([]);
  });
});

describe("an upgrade of a lock that is stolen while there is no connection", () => {
  async function stolen(start: (lock: Lock) => Promise<unknown>) {
    const { world, server, one, other, lock } = await readers();
    const upgrading = start(lock);
    await world.run(20);
    expect(server.table.counts().waiters).toBe(1);
    one.platform.connection?.cut();
    const theft = await world.until(other.client.acquire("k", { steal: true }));
    return { world, server, lock, upgrading, theft };
  }

  it("is told that it is lost, and why", async () => {
    const { world, lock, upgrading } = await stolen((lock) => lock.upgrade());
    const told = { code: "LOCK_LOST", details: { reason: "stolen" } };
    expect(await failure(world, upgrading)).toMatchObject(told);
    expect(lock.signal.reason).toMatchObject(told);
  });

  it("for a nested acquire becomes a request of its own", async () => {
    const { world, server, lock, upgrading, theft } = await stolen((lock) => {
      return lock.acquire("k", { reentrant: true });
    });
    await world.run(100);
    expect(lock.isHeld).toBe(false);
    await world.until(theft.release());
    const inner = (await world.until(upgrading)) as Lock;
    expect(inner).toMatchObject({ isHeld: true, mode: "exclusive" });
    expect(server.isHeld("k", inner.token)).toBe(true);
  });
});

describe("calls in one turn", () => {
  it("release and acquire of one task are done in this order, though the release is refused", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server);
      const task = client.task();
      const lock = await world.until(client.acquire("k", { task }));
      let isRefused = false;
      server.faults.refuses = ({ op }) => {
        if (op !== OP.end || isRefused) return false;
        isRefused = true;
        return true;
      };
      const releasing = lock.release();
      const again = client.acquire("k", { task });
      expect(await world.until(releasing)).toEqual({ released: true });
      expect((await world.until(again)).isHeld).toBe(true);
      expect(isRefused).toBe(true);
    }
  });

  it("watch and acquire: the watch reports the grant, whenever the connection breaks", async () => {
    for (let cutMs = 0; cutMs < 10; cutMs += 0.25) {
      const { world, server } = setUp(1 + cutMs * 4);
      const { client, platform } = await connectTo(server);
      const watch = client.watch("k");
      const seen: Change[] = [];
      const reading = (async () => {
        for await (const change of watch) {
          seen.push(change);
          if (change.type === "ended") return;
        }
      })();
      world.after(cutMs, () => platform.connection?.cut());
      const lock: Lock = await world.until(client.acquire("k"));
      await world.until(lock.release());
      await world.until(reading);
      expect(seen.map(({ type, token }) => [type, token])).toEqual([
        ["granted", lock.token],
        ["ended", lock.token],
      ]);
    }
  });
});

it("a client that hands over leaves nothing of what was refused, to be carried out by nobody", async () => {
  const { world, server } = setUp();
  const one = await connectTo(server, { ttlMs: 4_000 });
  await world.until(one.client.acquire("a"));
  server.faults.busy = "commands";
  const left = [one.client.acquire("b"), one.client.acquire("c")].map((each) => {
    return failure(world, each);
  });
  await world.run(100);
  const handing = one.client.handOver();
  expect((await Promise.all(left)).map(({ code }) => code)).toEqual(["CANCELLED", "CANCELLED"]);
  server.faults.busy = "nothing";
  const handed = await world.until(handing);
  expect(handed).toMatchObject({ confirmed: true, holds: [{ keys: ["a"] }] });
  await world.run(2_000);
  expect(server.table.counts()).toMatchObject({ holds: 1, waiters: 0, sessions: 0 });
});
