/** Leases of named owners: what a take brings, and what a client may rely on. */
import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Client } from "../../../src/client/index.js";
import { OP } from "../../../src/protocol/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import type { TableServer } from "../world/table-server.js";

const LONG_MS = 60_000;

function holdsOf(server: TableServer, key: string) {
  return server.table.inspect(key).holds;
}

function waitersOf(server: TableServer, key: string) {
  return server.table.inspect(key).waiters;
}

function nobodyAsks({ session }: Client, server: TableServer): void {
  expect(server.owedTo(session)).toEqual([]);
}

describe("a lease", () => {
  it("belongs to its owner and to no session: another client extends it and gives it back", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const owner = "deploy-4711";
    const options = { owner, ttlMs: LONG_MS, name: "deploy", value: "v17" };
    const lease = await world.until(one.client.leases.take("k", options));
    await world.until(one.client.close());
    expect(holdsOf(server, "k")).toMatchObject([
      { token: lease.token, session: 0, sessionName: "deploy", value: "v17" },
    ]);
    const extended = await world.until(two.client.leases.extend("k", { owner, ttlMs: 90_000 }));
    expect(extended).toMatchObject([{ token: lease.token }]);
    const given = await world.until(two.client.leases.giveBack("k", { owner }));
    expect(given).toEqual({ count: 1, waits: 0, reason: undefined });
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("has an owner whose digest is the same in every tool: the first half of its SHA-256", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    for (const owner of ["deploy 4711", "größer als 日本 🔒", "\n", "x".repeat(1_024)]) {
      await world.until(client.leases.take("k", { owner, request: owner, ttlMs: LONG_MS }));
      const expected = createHash("sha256").update(owner).digest("hex").slice(0, 32);
      const sent = server.executed.at(-1)?.command;
      expect(sent).toMatchObject({ op: OP.take, owner: expected, request: expected });
      await world.until(client.leases.giveBack("k", { owner }));
      expect(server.executed.at(-1)?.command).toMatchObject({ owner: expected });
    }
  });

  it("is found by its owner only", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    await world.until(client.leases.take("k", { owner: "one", ttlMs: LONG_MS }));
    const other = { owner: "two", ttlMs: LONG_MS };
    expect(await failure(world, client.leases.extend("k", other))).toMatchObject({
      code: "NOT_HELD",
      details: { key: "k", reason: "unknown" },
    });
    const given = await world.until(client.leases.giveBack("k", { owner: "two" }));
    expect(given).toEqual({ count: 0, waits: 0, reason: "unknown" });
    const held = await failure(world, client.leases.take("k", { ...other, waitMs: 0 }));
    expect(held.code).toBe("LOCK_HELD");
    expect(held.details).not.toHaveProperty("isSameOwner");
  });

  it("is given again to a repeat of its request, and refused to another request of its owner", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const same = { owner: "o", request: "r", ttlMs: LONG_MS, waitMs: 0 };
    const lease = await world.until(one.client.leases.take("k", same));
    const repeated = await world.until(two.client.leases.take("k", same));
    expect(repeated.token).toBe(lease.token);
    const { request: _, ...other } = same;
    expect(await failure(world, two.client.leases.take("k", other))).toMatchObject({
      code: "LOCK_HELD",
      details: { isSameOwner: true },
    });
  });

  it("can have several keys under one token, and a split one has a token for each", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const items = [{ key: "a" }, { key: "s", permits: 2, limit: 3 }] as const;
    const whole = await world.until(client.leases.take(items, { owner: "o", ttlMs: LONG_MS }));
    expect(whole.slots).toEqual([[0, 1]]);
    expect(holdsOf(server, "s")).toMatchObject([{ token: whole.token }]);
    const given = await world.until(client.leases.giveBack(["s"], { owner: "o" }));
    expect(given.count).toBe(1);
    expect(holdsOf(server, "a")).toEqual([]);

    const split = await world.until(
      client.leases.takeEach([{ key: "a" }, { key: "b" }], { owner: "p", ttlMs: LONG_MS }),
    );
    expect(split.tokens).toHaveLength(2);
    expect(split.token).toBe(split.tokens[0]);
    await world.until(client.leases.giveBack("a", { owner: "p" }));
    expect(holdsOf(server, "b")).toMatchObject([{ token: split.tokens[1] }]);
  });

  it("says why it is gone", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const owner = "o";
    await world.until(client.leases.take("k", { owner, ttlMs: 1_000 }));
    await world.run(1_100);
    const extending = client.leases.extend("k", { owner, ttlMs: 1_000 });
    expect(await failure(world, extending)).toMatchObject({
      code: "NOT_HELD",
      details: { reason: "expired" },
    });
    await world.until(client.leases.take("k", { owner, ttlMs: LONG_MS }));
    await world.until(client.revoke({ key: "k" }, { now: true }));
    const given = await world.until(client.leases.giveBack("k", { owner }));
    expect(given).toEqual({ count: 0, waits: 0, reason: "revoked" });
    await world.until(client.leases.take("k", { owner, ttlMs: LONG_MS }));
    await world.until(client.leases.giveBack("k", { owner }));
    const again = await world.until(client.leases.giveBack("k", { owner }));
    expect(again.reason).toBe("released");
  });

  it("is refused if it is too long, or without end where that is not allowed", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    for (const ttlMs of [100_000_000, 0]) {
      const taking = client.leases.take("k", { owner: "o", ttlMs });
      expect((await failure(world, taking)).code).toBe("INVALID_ARGUMENT");
    }
    await world.until(client.changeSetting("endlessLeases", 1));
    const endless = await world.until(client.leases.take("k", { owner: "o", ttlMs: 0 }));
    expect(endless.trustMs).toBe(Number.POSITIVE_INFINITY);
    await world.until(client.close());
    await world.run(700_000);
    expect(holdsOf(server, "k")).toHaveLength(1);
  });

  it("is extended by at least, exactly, or in addition", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const owner = "o";
    await world.until(client.leases.take("k", { owner, ttlMs: 50_000 }));
    const left = () => holdsOf(server, "k")[0]?.leaseMs ?? 0;
    await world.until(client.leases.extend("k", { owner, ttlMs: 1_000 }));
    expect(left()).toBeGreaterThan(49_000);
    await world.until(client.leases.extend("k", { owner, ttlMs: 20_000, mode: "exactly" }));
    expect(left()).toBeLessThanOrEqual(20_000);
    await world.until(client.leases.extend("k", { owner, ttlMs: 20_000, mode: "add" }));
    expect(left()).toBeGreaterThan(39_000);
  });
});

