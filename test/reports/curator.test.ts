/**
 * What users of Curator's recipes for ZooKeeper reported, played against this table and this SDK.
 * Each scenario would show the reported symptom if the same thing were wrong here.
 */
import { describe, expect, test } from "vitest";
import { ERROR_NUMBERS } from "../../src/errors/index.js";
import { OP, STATUS } from "../../src/protocol/index.js";
import { setUp } from "../client/world/set-up.js";
import { connectTo } from "../client/world/simulated-client.js";
import { Client, ClusterLog, exclusive, resultOf, shared } from "../lockfsm/plans/cluster-log.js";
import { asking } from "./asking.js";

describe("Curator 604: a new session gets the lock on the strength of the old one's hold", () => {
  // Fails if a session that is due counts as alive, or a hold as belonging to a nonce or a name.
  test("in the table, where the old hold is due and not swept yet", () => {
    const log = new ClusterLog({ unitsPerEntryMax: 1 });
    log.open("first", 5_000);
    const old = log.open("a", 5_000);
    const lost = old.take();
    log.stamp += 5_000;
    // One entry: its one unit of work was enough for the session that was due before.
    const { session: id } = old;
    const nonce = old.nonce;
    const acquire = { op: OP.acquire, sequence: 1, mark: 1, acknowledged: [] } as const;
    log.apply(
      {
        session: 0,
        epoch: 0,
        command: { op: OP.open, nonce, attempt: 1, ttlMs: 60_000, name: "a", metadata: "" },
      },
      {
        ...{ session: id + 1, epoch: 1 },
        command: { ...acquire, task: 1, items: exclusive("k"), waitMs: 0 },
      },
    );
    const renewed = new Client(log, log.attached.at(-1)?.session ?? 0, nonce);
    expect(renewed.session).toBe(id + 1);
    expect(log.said.at(-1)).toMatchObject({
      session: renewed.session,
      message: { result: { status: ERROR_NUMBERS.LOCK_HELD } },
    });
    renewed.sequence = 1;
    log.apply();
    // Once it is swept, the key is free for anyone who asks, under a token of its own.
    const current = renewed.take();
    expect(current.token).toBeGreaterThan(lost.token);
    expect(resultOf(renewed.end(1))).toMatchObject({ status: STATUS.notReleased });
    expect(log.line("k")).toEqual(["a", "|"]);
    expect(renewed.resume(2)).toMatchObject({ status: STATUS.ok, session: renewed.session });
  });

  // Fails if a client believes in a lock of a session that it lost, or takes it up again.
  test("through the SDK, when it comes back after its session and finds another holder", async () => {
    const { world, server } = setUp();
    const a = await connectTo(server, { name: "a", ttlMs: 2_000 });
    const b = await connectTo(server, { name: "b", ttlMs: 60_000 });
    const lost = await world.until(a.client.acquire("k"));
    const { signal } = lost;
    const next = b.client.acquire("k");
    for (const { id } of server.nodes) server.faults.downNodes.add(id);
    a.platform.connection?.cut();
    const held = await world.until(next);
    expect(signal.aborted).toBe(true);
    server.faults.downNodes.clear();
    expect(await world.until(a.client.tryAcquire("k"))).toBeUndefined();
    expect([lost.isHeld, held.isHeld]).toEqual([false, true]);
    expect(await world.until(lost.release())).toEqual({ released: false, reason: "expired" });
    expect(server.isHeld("k", held.token)).toBe(true);
  });
});

