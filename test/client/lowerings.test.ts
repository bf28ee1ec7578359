/** What waits for the answer of a downgrade, or of the cancel of an upgrade, and what does not. */
import { describe, expect, it } from "vitest";
import type { AcquireOptions, ExportedSession, Lock } from "../../src/client/index.js";
import { type Command, OP } from "../../src/protocol/index.js";
import { failure, rejection, setUp } from "./set-up.js";
import { connectTo, type SimulatedClient } from "./simulated-client.js";
import type { SimulatedWorld } from "./simulated-world.js";
import type { TableServer } from "./table-server.js";

const isDowngrade = ({ op }: Command): boolean => op === OP.downgrade;

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

function acquiresOf({ applied }: TableServer): number {
  return applied.filter(({ op }) => op === OP.acquire).length;
}

interface Lowered extends SimulatedClient {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly lock: Lock;
  /** Settles as the downgrade does. */
  readonly lowering: Promise<unknown>;
}

/** A lock of `k` whose downgrade no node has room for. */
async function lowered(seed = 1, options: AcquireOptions = {}): Promise<Lowered> {
  const { world, server } = setUp(seed);
  const one = await connectTo(server, { ttlMs: 4_000 });
  const lock = await world.until(one.client.acquire("k", options));
  server.faults.refuses = isDowngrade;
  const lowering = lock.downgrade().catch((error: unknown) => error);
  await world.run(10);
  return { ...one, world, server, lock, lowering };
}

function admitAll({ faults }: TableServer): void {
  faults.refuses = () => false;
}

