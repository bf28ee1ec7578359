/** A lock on its way from one process to another. */
import { describe, expect, it } from "vitest";
import { HoldfastError } from "../../../src/errors/index.js";
import { OP, type OrderCommand } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo, type SimulatedClient } from "../world/simulated-client.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

interface Scene extends SimulatedClient {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
}

async function scene(ttlMs = 2_000): Promise<Scene> {
  const { world, server } = setUp();
  return { world, server, ...(await connectTo(server, { ttlMs })) };
}

function holdsOf({ server }: Pick<Scene, "server">, key = "k") {
  return server.table.inspect(key).holds;
}

function takeNodesAway({ server, platform }: Scene): void {
  for (const { id } of server.nodes) server.faults.downNodes.add(id);
  platform.connection?.cut();
}

function sentCount({ server }: Scene): number {
  return server.applied.filter(({ op }) => op === OP.handOver).length;
}

/** What was handed over, as another process reads it. */
function sent<T>(handed: T): T {
  return JSON.parse(JSON.stringify(handed)) as T;
}

/** Orders of somebody without a session, while the cluster is open. */
function letAnonymousOnlyObserve(server: TableServer): void {
  const nobody = { onProgress: () => {}, onOpen: () => {}, onFrame: () => {}, onClose: () => {} };
  const connection = server.connect(`${server.endpoints[0]}/v1`, nobody);
  const head = (count: number) => ({ sequence: count + 1, mark: count, acknowledged: [] });
  const everything = { key: "", isPrefix: true } as const;
  const proof = { label: "first", kind: "token", digest: "d".repeat(64) } as const;
  const orders: readonly OrderCommand[] = [
    { op: OP.putIdentity, ...head(0), name: "root" },
    { op: OP.setGrant, ...head(1), name: "root", ...everything, level: "admin" },
    { op: OP.putCredential, ...head(2), name: "root", ...proof, expiresWallMs: 0 },
    { op: OP.setGrant, ...head(3), name: "anonymous", ...everything, level: "observe" },
  ];
  for (const order of orders) server.propose(connection, order);
}