describe("Curator 527: a waiter misses the end of the hold it waits for, and waits forever", () => {
  const ends: readonly [string, (holder: Client, token: number) => ReturnType<Client["make"]>][] = [
    ["a release", (holder) => asking(holder, { op: OP.end, target: 1 })],
    ["the end of its session", (holder) => asking(holder, { op: OP.close })],
    [
      "a revoke",
      (holder, token) =>
        asking(holder, { op: OP.revoke, key: undefined, token, graceMs: 0, now: true, reason: "" }),
    ],
  ];

  // Fails if anything that ends a hold does not look at who waits, within the same step.
  test.each(ends)("that came just before or just after %s", (_, end) => {
    for (const isEndFirst of [true, false]) {
      const log = new ClusterLog();
      const [holder, waiter] = [log.open("holder"), log.open("waiter")];
      const { token } = holder.take();
      const [ending, arriving] = [end(holder, token), waiter.acquiring()];
      log.apply(...(isEndFirst ? [ending, arriving] : [arriving, ending]));
      expect(log.line("k")).toEqual(["waiter", "|"]);
    }
  });

  // Fails if a hold that ends by its time wakes nobody who arrives in the entry that ends it.
  test("that arrives in the very entry in which the lease ends", () => {
    const log = new ClusterLog();
    const [holder, waiter] = [log.open("holder", 5_000), log.open("waiter", 60_000)];
    holder.take();
    log.stamp += 5_000;
    waiter.acquire();
    expect(log.line("k")).toEqual(["waiter", "|"]);
  });

  // Fails if a grant is sent once and then forgotten, before it is known to have been read.
  test("whose notice got lost with the connection", async () => {
    const { world, server } = setUp();
    const a = await connectTo(server, { ttlMs: 60_000 });
    const b = await connectTo(server, { ttlMs: 60_000 });
    const lock = await world.until(a.client.acquire("k"));
    const waiting = b.client.acquire("k");
    await world.run(50);
    const connection = b.platform.connection;
    if (connection !== undefined) connection.isBlackhole = true;
    await world.until(lock.release());
    connection?.cut();
    expect((await world.until(waiting, 1_000)).isHeld).toBe(true);
  });
});

describe("Curator 621: a downgrade lets a writer in next to the reader it leaves", () => {
  // Fails if a downgraded hold stops being counted, or the queue is let in past its first writer.
  test("that waited before the downgrade", () => {
    const log = new ClusterLog();
    const [a, writer, reader] = [log.open("a"), log.open("writer"), log.open("reader")];
    const hold = a.take();
    writer.acquire(exclusive("k"));
    reader.acquire(shared("k"));
    expect(resultOf(a.downgrade(hold, "k"))).toEqual({ status: STATUS.ok });
    expect(log.line("k")).toEqual(["a", "|", "writer", "reader"]);
    expect(log.table.inspect("k").holds).toMatchObject([{ mode: "shared", token: hold.token }]);
    expect(resultOf(a.end(hold))).toEqual({ status: STATUS.released });
    expect(log.line("k")).toEqual(["writer", "|", "reader"]);
  });

  // Fails if a downgrade keeps out those who may share.
  test("while readers that wait first come in at once", () => {
    const log = new ClusterLog();
    const [a, reader, writer] = [log.open("a"), log.open("reader"), log.open("writer")];
    const token = a.take();
    reader.acquire(shared("k"));
    writer.acquire(exclusive("k"));
    a.downgrade(token);
    expect(log.line("k")).toEqual(["a", "reader", "|", "writer"]);
  });
});

describe("Curator 498: a request from before the reconnect is carried out late and displaces the holder", () => {
  // Fails if commands of an attachment that was replaced have an effect.
  test("in the table: what the old connection said has no effect after the new attachment", () => {
    const log = new ClusterLog();
    const [a, b] = [log.open("a"), log.open("b")];
    const late = a.acquiring(exclusive("k", "leader"));
    const leader = b.take(exclusive("leader"));
    a.resume(2);
    const hold = a.take(exclusive("k"));
    expect(log.apply(late)).toEqual([]);
    const release = asking(a, { op: OP.end, target: hold.sequence });
    expect(log.apply({ ...release, epoch: 1 })).toEqual([]);
    expect([log.line("k"), log.line("leader")]).toEqual([
      ["a", "|"],
      ["b", "|"],
    ]);
    expect(resultOf(b.end(leader))).toEqual({ status: STATUS.released });
    expect(log.line("leader")).toEqual(["|"]);
  });

  // Fails if an acquire that is transmitted again counts as another one.
  test("through the SDK: an acquire whose answer was lost leaves one hold, known to its caller", async () => {
    for (let cutAfterMs = 0; cutAfterMs < 8; cutAfterMs += 0.5) {
      const { world, server } = setUp(1 + cutAfterMs * 2);
      server.faults.duplicates = 1;
      const { client, platform } = await connectTo(server, { ttlMs: 60_000 });
      const acquiringOne = client.acquire("leader");
      await world.run(cutAfterMs);
      platform.connection?.cut();
      const lock = await world.until(acquiringOne);
      await world.run(500);
      const { holds, waiters } = server.table.inspect("leader");
      expect(holds.map(({ token }) => token)).toEqual([lock.token]);
      expect(waiters).toEqual([]);
    }
  });
});