describe("a reentrant acquire that asks for a key exclusively", () => {
  it("is not counted up ahead of a downgrade that was asked for before it", async () => {
    const { world, server, lock, lowering } = await lowered();
    const counting = failure(world, lock.acquire("k", { reentrant: true }));
    await world.run(200);
    expect(holdsOf(server, "k")).toMatchObject([{ count: 1, mode: "exclusive" }]);
    admitAll(server);
    // Behind the downgrade it waits for its own shared hold.
    expect((await counting).code).toBe("DEADLOCK");
    expect(await lowering).toBeUndefined();
    expect(holdsOf(server, "k")).toMatchObject([{ count: 1, mode: "shared" }]);
  });

  it("is never a shared lock, whatever is refused and sent again before it", async () => {
    let grants = 0;
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world, server } = setUp(seed);
      const { client } = await connectTo(server);
      const options = { owner: client.owner(), reentrant: true } as const;
      const lock = await world.until(client.acquire("k", options));
      server.faults.refusals = 0.7;
      const lowering = lock.downgrade().then(
        () => true,
        () => false,
      );
      // With every second seed nobody here has it any more when it is asked for again.
      const isGivenBack = seed % 2 === 0;
      if (isGivenBack) void lock.release();
      await world.run(world.random() * 100);
      const more = client.acquire("k", options).catch(() => undefined);
      const again = await world.until(more);
      // It may be given up, by a cluster that goes on being busy.
      const isLowered = await world.until(lowering);
      await world.run(2_000);
      if (again === undefined) continue;
      grants += 1;
      if (isLowered) expect(again.mode).toBe("exclusive");
      const { token } = again;
      expect(holdsOf(server, "k")).toMatchObject([{ token, mode: "exclusive" }]);
    }
    expect(grants).toBeGreaterThan(0);
  });

  it("waits for the downgrade of any key that it wants so", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const options = { owner: client.owner(), reentrant: true } as const;
    const items = [{ key: "k" }, { key: "l", mode: "shared" } as const];
    const lock = await world.until(client.acquireAll(items, options));
    server.faults.refuses = isDowngrade;
    void lock.downgrade("l");
    const counted = await world.until(client.acquireAll(items, options), 100);
    expect(counted.token).toBe(lock.token);
    void lock.downgrade("k");
    const counting = failure(world, client.acquireAll(items, options));
    await world.run(200);
    expect(holdsOf(server, "k")).toMatchObject([{ count: 2, mode: "exclusive" }]);
    admitAll(server);
    expect((await counting).code).toBe("DEADLOCK");
  });

  it("waits for the cancel of an upgrade that somebody left", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const controller = new AbortController();
    const left = rejection(world, lock.upgrade({ signal: controller.signal }));
    await world.run(1);
    server.faults.refuses = ({ op }) => op === OP.cancel;
    controller.abort();
    await left;
    const counting = failure(world, lock.acquire("k", { reentrant: true }));
    await world.run(200);
    expect(holdsOf(server, "k")).toMatchObject([{ count: 1, mode: "exclusive" }]);
    admitAll(server);
    expect((await counting).code).toBe("DEADLOCK");
    expect(holdsOf(server, "k")).toMatchObject([{ count: 1, mode: "shared" }]);
  });

  it("delays nobody else", async () => {
    const { world, client, lock } = await lowered();
    const reentrant = true;
    const { owner } = lock;
    await world.until(client.acquire("k", { owner, reentrant, mode: "shared" }), 100);
    await world.until(client.acquire("l", { owner, reentrant }), 100);
    const waiting = await failure(world, client.acquire("k", { waitMs: 0, reentrant }), 100);
    expect(waiting.code).toBe("LOCK_HELD");
    expect((await failure(world, lock.acquire("k"), 100)).code).toBe("DEADLOCK");
  });

  it("has nothing, as a try, where the downgrade left too little", async () => {
    const { world, server, client, lock } = await lowered();
    const other = await connectTo(server);
    void other.client.acquire("k", { mode: "shared" });
    const trying = client.tryAcquire("k", { owner: lock.owner, reentrant: true });
    await world.run(100);
    admitAll(server);
    expect(await world.until(trying)).toBeUndefined();
  });

  it("is left by its signal and its deadline, and is never sent then", async () => {
    const { world, server, lock } = await lowered();
    const before = acquiresOf(server);
    const controller = new AbortController();
    const { signal } = controller;
    const left = rejection(world, lock.acquire("k", { reentrant: true, signal }));
    const late = failure(world, lock.acquire("k", { reentrant: true, waitMs: 100 }));
    await world.run(10);
    controller.abort();
    expect(await left).toBe(signal.reason);
    const error = await late;
    expect(error.code).toBe("LOCK_TIMEOUT");
    expect(error.details).toMatchObject({ decidedBy: "client" });
    admitAll(server);
    await world.run(2_000);
    expect(acquiresOf(server)).toBe(before);
  });

  it("goes on in the next session, where nothing is left of the downgrade", async () => {
    const { world, server, client, lock } = await lowered();
    const { session } = client;
    const counting = lock.acquire("k", { reentrant: true });
    await world.run(10);
    server.faults.busy = "everything";
    for (const connection of server.connections) connection.cut();
    await world.run(6_000);
    expect(lock.signal.reason).toMatchObject({ details: { reason: "expired" } });
    server.faults.busy = "nothing";
    const next = await world.until(counting, 2_000);
    expect(client.session).not.toBe(session);
    expect(next.mode).toBe("exclusive");
    expect(holdsOf(server, "k")).toMatchObject([{ token: next.token, mode: "exclusive" }]);
    expect(next.isHeld).toBe(true);
  });

  it("ends with its client, closed or exported", async () => {
    for (const end of ["close", "export"] as const) {
      const { world, server, client, lock } = await lowered();
      const before = acquiresOf(server);
      const counting = failure(world, lock.acquire("k", { reentrant: true }));
      await world.run(10);
      const ending: Promise<ExportedSession | undefined> =
        end === "close" ? client.close().then(() => undefined) : client.export();
      expect((await counting).code).toBe("CANCELLED");
      admitAll(server);
      const exported = await world.until(ending);
      if (exported !== undefined) {
        const { client: two } = await connectTo(server, { resume: exported });
        expect(two.resumed?.waits).toEqual([]);
        expect(two.resumed?.locks).toHaveLength(1);
      }
      await world.run(2_000);
      expect(acquiresOf(server)).toBe(before);
    }
  });

  it("waits in another process for what the one before left unanswered", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server, client } = await lowered(seed, { reentrant: true });
      const resume = await world.until(client.export());
      const { client: two } = await connectTo(server, { resume });
      const [lock] = two.resumed?.locks ?? [];
      const more = lock?.acquire("k", { reentrant: true }) ?? Promise.reject(new Error("no lock"));
      const counting = failure(world, more);
      await world.run(100);
      expect(holdsOf(server, "k")).toMatchObject([{ count: 1, mode: "exclusive" }]);
      admitAll(server);
      expect((await counting).code).toBe("DEADLOCK");
    }
  });
});