describe("the time for which a lease can be trusted", () => {
  it("ends before the table lets anybody else in, also after a wait and with slow answers", async () => {
    const { world, server } = setUp();
    const holder = await connectTo(server);
    const one = await connectTo(server, { connectTimeoutMs: 20_000 });
    const two = await connectTo(server, { ttlMs: LONG_MS });
    const lock = await world.until(holder.client.acquire("k"));
    server.faults.latencyMs = [300, 300];
    const begunMs = world.nowMs;
    const taking = one.client.leases.take("k", { owner: "o", ttlMs: 20_000 });
    await world.run(5_000);
    void lock.release();
    const { trustMs } = await world.until(taking);
    const next = two.client.acquire("k");
    await world.until(next, 60_000);
    const grantedMs = world.nowMs - 600;
    expect(begunMs + trustMs).toBeLessThan(grantedMs);
    // Ten per cent of wait and lease are lost to the margin, and little else.
    expect(trustMs).toBeGreaterThan(0.9 * 25_000 - 700);
  });

  it("counts from the call, even if a node refused the command for a while", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: LONG_MS });
    server.faults.busy = "strong";
    const taking = client.leases.take("k", { owner: "o", ttlMs: 10_000, waitMs: 0 });
    await world.run(3_000);
    server.faults.busy = "nothing";
    const { trustMs } = await world.until(taking);
    expect(trustMs).toBeGreaterThan(11_500);
    const executedAtMs = server.executed.find(({ command }) => command.op === OP.take)?.atMs ?? 0;
    expect(trustMs).toBeLessThan(executedAtMs + 10_000);
  });

  it("of an extension comes from its own answer", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    await world.until(client.leases.take("k", { owner: "o", ttlMs: 10_000 }));
    await world.run(5_000);
    const [extended] = await world.until(client.leases.extend("k", { owner: "o", ttlMs: 20_000 }));
    expect(extended?.trustMs).toBeGreaterThan(17_900);
    expect(extended?.trustMs).toBeLessThanOrEqual(18_000);
  });
});

