import { describe, expect, it } from "vitest";
import {
  type AcquireOptions,
  type ConnectOptions,
  clusterStatus,
  connect,
} from "../../src/index.js";
import { rejection, setUp } from "./set-up.js";
import { connectTo } from "./simulated-client.js";

describe("wrong arguments", () => {
  const wrongConnects: [unknown, string | RegExp][] = [
    [{ endpoints: [] }, /endpoints must be an array of at least one/],
    [{ endpoints: "ws://localhost" }, /endpoints must be an array/],
    [{ endpoints: [7411] }, /an endpoint must be a string/],
    [{ endpoints: ["localhost:7411"] }, /must begin with ws:/],
    [{ endpoints: ["nothing"] }, /is no URL like/],
    [{ endpoints: ["ws://joe:secret@host:7411"] }, /endpoint at host:7411 must be nothing but/],
    [{ endpoints: ["ws://host:7411/?x=1"] }, /endpoint at host:7411 must be nothing but/],
    [{ ttlMs: "15s" }, /ttlMs must be a number, not "15s"/],
    [{ ttlMs: 999 }, /ttlMs must be between 1000 and 600000, not 999/],
    [{ ttlMs: Number.NaN }, /ttlMs must be between/],
    [{ ttlMs: 1_000.5 }, /ttlMs must be an integer/],
    [{ connectTimeoutMs: 0 }, /connectTimeoutMs must be between/],
    [{ releaseOnExit: 1 }, /releaseOnExit must be a boolean/],
    [{ followLeader: "no" }, /followLeader must be a boolean/],
    [{ name: 7 }, /name must be a string/],
    [{ signal: {} }, /signal must be an AbortSignal/],
    [{ endpoint: "ws://localhost:7411" }, /unknown option endpoint; there are endpoints/],
    [null, /options must be an object, not null/],
  ];
  it.each(wrongConnects)(
    "of connect are told before anything is opened: %j",
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

  it("that are options which a call does not know are a TypeError, whichever call it is", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const ticket = { token: lock.token, secret: "0".repeat(32) };
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
      claim: () => client.claim(ticket, misspelt),
      revoke: () => client.revoke({ key: "k" }, misspelt),
      endSession: () => client.endSession(7, misspelt),
      setLimit: () => client.setLimit("s", 3, misspelt),
      changeSetting: () => client.changeSetting("waitersMax", 3, misspelt),
      semaphore: () => client.semaphore("s", misspelt),
      leader: () => client.election("e").leader(misspelt),
      observe: () => client.election("e").observe(misspelt).next(),
      update: () => lock.update("v", misspelt),
      upgrade: () => lock.upgrade(misspelt),
      detach: () => lock.detach(misspelt),
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