describe("an upgrade", () => {
  it("waits for no downgrade that was asked for later, which is believed all the same", async () => {
    const { world, server, lock, lowering } = await lowered();
    const upgrading = lock.upgrade();
    const later = [lock.downgrade().catch(() => undefined)];
    const first = { sequence: Number.POSITIVE_INFINITY };
    server.faults.refuses = (command) => {
      if (!isDowngrade(command) || !("sequence" in command)) return false;
      first.sequence = Math.min(first.sequence, command.sequence);
      return command.sequence > first.sequence;
    };
    let isOver = false;
    void upgrading.finally(() => {
      isOver = true;
    });
    for (let count = 0; count < 40 && !isOver; count += 1) {
      await world.run(50);
      later.push(lock.downgrade().catch(() => undefined));
    }
    expect(isOver).toBe(true);
    expect(await lowering).toBeUndefined();
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive", token: lock.token }]);
    expect(lock.mode).toBe("shared");
    admitAll(server);
    await world.until(Promise.all(later));
    expect(lock.mode).toBe("shared");
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "shared", token: lock.token }]);
    await world.until(lock.upgrade());
    expect(lock.mode).toBe("exclusive");
  });

  it("is not believed by an answer that comes behind that of a later downgrade", async () => {
    const { world, server } = setUp();
    const { client, platform } = await connectTo(server, { ttlMs: 4_000 });
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const upgrading = lock.upgrade();
    const lowering = lock.downgrade();
    const isCarriedOut = () => server.applied.some(isDowngrade);
    for (let steps = 0; steps < 100 && !isCarriedOut(); steps += 1) await world.run(0.1);
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "shared" }]);
    // Both answers are lost, and the second one is told again first.
    platform.connection?.cut();
    server.faults.refuses = ({ op }) => op === OP.upgrade;
    await world.until(lowering);
    admitAll(server);
    await world.until(upgrading);
    expect(lock.mode).toBe("shared");
    expect(holdsOf(server, "k")).toMatchObject([{ token: lock.token, mode: "shared" }]);
  });

  it("that is held back waits for the cancel of an earlier one that is left meanwhile", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 4_000 });
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const controller = new AbortController();
    server.faults.commitMs = [30, 30];
    const left = rejection(world, lock.upgrade({ signal: controller.signal }));
    await world.run(1);
    server.faults.refuses = isDowngrade;
    const lowering = lock.downgrade();
    const upgrading = lock.upgrade();
    await world.run(10);
    server.faults.refuses = ({ op }) => op === OP.cancel;
    controller.abort();
    await left;
    await world.until(lowering);
    await world.run(100);
    expect(lock.mode).toBe("shared");
    admitAll(server);
    await world.until(upgrading);
    expect(lock.mode).toBe("exclusive");
    await world.run(2_000);
    expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive", token: lock.token }]);
  });

  it("that is granted is exclusive, also where another one of the same lock is left", async () => {
    let leftCount = 0;
    for (let leaveMs = 0; leaveMs < 10; leaveMs += 0.25) {
      const { world, server } = setUp(1 + leaveMs * 4);
      const { client } = await connectTo(server, { ttlMs: 4_000 });
      const lock = await world.until(client.acquire("k", { mode: "shared" }));
      const controller = new AbortController();
      const leaving = lock.upgrade({ signal: controller.signal }).then(
        () => 0,
        () => 1,
      );
      const upgrading = lock.upgrade().then(() => lock.mode);
      await world.run(leaveMs);
      controller.abort();
      leftCount += await world.until(leaving);
      expect(await world.until(upgrading)).toBe("exclusive");
      await world.run(2_000);
      expect(lock.mode).toBe("exclusive");
      expect(holdsOf(server, "k")).toMatchObject([{ mode: "exclusive", token: lock.token }]);
      expect(server.owedTo(client.session)).toEqual([]);
      expect(await world.until(lock.release())).toEqual({ released: true });
    }
    expect(leftCount).toBeGreaterThan(0);
  });
});