describe("a lock that is handed over", () => {
  it("goes to the process that adopts it, and nobody gets in between", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server, { name: "giver" });
    const two = await connectTo(server);
    const three = await connectTo(server);
    const options = { value: "v" } as const;
    const lock = await world.until(
      one.client.acquireAll([{ key: "k" }, { key: "pool", permits: 2, limit: 3 }], options),
    );
    const waiting = three.client.acquire("k");
    await world.run(20);
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push(holdsOf({ server })[0]?.holder));
    const handed = await world.until(lock.handOver());
    // Aborted before it was sent.
    expect(seen).toEqual(["session"]);
    expect(lock.signal.reason).toMatchObject({ name: "AbortError" });
    expect(await lock.release()).toEqual({ released: false, reason: "moved" });
    expect(handed).toMatchObject({ version: 1, confirmed: true, holds: [{ keys: ["k", "pool"] }] });
    const [between] = holdsOf({ server });
    expect(between).toMatchObject({ holder: "bearer", session: 0, sessionName: "giver" });
    expect(between?.token).toBeGreaterThan(lock.token);
    const { locks, gone, refused } = await world.until(two.client.adopt(sent(handed)));
    const [adopted] = locks;
    expect([locks.length, gone, refused]).toEqual([1, [], []]);
    expect(adopted?.token).toBeGreaterThan(between?.token ?? 0);
    expect(adopted?.items).toEqual(lock.items);
    expect(adopted?.value).toBe("v");
    expect(server.table.inspect("k").waiters).toHaveLength(1);
    const late = await world.until(two.client.adopt(handed));
    expect(late).toEqual({
      locks: [],
      gone: [{ keys: ["k", "pool"], reason: "moved" }],
      refused: [],
    });
    await world.until(adopted?.release() as Promise<unknown>);
    await world.until(waiting);
    expect(server.owedTo(two.client.session)).toEqual([]);
  });

  it("goes to who knows its secret, and ends when nobody adopts it", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    const handed = await world.until(lock.handOver({ ttlMs: 3_000 }));
    const [hold] = handed.holds;
    const forged = { ...handed, holds: [{ ...hold, secret: "0".repeat(32) }] } as typeof handed;
    const { gone } = await world.until(client.adopt(forged));
    expect(gone).toEqual([{ keys: ["k"], reason: "unknown" }]);
    expect(holdsOf({ server })).toMatchObject([{ holder: "bearer" }]);
    await world.run(3_100);
    expect(holdsOf({ server })).toEqual([]);
    const late = await world.until(client.adopt(handed));
    expect(late.gone).toEqual([{ keys: ["k"], reason: "expired" }]);
  });

  it("goes to an owner of the caller's choice, who goes on with it as a lease", async () => {
    const { world, server, client } = await scene();
    const worker = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    expect(await world.until(lock.handOver({ owner: "worker", ttlMs: 5_000 }))).toBeUndefined();
    expect(lock.isHeld).toBe(false);
    await world.until(client.close());
    expect(holdsOf({ server })).toMatchObject([{ holder: "owner", ttlMs: 5_000 }]);
    const { leases } = worker.client;
    const [extended] = await world.until(leases.extend("k", { owner: "worker", ttlMs: 20_000 }));
    expect(extended?.token).toBeGreaterThan(lock.token);
    const { count } = await world.until(leases.giveBack("k", { owner: "worker" }));
    expect([count, holdsOf({ server })]).toEqual([1, []]);
  });

  it("is released where that owner has a lease of one of its keys, or waits for one", async () => {
    const { world, server, client } = await scene();
    const both = await world.until(client.acquireAll([{ key: "a" }, { key: "b" }]));
    const waiting = client.leases.take("b", { owner: "worker", ttlMs: 60_000 });
    await world.run(50);
    const error = await failure(world, both.handOver({ owner: "worker" }));
    expect(error).toMatchObject({ code: "LOCK_HELD", details: { isSameOwner: true } });
    expect(both.isHeld).toBe(false);
    expect((await world.until(waiting)).token).toBeGreaterThan(both.token);
    expect(holdsOf({ server }, "a")).toEqual([]);
  });

  it("is released where its cluster has no leases that long", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    const long = lock.handOver({ owner: "worker", ttlMs: 200_000_000 });
    expect(await failure(world, long)).toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { key: "k", setting: "leaseTtlMsMax", limit: 86_400_000 },
    });
    const other = await world.until(client.acquire("k"));
    const endless = await failure(world, other.handOver({ owner: "worker", ttlMs: 0 }));
    expect(endless.code).toBe("INVALID_ARGUMENT");
    expect(endless.message).toContain("endlessLeases");
    await world.run(50);
    expect(holdsOf({ server })).toEqual([]);
  });

  it("is released where its identity may not have it any more", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    letAnonymousOnlyObserve(server);
    await world.run(50);
    expect((await failure(world, lock.handOver())).code).toBe("FORBIDDEN");
    await world.run(50);
    expect(holdsOf({ server })).toEqual([]);
    expect(server.owedTo(client.session)).toEqual([]);
  });

  it("is adopted also if an upgrade was granted on the way", async () => {
    const { world, server, client } = await scene();
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const upgrading = lock.upgrade().catch((error: HoldfastError) => error.code);
    await world.run(30);
    const handed = await world.until(lock.handOver());
    expect(await upgrading).toBe("LOCK_LOST");
    expect(holdsOf({ server })).toMatchObject([{ holder: "bearer", mode: "exclusive" }]);
    const { locks } = await world.until(client.adopt(handed));
    expect(locks.map(({ isHeld, mode }) => [isHeld, mode])).toEqual([[true, "exclusive"]]);
  });

  it("is not handed over once more by its client", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(one.client.acquire("k", { mode: "shared" }));
    const reader = await world.until(two.client.acquire("k", { mode: "shared" }));
    const upgrading = lock.upgrade().catch((error: HoldfastError) => error.code);
    await world.run(100);
    void reader.release();
    const handing = lock.handOver();
    const departing = one.client.handOver();
    const handed = await world.until(handing);
    expect(await upgrading).toBe("LOCK_LOST");
    expect((await world.until(departing)).holds).toEqual([]);
    const { locks } = await world.until(two.client.adopt(handed));
    expect(locks.map(({ isHeld }) => isHeld)).toEqual([true]);
  });

  it("is taken from all of its handles, and nobody believes to hold it", async () => {
    const { world, server, client } = await scene(4_000);
    const lock = await world.until(client.acquire("k"));
    const inner = await world.until(lock.acquire("k", { reentrant: true }));
    server.faults.busy = "commands";
    const handing = lock.handOver();
    expect([lock.isHeld, inner.isHeld]).toEqual([false, false]);
    const after = await failure(world, inner.acquire("k", { reentrant: true }));
    expect(after.code).toBe("LOCK_LOST");
    // The table says that it is held, until the hand-over gets through.
    await world.run(500);
    server.faults.busy = "nothing";
    expect((await world.until(handing)).confirmed).toBe(true);
    expect(await inner.release()).toEqual({ released: false, reason: "moved" });
    expect(holdsOf({ server })).toMatchObject([{ holder: "bearer" }]);
  });

  it("goes to the first who is asked to have it", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    const first = lock.handOver();
    const second = await failure(world, lock.handOver());
    expect(second).toMatchObject({ code: "LOCK_LOST" });
    expect((await world.until(first)).confirmed).toBe(true);
    expect(sentCount({ world, server, client } as Scene)).toBe(1);
  });

  it("goes before its client is closed in the same turn", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    const handing = lock.handOver();
    const closing = client.close();
    const handed = await world.until(handing);
    await world.until(closing);
    const two = await connectTo(server);
    expect((await world.until(two.client.adopt(handed))).locks).toHaveLength(1);
  });

  it("goes even if a listener of its signal closes the client, or asks for it again", async () => {
    const { world, server, client } = await scene();
    const lock = await world.until(client.acquire("k"));
    const other = await world.until(client.acquire("other"));
    const asked: Promise<string>[] = [];
    lock.signal.addEventListener("abort", () => {
      const code = ({ code }: HoldfastError) => code;
      asked.push(client.acquire("k", { task: lock.task }).then(() => "granted", code));
      asked.push(lock.handOver().then(() => "handed over", code));
      asked.push(other.handOver({ owner: "worker" }).then(() => "handed over", code));
      void client.close();
    });
    const handed = await world.until(lock.handOver());
    expect(handed.confirmed).toBe(true);
    expect(await world.until(Promise.all(asked))).toEqual([
      "CANCELLED",
      "LOCK_LOST",
      "handed over",
    ]);
    const two = await connectTo(server);
    expect((await world.until(two.client.adopt(handed))).locks).toHaveLength(1);
    expect(holdsOf({ server }, "other")).toMatchObject([{ holder: "owner" }]);
  });

  it("by a hand-over in an election names no leader until it is adopted", async () => {
    const { world, server, client } = await scene();
    const two = await connectTo(server);
    const leadership = await world.until(client.election("e").campaign("one"));
    expect(await world.until(client.election("e").leader())).toMatchObject({ value: "one" });
    const handed = await world.until(leadership.handOver());
    expect(await world.until(client.election("e").leader())).toBeUndefined();
    await world.until(two.client.adopt(handed));
    expect(await world.until(client.election("e").leader())).toMatchObject({
      session: two.client.session,
    });
  });
});