describe("a take that waits", () => {
  it("is granted in its turn, and its outcome is stored until it was read", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server, { ttlMs: LONG_MS });
    const lock = await world.until(one.client.acquire("k"));
    const taking = two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS });
    await world.run(50);
    expect(waitersOf(server, "k")).toHaveLength(1);
    for (const connection of server.connections) {
      if (connection.session === two.client.session) connection.cut();
    }
    server.faults.downNodes.add(1).add(2).add(3);
    await world.until(one.client.close());
    void lock;
    await world.run(3_000);
    server.faults.downNodes.clear();
    const { token } = await world.until(taking);
    expect(holdsOf(server, "k")).toMatchObject([{ token }]);
    await world.run(LONG_MS / 2);
    nobodyAsks(two.client, server);
  });

  it("goes on after a new connection, and times out by the table", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server, { ttlMs: LONG_MS });
    await world.until(one.client.acquire("k"));
    const taking = two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS, waitMs: 4_000 });
    await world.run(50);
    for (const connection of server.connections) {
      if (connection.session === two.client.session) connection.cut();
    }
    expect(await failure(world, taking)).toMatchObject({
      code: "LOCK_TIMEOUT",
      details: { decidedBy: "service", waitMs: 4_000 },
    });
    expect(waitersOf(server, "k")).toEqual([]);
  });

  it("ends when a repeat takes its place", async () => {
    const { world, server } = setUp();
    const holder = await connectTo(server);
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(holder.client.acquire("k"));
    const same = { owner: "o", request: "r", ttlMs: LONG_MS };
    const first = failure(world, one.client.leases.take("k", same));
    await world.run(50);
    const second = two.client.leases.take("k", same);
    expect((await first).code).toBe("CANCELLED");
    expect(waitersOf(server, "k")).toHaveLength(1);
    await world.until(lock.release());
    expect(holdsOf(server, "k")).toMatchObject([{ token: (await world.until(second)).token }]);
    await world.run(1_500);
    nobodyAsks(one.client, server);
  });

  it("loses its place with its session, and holds nothing if that is certain", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    await world.until(one.client.acquire("k"));
    const taking = failure(world, two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS }));
    await world.run(50);
    await world.until(one.client.endSession(two.client.session, { now: true }));
    expect(await taking).toMatchObject({
      code: "SESSION_EXPIRED",
      details: { key: "k", reason: "revoked", indeterminate: false },
    });
    expect(waitersOf(server, "k")).toEqual([]);
  });

  it("says so if it may have been granted before its session was lost", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const three = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const same = { owner: "o", request: "r", ttlMs: LONG_MS };
    const taking = failure(world, two.client.leases.take("k", same));
    await world.run(50);
    const before = two.client.session;
    server.faults.cutsBefore = ({ op }) => op === OP.resume;
    for (const connection of server.connections) {
      if (connection.session === before) connection.cut();
    }
    await world.until(lock.release());
    await world.run(2_500);
    server.faults.cutsBefore = () => false;
    expect(await taking).toMatchObject({
      code: "SESSION_EXPIRED",
      details: { indeterminate: true },
    });
    const repeated = await world.until(three.client.leases.take("k", { ...same, waitMs: 0 }));
    expect(holdsOf(server, "k")).toMatchObject([{ token: repeated.token }]);
  });

  it("keeps its client busy until it ends, and an idle client is not", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    expect(two.platform.keepsProcess).toBe(false);
    const taking = two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS });
    await world.run(50);
    expect(two.platform.keepsProcess).toBe(true);
    await world.until(lock.release());
    await world.until(taking);
    await world.run(50);
    expect(two.platform.keepsProcess).toBe(false);
  });
});

