/** What observers of `node:diagnostics_channel` learn of a client's calls. */
import { AsyncLocalStorage } from "node:async_hooks";
import { tracingChannel } from "node:diagnostics_channel";
import { afterEach, describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, connectAdminOn, connectOn } from "../../../src/client/index.js";
import { ADMIN_DEFAULTS } from "../../../src/client/options/operator-options.js";
import { failure, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { TableServer } from "../world/table-server.js";

type Context = Record<string, unknown>;

interface Told {
  readonly event: string;
  readonly context: Context;
  /** As it was when this event came. */
  readonly copy: Context;
}

const EVENTS = ["start", "end", "asyncStart", "asyncEnd", "error"] as const;

const undo: (() => void)[] = [];

afterEach(() => {
  for (const each of undo.splice(0)) each();
});

/** All that the channel reports until the test ends. */
function observe(name: string): Told[] {
  const told: Told[] = [];
  const channel = tracingChannel<string, Context>(name);
  const listeners = Object.fromEntries(
    EVENTS.map((event) => [
      event,
      (context: Context) => {
        told.push({ event, context, copy: { ...context } });
      },
    ]),
  ) as unknown as Parameters<typeof channel.subscribe>[0];
  channel.subscribe(listeners);
  undo.push(() => channel.unsubscribe(listeners));
  return told;
}

/** No node can be reached any more. */
function cutOff(server: TableServer): void {
  for (const { id } of server.nodes) server.faults.downNodes.add(id);
  for (const connection of server.connections) connection.cut();
}

const DONE = ["start", "end", "asyncStart", "asyncEnd"];
const FAILED = ["start", "end", "error", "asyncStart", "asyncEnd"];

function eventsOf(told: readonly Told[]): string[] {
  return told.map(({ event }) => event);
}

/** The contexts, each once, as they were at last. */
function contextsOf(told: readonly Told[]): Context[] {
  return [...new Set(told.map(({ context }) => context))];
}

describe("an observer of holdfast:acquire", () => {
  it("learns of the beginning and the end of an acquire, with one context", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const told = observe("holdfast:acquire");
    const task = client.task();
    const lock = await world.until(client.acquire("k", { mode: "shared", waitMs: 500, task }));
    expect(eventsOf(told)).toEqual(DONE);
    expect(told[0]?.copy).toEqual({
      operation: "acquire",
      keys: ["k"],
      mode: "shared",
      task: task.id,
      waitMs: 500,
      session: client.session,
      endpoint: server.endpoints[0],
    });
    expect(contextsOf(told)).toEqual([
      { ...told[0]?.copy, token: lock.token, result: expect.anything() },
    ]);
    expect(told[3]?.context["result"]).toBe(lock);
  });

  it("learns why an acquire failed", async () => {
    const { world, server } = setUp();
    const one = await connectTo(server);
    const two = await connectTo(server);
    await world.until(one.client.acquire("k"));
    const told = observe("holdfast:acquire");
    const error = await failure(world, two.client.acquire("k", { waitMs: 0 }));
    expect(error.code).toBe("LOCK_HELD");
    expect(eventsOf(told)).toEqual(FAILED);
    expect(told[4]?.context["error"]).toBe(error);
    expect(told[4]?.context).not.toHaveProperty("token");
  });

  it("sees every way to ask for a lock", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const told = observe("holdfast:acquire");
    const lock = await world.until(client.acquire("a", { mode: "shared" }));
    await world.until(lock.upgrade());
    await world.until(lock.acquire("b"));
    expect(await world.until(client.tryAcquire("a"))).toBeUndefined();
    await world.until(client.acquireAll([{ key: "c" }, { key: "d", mode: "shared" }]));
    await world.until(client.semaphore("s", { limit: 2 }).acquire());
    await world.until(client.election("e").campaign("me"));
    const handed = await world.until(lock.handOver({ ttlMs: 10_000 }));
    const { locks } = await world.until(client.adopt(handed));
    await world.until(client.locks.request("w", () => undefined));
    expect(contextsOf(told).map(({ operation, keys, mode }) => [operation, keys, mode])).toEqual([
      ["acquire", ["a"], "shared"],
      ["upgrade", ["a"], "exclusive"],
      ["acquire", ["b"], "exclusive"],
      ["tryAcquire", ["a"], "exclusive"],
      ["acquireAll", ["c", "d"], "exclusive"],
      ["acquire", ["s"], "permits"],
      ["acquire", ["e"], "exclusive"],
      ["adopt", ["a"], "exclusive"],
      ["acquire", [expect.stringContaining("w")], "exclusive"],
    ]);
    const [, upgrade, , tried, , , , adopt] = contextsOf(told);
    expect(upgrade?.["token"]).toBeGreaterThan(0);
    expect(tried).not.toHaveProperty("token");
    expect(adopt?.["token"]).toBe(locks[0]?.token);
    // The secret of a bearer is nobody's business.
    expect(JSON.stringify(told.map(({ copy: { result: _, ...rest } }) => rest))).not.toContain(
      handed.holds[0]?.secret,
    );
  });

  it("that throws breaks no lock: the process hears of it instead", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const channel = tracingChannel<string, Context>("holdfast:acquire");
    const throwing = () => {
      throw new Error("a mistake of the observer");
    };
    const listeners = {
      ...{ start: throwing, end: throwing, error: throwing },
      ...{ asyncStart: throwing, asyncEnd: throwing },
    };
    channel.subscribe(listeners);
    undo.push(() => channel.unsubscribe(listeners));
    const heard: unknown[] = [];
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    const hear = (error: unknown): void => {
      heard.push(error);
    };
    process.on("uncaughtException", hear);
    try {
      const lock = await world.until(client.acquire("k"));
      expect(lock.isHeld).toBe(true);
      expect(await world.until(lock.release())).toEqual({ released: true });
      expect(heard).toHaveLength(4);
    } finally {
      process.off("uncaughtException", hear);
      for (const other of others) process.on("uncaughtException", other);
    }
  });

  it("may come and go between two calls", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    await world.until(client.acquire("a"));
    const told = observe("holdfast:acquire");
    await world.until(client.acquire("b"));
    for (const each of undo.splice(0)) each();
    await world.until(client.acquire("c"));
    expect(contextsOf(told).map(({ keys }) => keys)).toEqual([["b"]]);
  });
});