describe("a hand-over that waits for a connection", () => {
  async function waiting(ttlMs = 60_000) {
    const each = await scene(ttlMs);
    const lock = await each.world.until(each.client.acquire("k"));
    takeNodesAway(each);
    await each.world.run(10);
    return { ...each, lock, handing: lock.handOver() };
  }

  it("leaves its lock held until there is one", async () => {
    const each = await waiting();
    await each.world.run(3_000);
    expect([each.lock.isHeld, each.lock.signal.aborted]).toEqual([true, false]);
    const seen: unknown[] = [];
    each.lock.signal.addEventListener("abort", () => seen.push(holdsOf(each)[0]?.holder));
    each.server.faults.downNodes.clear();
    expect((await each.world.until(each.handing)).confirmed).toBe(true);
    expect([each.lock.isHeld, seen, sentCount(each)]).toEqual([false, ["session"], 1]);
  });

  it("ends with the release of its lock, which is done", async () => {
    const each = await waiting();
    const releasing = each.lock.release();
    const error = await failure(each.world, each.handing);
    expect(error).toMatchObject({ code: "LOCK_LOST", details: { reason: "released" } });
    each.server.faults.downNodes.clear();
    expect(await each.world.until(releasing)).toEqual({ released: true });
    expect([holdsOf(each), sentCount(each)]).toEqual([[], 0]);
  });

  it("ends with its client", async () => {
    const each = await waiting();
    const closing = each.client.close();
    expect((await failure(each.world, each.handing)).code).toBe("CANCELLED");
    expect(each.lock.isHeld).toBe(false);
    each.server.faults.downNodes.clear();
    await each.world.until(closing);
    expect([holdsOf(each), sentCount(each)]).toEqual([[], 0]);
  });

  it("fails with the reason if its lock was revoked or stolen meanwhile", async () => {
    for (const how of ["revoked", "stolen"] as const) {
      const each = await waiting();
      each.server.faults.downNodes.clear();
      // The first client cannot reach a node for a while.
      each.platform.stop();
      const other = await connectTo(each.server);
      const ending: Promise<unknown> =
        how === "stolen"
          ? other.client.acquire("k", { steal: true })
          : other.client.revoke({ key: "k" }, { now: true });
      await each.world.until(ending);
      each.platform.goOn();
      const error = await failure(each.world, each.handing);
      // What the table says of it is the truth, though it was sent with the question.
      expect(error).toMatchObject({ code: "LOCK_LOST", details: { reason: how } });
      expect(each.lock.isHeld).toBe(false);
      await each.world.run(20_000);
      expect(each.server.owedTo(each.client.session)).toEqual([]);
    }
  });

  it("fails if its session ended meanwhile", async () => {
    const each = await waiting(3_000);
    const failing = failure(each.world, each.handing);
    await each.world.run(2_990);
    each.server.faults.downNodes.clear();
    expect((await failing).code).toBe("LOCK_LOST");
    await each.world.run(3_000);
    expect([holdsOf(each), sentCount(each)]).toEqual([[], 0]);
  });
});

