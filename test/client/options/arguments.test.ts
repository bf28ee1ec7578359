/**
 * Wrong arguments of all calls: a `TypeError`, a `RangeError` or `INVALID_ARGUMENT`, before
 * anything is sent.
 */
import { describe, expect, it } from "vitest";
import {
  type AcquireOptions,
  type ConnectOptions,
  clusterStatus,
  connect,
} from "../../../src/index.js";
import { rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";

describe("wrong arguments", () => {
  const wrongConnects: [unknown, string | RegExp][] = [
    [{ endpoints: [] }, /endpoints must be an array of at least one/],
    [{ endpoints: "ws://localhost" }, /endpoints must be an array/],
    [{ endpoints: [7411] }, /an endpoint must be a string/],
    [{ endpoints: ["ftp://localhost:7411"] }, /must begin with ws:/],
    [{ endpoints: ["no thing"] }, /is not a URL like/],
    [{ endpoints: ["ws://joe:secret@host:7411"] }, /endpoint at host:7411 must contain only ws/],
    [{ endpoints: ["http://joe:secret@host:7411"] }, /endpoint at host:7411 must contain only ws/],
    [{ endpoints: ["ws://joe:secret@a b"] }, /^an endpoint is not a URL like ws:/],
    [{ endpoints: ["ws://host:7411/?x=1"] }, /endpoint at host:7411 must contain only ws/],
    [{ ttlMs: "15s" }, /ttlMs must be a number, not "15s"/],
    [{ ttlMs: 999 }, /ttlMs must be between 1000 and 600000, not 999/],
    [{ ttlMs: Number.NaN }, /ttlMs must be between/],
    [{ ttlMs: 1_000.5 }, /ttlMs must be an integer/],
    [{ connectTimeoutMs: 0 }, /connectTimeoutMs must be between/],
    [{ releaseOnExit: 1 }, /releaseOnExit must be a boolean/],
    [{ followLeader: "no" }, /followLeader must be a boolean/],
    [{ name: 7 }, /name must be a string/],
    [{ signal: {} }, /signal must be an AbortSignal/],
    [{ endpoint: "ws://localhost:7411" }, /unknown option endpoint; the options are endpoints/],
    [{ endpoints: null }, /endpoints must be an array/],
    [{ ttlMs: null }, /ttlMs must be a number, not null/],
    [{ name: null }, /name must be a string, not null/],
    [{ captureStacks: null }, /captureStacks must be a boolean, not null/],
    [null, /options must be an object, not null/],
  ];
  it.each(wrongConnects)(
    "of connect are refused before anything is opened: %j",
    async (options, text) => {
      const error = await connect(options as ConnectOptions).catch((reason: unknown) => reason);
      expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
      expect((error as Error).message).toMatch(text);
    },
  );

  it("of a size that the cluster would refuse are INVALID_ARGUMENT", async () => {
    await expect(connect({ name: "n".repeat(257) })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(connect({ metadata: "m".repeat(1_025) })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("of acquire reject without a command being sent", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const before = server.applied.length;
    const codes: unknown[] = [];
    for (const key of ["", "~reserved", "a\nb", "\ud800", "é".repeat(257)]) {
      codes.push(await client.acquire(key).catch((error: { code: unknown }) => error.code));
    }
    expect(codes).toEqual(Array(5).fill("INVALID_ARGUMENT"));
    const wrong: unknown[] = [
      { mode: "read" },
      { waitMs: "5s" },
      { timeout: 5_000 },
      { waitMs: -1 },
      { waitMs: Number.NaN },
      { waitMs: 2 ** 32 },
      { signal: "no" },
      { priority: null },
      { priority: 1.5 },
      { priority: 61 },
      { reentrant: null },
      { maxHoldMs: 999 },
      { lockDelayMs: 60_001 },
      { minHoldMs: Number.POSITIVE_INFINITY },
      { value: null },
      { steal: 1 },
      { detect: null },
      { task: {} },
      "exclusive",
    ];
    for (const options of wrong) {
      const error: unknown = await client.acquire("k", options as AcquireOptions).catch((e) => e);
      expect(error instanceof TypeError || error instanceof RangeError).toBe(true);
    }
    const noOptions = client.inspect("k", null as unknown as object);
    await expect(noOptions).rejects.toThrow("options must be an object, not null");
    expect(() => client.query("", 5 as unknown as object)).toThrow("must be an object");
    const noKey = client.acquire(undefined as unknown as string);
    await expect(noKey).rejects.toBeInstanceOf(TypeError);
    const noCallback = client.using("k", undefined as unknown as () => void);
    await expect(noCallback).rejects.toThrow("using needs a callback");
    await world.run(50);
    expect(server.applied.length).toBe(before);
  });

  it("that were not handed over are refused, and nothing of them is repeated", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const handed = await world.until(lock.handOver());
    const [hold] = handed.holds;
    const secret = hold?.secret ?? "";
    const wrong: readonly unknown[] = [
      JSON.stringify(handed),
      null,
      secret,
      { ...handed, holds: secret },
      { ...handed, holds: [secret] },
      { ...handed, holds: [{ ...hold, secret: `${secret}0` }] },
      { ...handed, holds: [{ ...hold, keys: [] }] },
      { ...handed, holds: [{ ...hold, task: secret }] },
      { ...handed, clusterId: undefined },
    ];
    const text = "handed must be what lock.handOver() or client.handOver() returned";
    for (const each of wrong) {
      expect(await rejection(world, client.adopt(each as never))).toEqual(new TypeError(text));
    }
    const older = await rejection(world, client.adopt({ ...handed, version: 0 }));
    expect(older).toEqual(new RangeError("handed over in version 0, but this SDK knows 1"));
    const stranger = await rejection(world, client.adopt({ ...handed, clusterId: "another" }));
    expect(stranger).toMatchObject({ code: "INVALID_ARGUMENT" });
    const rest = client.adopt(handed, { rest: "yes" } as never);
    expect(await rejection(world, rest)).toBeInstanceOf(TypeError);
    expect((await world.until(client.adopt(handed))).locks).toHaveLength(1);
  });

  it("that a bearer or an owner cannot have are refused before the lock is given up", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const wrong: readonly object[] = [
      { ttlMs: 999 },
      { ttlMs: 600_001 },
      { ttlMs: 0 },
      { ttlMs: 1.5 },
      { owner: "" },
      { owner: 7 },
      { owner: "me", ttlMs: -1 },
    ];
    for (const options of wrong) {
      const error = await rejection(world, lock.handOver(options));
      const isPlain = error instanceof TypeError || error instanceof RangeError;
      if (!isPlain) expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    }
    expect(lock.isHeld).toBe(true);
  });

  it("that are options which a call does not know are a TypeError, whichever call it is", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const handed = { holds: [] } as never;
    const misspelt: object = { timeoutMs: 5 };
    const before = server.applied.length;
    const calls: Readonly<Record<string, () => unknown>> = {
      inspect: () => client.inspect("k", misspelt),
      query: () => client.query("", misspelt),
      explain: () => client.explain("k", misspelt),
      waitGraph: () => client.waitGraph(misspelt),
      verify: () => client.verify("k", 1, misspelt),
      history: () => client.history("k", misspelt),
      sessions: () => client.sessions(misspelt),
      settings: () => client.settings(misspelt),
      watch: () => client.watch("k", misspelt),
      adopt: () => client.adopt(handed, misspelt),
      revoke: () => client.revoke({ key: "k" }, misspelt),
      endSession: () => client.endSession(7, misspelt),
      setLimit: () => client.setLimit("s", 3, misspelt),
      changeSetting: () => client.changeSetting("waitersMax", 3, misspelt),
      semaphore: () => client.semaphore("s", misspelt),
      leader: () => client.election("e").leader(misspelt),
      observe: () => client.election("e").observe(misspelt).next(),
      update: () => lock.update("v", misspelt),
      upgrade: () => lock.upgrade(misspelt),
      handOver: () => lock.handOver(misspelt),
      clusterStatus: () => clusterStatus(["ws://127.0.0.1:9"], { timeout: 5 } as object),
    };
    for (const [name, call] of Object.entries(calls)) {
      const told = await rejection(world, (async () => call())());
      expect(told, name).toBeInstanceOf(TypeError);
      expect((told as Error).message, name).toMatch(/^unknown option timeout/);
    }
    expect(lock.isHeld).toBe(true);
    await world.run(50);
    expect(server.applied.length).toBe(before);
  });

  it("that say nothing, or two things at once, are refused before anything is sent", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k", { mode: "shared" }));
    const before = server.applied.length;
    const calls: [() => unknown, RegExp][] = [
      [() => client.revoke({} as { key: string }), /must have a key or a token: one of them/],
      [() => client.revoke({ key: "k", token: 7 }), /must have a key or a token: one of them/],
      [() => client.revoke({ keys: ["k"] } as object as { key: string }), /unknown option keys/],
      [() => client.revoke({ token: 0 }), /token must be between 1 and/],
      [() => client.explain("k", { request: 7 as never }), /request must be an object/],
      [() => client.explain("k", { request: {} as never }), /request.session must be a number/],
      [() => client.watch({} as { prefix: string }), /prefix must be a string/],
      [() => client.watch({ prefix: "k", key: "k" } as never), /unknown option key/],
      [() => client.election(7 as never), /name must be a string/],
      [() => client.election("e").campaign(undefined as never), /value must be a string/],
      [() => client.election("e").observe({ wait: 1 } as never), /unknown option wait/],
      [() => client.semaphore("s").acquire({ permits: null as never }), /permits must be a number/],
      [() => client.acquireAll([{ key: "s", limit: 3 } as never]), /with a limit needs permits$/],
      [
        () => client.acquireAll([{ key: "s", permits: 1, mode: "shared" } as never]),
        /a mode \(a lock\) or/,
      ],
      [() => client.acquireAll([{ key: "s", permits: 3, limit: 2 }]), /^3 permits of 2$/],
      [() => client.acquireAll([{ key: "s" }, { key: "s", mode: "shared" }]), /appears twice/],
      [() => client.acquireAll([]), /items must be 1 to 16, not 0/],
      [() => client.acquireAll([{ key: "s", mode: "shared" }], { steal: true }), /only exclusive/],
      [() => lock.upgrade({ key: "other" }), /^"other" is not a key of this lock$/],
      [() => lock.downgrade("other"), /^"other" is not a key of this lock$/],
    ];
    for (const [call, text] of calls) {
      const told = await rejection(world, (async () => call())());
      expect((told as Error).message).toMatch(text);
    }
    expect(lock.isHeld).toBe(true);
    await world.run(50);
    expect(server.applied.length).toBe(before);
  });

  it("are shown in the message, cut to what a person reads", async () => {
    const { server } = setUp();
    const { client } = await connectTo(server);
    const told = await client.acquire("k", { waitMs: "5s".repeat(1e6) as never }).catch((e) => e);
    expect(told.message).toMatch(/^waitMs must be a number, not "5s5s/);
    expect(told.message.length).toBeLessThan(200);
  });

  it("that the cluster refuses name what is wrong with them", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const setting = await rejection(world, client.changeSetting("nothing", 1));
    expect(setting).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect((setting as Error).message).toMatch(/^setting nothing: no such setting, or a value/);
    const session = await rejection(world, client.endSession(2 ** 40));
    expect(session).toMatchObject({ code: "NOT_HELD" });
    expect((session as Error).message).toMatch(/there is no such session$/);
    const tooLong = await rejection(world, client.acquire("k", { minHoldMs: 2 * 86_400_000 }));
    expect(tooLong).toMatchObject({ code: "INVALID_ARGUMENT", details: { key: "k" } });
    expect((tooLong as Error).message).toMatch(
      /^lock "k": .* settings minHoldMsMax and lockDelayMsMax/,
    );
  });

  it("that name an event which locks do not have are a TypeError", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    expect(() => lock.on("lost" as "contended", () => undefined)).toThrow(TypeError);
    expect(() => lock.on("contended", undefined as unknown as () => void)).toThrow(TypeError);
  });

  it("that stand for waiting without an end are taken as that", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const options = { waitMs: Number.POSITIVE_INFINITY };
    expect((await world.until(client.acquire("k", options))).isHeld).toBe(true);
  });
});