describe("an observer of holdfast:release", () => {
  it("learns of the one release that gives the lock back", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const lock = await world.until(client.acquire("k"));
    const told = observe("holdfast:release");
    const first = lock.release();
    const second = lock.release();
    expect(await world.until(Promise.all([first, second]))).toEqual([
      { released: true },
      { released: true },
    ]);
    expect(eventsOf(told)).toEqual(DONE);
    expect(contextsOf(told)).toEqual([
      {
        keys: ["k"],
        mode: "exclusive",
        token: lock.token,
        task: lock.task.id,
        session: client.session,
        endpoint: server.endpoints[0],
        result: { released: true },
      },
    ]);
  });

  it("is told that a lock was lost before its release was executed", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(client.acquire("k"));
    const told = observe("holdfast:release");
    cutOff(server);
    const result = await world.until(lock.release());
    expect(result).toEqual({ released: false, reason: "expired" });
    expect(contextsOf(told)).toMatchObject([{ result }]);
  });
});

describe("an observer of holdfast:connect", () => {
  it("learns of a client's connection and its session, and of an operator's connection", async () => {
    const { world, server } = setUp();
    const told = observe("holdfast:connect");
    const { client } = await connectTo(server, { name: "worker" });
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...ADMIN_DEFAULTS, endpoints: server.endpoints };
    await world.until(connectAdminOn(platform, settings));
    expect(contextsOf(told)).toEqual([
      {
        ...{ operation: "connect", name: "worker", endpoints: server.endpoints },
        ...{ endpoint: server.endpoints[0], session: client.session, result: undefined },
      },
      {
        ...{ operation: "connectAdmin", name: "", endpoints: server.endpoints },
        ...{ endpoint: server.endpoints[0], result: undefined },
      },
    ]);
  });

  it("learns why no node served", async () => {
    const { world, server } = setUp();
    cutOff(server);
    const told = observe("holdfast:connect");
    const platform = new SimulatedPlatform(world, server);
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, connectTimeoutMs: 500 };
    const error = await failure(world, connectOn(platform, settings));
    expect(eventsOf(told)).toEqual(FAILED);
    expect(told[2]?.context).toMatchObject({ error: { code: "UNAVAILABLE" } });
    expect(told[2]?.context["error"]).toBe(error);
  });
});

describe("a store that is bound to a channel", () => {
  function bind(name: string): AsyncLocalStorage<Context> {
    const store = new AsyncLocalStorage<Context>();
    const { start } = tracingChannel<Context, Context>(name);
    start.bindStore(store, (context) => context);
    undo.push(() => start.unbindStore(store));
    return store;
  }

  it("is what the callback of a using runs in, and the acquire and release around it", async () => {
    const { world, server } = setUp();
    const { client } = await connectTo(server);
    const store = bind("holdfast:using");
    const acquires = observe("holdfast:acquire");
    const seen: unknown[] = [];
    await world.until(
      client.using("k", async (lock) => {
        seen.push(store.getStore());
        await lock.using("inner", () => {
          seen.push(store.getStore());
        });
        seen.push(store.getStore());
      }),
    );
    expect(seen).toMatchObject([{ keys: ["k"] }, { keys: ["inner"] }, { keys: ["k"] }]);
    expect(seen[2]).toBe(seen[0]);
    expect(store.getStore()).toBeUndefined();
    expect(contextsOf(acquires)).toHaveLength(2);
  });

  it("does not reach the code after an acquire, nor the listeners of a client", async () => {
    const { world, server } = setUp();
    const acquiring = bind("holdfast:acquire");
    const connecting = bind("holdfast:connect");
    const { client, platform } = await connectTo(server, { ttlMs: 1_000 });
    const lock = await world.until(client.acquire("k"));
    expect(acquiring.getStore()).toBeUndefined();
    const seen: unknown[] = [];
    lock.signal.addEventListener("abort", () => seen.push(connecting.getStore()));
    expect(platform.connection).toBeDefined();
    cutOff(server);
    await world.run(3_000);
    expect(seen).toEqual([undefined]);
  });
});