describe("a caller that leaves a take", () => {
  it("leaves no wait and no lease", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    const lock = await world.until(one.client.acquire("k"));
    const leaver = new AbortController();
    const options = { owner: "o", ttlMs: LONG_MS, signal: leaver.signal };
    const waiting = rejection(world, two.client.leases.take("k", options));
    await world.run(50);
    leaver.abort(new Error("no longer needed"));
    expect(await waiting).toMatchObject({ message: "no longer needed" });
    await world.run(50);
    expect(waitersOf(server, "k")).toEqual([]);
    await world.until(lock.release());
    expect(holdsOf(server, "k")).toEqual([]);
    await world.run(2_000);
    nobodyAsks(two.client, server);
  });

  it("gives back what was granted on the way", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: LONG_MS });
    server.faults.latencyMs = [20, 20];
    const leaver = new AbortController();
    const options = { owner: "o", ttlMs: LONG_MS, signal: leaver.signal };
    const taking = rejection(world, client.leases.take("k", options));
    await world.run(30);
    expect(holdsOf(server, "k")).toHaveLength(1);
    leaver.abort(new Error("left"));
    await taking;
    await world.run(100);
    expect(holdsOf(server, "k")).toEqual([]);
  });

  it("does not touch what a repeat got meanwhile", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    server.faults.latencyMs = [20, 20];
    const leaver = new AbortController();
    const same = { owner: "o", request: "r", ttlMs: LONG_MS };
    const taking = rejection(
      world,
      one.client.leases.take("k", { ...same, signal: leaver.signal }),
    );
    await world.run(5);
    const repeat = two.client.leases.take("k", same);
    await world.run(30);
    leaver.abort(new Error("left"));
    await taking;
    const { token } = await world.until(repeat);
    await world.run(200);
    expect(holdsOf(server, "k")).toMatchObject([{ token }]);
  });

  it("sends nothing if the take was not sent", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: LONG_MS });
    server.faults.busy = "strong";
    const leaver = new AbortController();
    const options = { owner: "o", ttlMs: LONG_MS, signal: leaver.signal };
    const taking = rejection(world, client.leases.take("k", options));
    await world.run(200);
    leaver.abort(new Error("left"));
    await taking;
    server.faults.busy = "nothing";
    await world.run(2_000);
    const ops = server.executed.map(({ command }) => command.op);
    expect(ops).not.toContain(OP.take);
    expect(ops).not.toContain(OP.giveBack);
  });

  it("because its client is closed, leaves nothing either", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server, { ttlMs: LONG_MS });
    server.faults.latencyMs = [20, 20];
    const lock = await world.until(one.client.acquire("w"));
    const waiting = failure(world, two.client.leases.take("w", { owner: "o", ttlMs: LONG_MS }));
    await world.run(100);
    const taking = failure(world, two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS }));
    await world.run(25);
    await world.until(two.client.close());
    expect([(await waiting).code, (await taking).code]).toEqual(["CANCELLED", "CANCELLED"]);
    expect(holdsOf(server, "k")).toEqual([]);
    expect(waitersOf(server, "w")).toEqual([]);
    await world.until(lock.release());
    expect(holdsOf(server, "w")).toEqual([]);
  });

  it("because its client hands everything over, leaves no wait behind", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server, { ttlMs: LONG_MS });
    await world.until(one.client.acquire("k"));
    const taking = failure(world, two.client.leases.take("k", { owner: "o", ttlMs: LONG_MS }));
    await world.run(50);
    expect(waitersOf(server, "k")).toHaveLength(1);
    server.faults.busy = "commands";
    const handing = two.client.handOver();
    expect((await taking).code).toBe("CANCELLED");
    await world.run(100);
    server.faults.busy = "nothing";
    expect((await world.until(handing)).holds).toEqual([]);
    expect(waitersOf(server, "k")).toEqual([]);
  });
});