describe("a hand-over whose connection breaks", () => {
  it("before it arrives is sent once more, and after it was executed is not", async () => {
    for (const when of ["cutsBefore", "cutsAfter"] as const) {
      const { world, server, client } = await scene(20_000);
      const lock = await world.until(client.acquire("k"));
      server.faults[when] = ({ op }) => {
        if (op !== OP.handOver) return false;
        server.faults[when] = () => false;
        return true;
      };
      const handed = await world.until(lock.handOver());
      expect([handed.confirmed, lock.isHeld]).toEqual([true, false]);
      expect(holdsOf({ server })).toMatchObject([{ holder: "bearer" }]);
      const { locks } = await world.until(client.adopt(handed));
      expect(locks.map(({ isHeld }) => isHeld)).toEqual([true]);
      await world.run(1_000);
      expect(server.owedTo(client.session)).toEqual([]);
    }
  });

  it("and whose hold was revoked before it came to it fails with that", async () => {
    const { world, server, client } = await scene(20_000);
    const lock = await world.until(client.acquire("k"));
    const other = await connectTo(server);
    server.faults.cutsBefore = ({ op }) => {
      if (op !== OP.handOver) return false;
      for (const { id } of server.nodes) server.faults.downNodes.add(id);
      return true;
    };
    const handing = failure(world, lock.handOver());
    await world.run(50);
    server.faults.cutsBefore = () => false;
    await world.until(other.client.revoke({ key: "k" }, { now: true }));
    server.faults.downNodes.clear();
    expect(await handing).toMatchObject({ code: "LOCK_LOST", details: { reason: "revoked" } });
  });

  it("names the cluster of its lock, though its client has gone to another one", async () => {
    const { world, server, client } = await scene(20_000);
    const { clusterId } = server;
    const lock = await world.until(client.acquire("k"));
    server.faults.cutsAfter = ({ op }) => {
      if (op === OP.handOver) server.clusterId = "founded again";
      return op === OP.handOver;
    };
    const handed = await world.until(lock.handOver());
    expect(handed).toMatchObject({ clusterId, confirmed: false });
    const error = await failure(world, client.adopt(handed));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("several holds that were handed over", () => {
  /** As `client.handOver` puts them together. */
  async function several(each: Scene, keys: readonly string[]) {
    const { world, client } = each;
    const all = [];
    for (const key of keys) {
      const lock = await world.until(client.acquire(key));
      all.push(await world.until(lock.handOver({ ttlMs: 5_000 })));
    }
    return { ...(all[0] as (typeof all)[0]), holds: all.flatMap(({ holds }) => holds) };
  }

  it("go to one of two processes that adopt them at once, and to it all of them", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { world, server } = setUp(seed);
      const giver = await connectTo(server);
      const handed = await several({ world, server, ...giver }, ["a", "b", "c"]);
      const heirs = await Promise.all([connectTo(server), connectTo(server)]);
      server.faults.losses = 0.2;
      const found = await world.until(
        Promise.all(heirs.map(({ client }) => client.adopt(sent(handed)))),
      );
      expect(found.map(({ locks }) => locks.length).sort()).toEqual([0, 3]);
      expect(found.flatMap(({ gone }) => gone).map(({ reason }) => reason)).toEqual(
        Array(3).fill("moved"),
      );
    }
  });

  it("are adopted from the first that has not ended otherwise", async () => {
    const each = await scene();
    const { world, client } = each;
    const handed = await several(each, ["a", "b", "c"]);
    await world.until(client.revoke({ key: "a" }, { now: true }));
    const { locks, gone, refused } = await world.until(client.adopt(handed));
    expect(locks.map(({ key }) => key)).toEqual(["b", "c"]);
    expect([gone, refused]).toEqual([[{ keys: ["a"], reason: "revoked" }], []]);
  });

  it("are left to the process that has the first, unless the rest is asked for", async () => {
    const each = await scene();
    const { world, client } = each;
    const handed = await several(each, ["a", "b", "c"]);
    const dead = await connectTo(each.server);
    const first = { ...handed, holds: handed.holds.slice(0, 1) };
    await world.until(dead.client.adopt(first));
    dead.platform.stop();
    const { locks, gone } = await world.until(client.adopt(handed));
    expect([locks, gone.map(({ reason }) => reason)]).toEqual([[], ["moved", "moved", "moved"]]);
    const rest = await world.until(client.adopt(handed, { rest: true }));
    expect(rest.locks.map(({ key }) => key)).toEqual(["b", "c"]);
    expect(rest.gone).toEqual([{ keys: ["a"], reason: "moved" }]);
  });

  it("keep apart the tasks that had them", async () => {
    const each = await scene();
    const { world, client } = each;
    const outer = await world.until(client.acquire("a"));
    const nested = await world.until(outer.acquire("b"));
    const other = await world.until(client.acquire("c"));
    const all = [];
    for (const lock of [outer, nested, other]) all.push(await world.until(lock.handOver()));
    const handed = { ...(all[0] as (typeof all)[0]), holds: all.flatMap(({ holds }) => holds) };
    const heir = await connectTo(each.server);
    const { locks } = await world.until(heir.client.adopt(handed));
    const [one, two, three] = locks.map(({ task }) => task);
    expect([one === two, one === three]).toEqual([true, false]);
    const task = heir.client.task();
    const again = await several({ ...each, client: heir.client }, ["x", "y"]);
    const named = await world.until(heir.client.adopt(again, { task }));
    expect(named.locks.map((lock) => lock.task === task)).toEqual([true, true]);
  });

  it("are all released when the signal is aborted, however far it has come", async () => {
    for (const afterMs of [0, 2, 4, 6, 8, 10, 12, 14]) {
      const each = await scene();
      const { world, server } = each;
      const handed = await several(each, ["a", "b", "c"]);
      const heir = await connectTo(server);
      const controller = new AbortController();
      const adopting = rejection(
        world,
        heir.client.adopt(handed, { signal: controller.signal }),
      ).catch(() => "adopted");
      await world.run(afterMs);
      controller.abort("changed my mind");
      const outcome = await adopting;
      await world.run(500);
      const held = ["a", "b", "c"].flatMap((key) => holdsOf(each, key));
      const own = held.filter(({ session }) => session === heir.client.session);
      if (outcome === "adopted") continue;
      expect([outcome, own]).toEqual(["changed my mind", []]);
    }
  });

  it("are not asked for in a session after the one that was to adopt them", async () => {
    const each = await scene();
    const { world, server, client } = each;
    const handed = await several(each, ["a", "b"]);
    const { session } = client;
    takeNodesAway(each);
    const adopting = failure(world, client.adopt(sent(handed)));
    await world.run(2_500);
    server.faults.downNodes.clear();
    const { code, message, details } = await adopting;
    expect([code, details]).toEqual(["UNAVAILABLE", { indeterminate: false }]);
    expect(message).toMatch(/^the adoption of "a": the session ended before/);
    await world.run(500);
    expect(client.session).not.toBe(session);
    expect(holdsOf(each, "a")).toMatchObject([{ holder: "bearer" }]);
  });

  it("that are refused are said to be still there", async () => {
    const each = await scene();
    const { world, server, client } = each;
    const handed = await several(each, ["a", "b"]);
    letAnonymousOnlyObserve(server);
    await world.run(50);
    expect((await failure(world, client.adopt(handed))).code).toBe("FORBIDDEN");
    const { refused } = await world.until(client.adopt(handed, { rest: true }));
    expect(refused.map(({ keys, error }) => [keys, error.code])).toEqual([
      [["a"], "FORBIDDEN"],
      [["b"], "FORBIDDEN"],
    ]);
    expect(refused[0]?.error).toBeInstanceOf(HoldfastError);
    expect(holdsOf(each, "a")).toMatchObject([{ holder: "bearer" }]);
  });
});