describe("a command on leases without an answer", () => {
  it("is UNAVAILABLE, and says whether it may have been carried out", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: LONG_MS, connectTimeoutMs: 3_000 });
    await world.until(client.leases.take("k", { owner: "o", ttlMs: LONG_MS }));
    server.faults.isLeaderless = true;
    const sent = [
      client.leases.take("j", { owner: "o", ttlMs: LONG_MS, waitMs: 0 }),
      client.leases.extend("k", { owner: "o", ttlMs: LONG_MS }),
      client.leases.giveBack("k", { owner: "o" }),
    ];
    for (const failing of sent.map((each) => failure(world, each))) {
      expect(await failing).toMatchObject({
        code: "UNAVAILABLE",
        details: { indeterminate: true },
      });
    }
    server.faults.isLeaderless = false;
    await world.run(100);
    expect(holdsOf(server, "j")).toEqual([]);
  });

  it("is carried out once, however often connections break", async () => {
    const { world, server } = setUp(7);
    const { client } = await connectTo(server, { ttlMs: LONG_MS });
    const before = await world.until(client.leases.take("k", { owner: "o", ttlMs: 5_000 }));
    let cuts = 0;
    server.faults.cutsAfter = ({ op }) => op === OP.extend && cuts++ < 3;
    const adding = client.leases.extend("k", { owner: "o", ttlMs: 10_000, mode: "add" });
    const [after] = await world.until(adding);
    expect(after?.token).toBe(before.token);
    expect(cuts).toBeGreaterThan(0);
    expect(holdsOf(server, "k")[0]?.leaseMs).toBeLessThanOrEqual(15_000);
    server.faults.cutsAfter = ({ op }) => op === OP.take && cuts++ < 6;
    const taken = await world.until(client.leases.take("j", { owner: "o", ttlMs: 5_000 }));
    expect(holdsOf(server, "j")).toMatchObject([{ token: taken.token }]);
    const takes = server.executed.filter(({ command }) => command.op === OP.take);
    expect(takes).toHaveLength(2);
  });
});

describe("wrong arguments of a call on leases", () => {
  const wrong: [(leases: Client["leases"]) => Promise<unknown>, RegExp][] = [
    [(leases) => leases.take("k", undefined as never), /options must be an object/],
    [(leases) => leases.take("k", { ttlMs: 1_000 } as never), /owner must be a string/],
    [(leases) => leases.take("k", { owner: "", ttlMs: 1 }), /owner must have 1 to 1024 bytes/],
    [(leases) => leases.take("k", { owner: "é".repeat(513), ttlMs: 1 }), /owner must have 1 to/],
    [(leases) => leases.take("k", { owner: "\ud800", ttlMs: 1 }), /owner holds a lone surrogate/],
    [(leases) => leases.take("k", { owner: "o" } as never), /ttlMs must be a number/],
    [(leases) => leases.take("k", { owner: "o", ttlMs: 1.5 }), /ttlMs must be an integer/],
    [(leases) => leases.take("k", { owner: "o", ttlMs: -1 }), /ttlMs must be between 0 and/],
    [(leases) => leases.take("k", { owner: "o", ttlMs: 1, request: "" }), /request must have 1/],
    [
      (leases) => leases.take("k", { owner: "o", ttlMs: 1, steal: true } as never),
      /unknown option steal/,
    ],
    [
      (leases) => leases.takeEach([{ key: "k" }], { owner: "o", ttlMs: 1, waitMs: 1 } as never),
      /unknown option waitMs/,
    ],
    [(leases) => leases.take([], { owner: "o", ttlMs: 1 }), /items must be 1 to 16/],
    [(leases) => leases.extend([], { owner: "o", ttlMs: 1 }), /keys must be 1 to 16/],
    [(leases) => leases.extend("k", { owner: "o", ttlMs: -1 }), /ttlMs must be between 0 and/],
    [
      (leases) => leases.extend("k", { owner: "o", ttlMs: 0, mode: "add" }),
      /ttlMs must be between 1 and/,
    ],
    [
      (leases) => leases.extend("k", { owner: "o", ttlMs: 1, mode: "less" as never }),
      /mode must be "atLeast", "exactly" or "add"/,
    ],
    [(leases) => leases.giveBack(["k", "k"], { owner: "o" }), /the same key appears twice/],
    [(leases) => leases.giveBack(7 as never, { owner: "o" }), /keys must be an array, not number/],
  ];

  it("are refused before anything is sent, and an owner is never shown", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const count = server.applied.length;
    for (const [call, text] of wrong) {
      const error = await rejection(world, call(client.leases));
      expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
      expect((error as Error).message).toMatch(text);
    }
    const named = { owner: "o", ttlMs: 1, name: "n".repeat(257) };
    const tooLong = await failure(world, client.leases.take("k", named));
    expect(tooLong.code).toBe("INVALID_ARGUMENT");
    expect((await failure(world, client.leases.take("", named))).code).toBe("INVALID_ARGUMENT");
    expect(server.applied.length).toBe(count);
  });
});
