/**
 * Tasks that the client recognises by itself: a call inside the callback of a lock belongs to the
 * task of that lock.
 */
import { describe, expect, it } from "vitest";
import { CLIENT_DEFAULTS, type Client, connectOn, type Lock } from "../../../src/client/index.js";
import { failure, rejection, setUp } from "../world/set-up.js";
import { connectTo } from "../world/simulated-client.js";
import { SimulatedPlatform } from "../world/simulated-platform.js";
import type { SimulatedWorld } from "../world/simulated-world.js";
import type { TableServer } from "../world/table-server.js";

interface Scene {
  readonly world: SimulatedWorld;
  readonly server: TableServer;
  readonly client: Client;
  /** Whose each of these keys is, by the table. */
  tasksOf(...keys: string[]): number[];
}

async function scene(taskFromContext = true): Promise<Scene> {
  const { world, server } = setUp();
  const { client } = await connectTo(server, { taskFromContext, ttlMs: 60_000 });
  const tasksOf = (...keys: string[]): number[] => {
    return keys.flatMap((key) => server.table.inspect(key).holds.map(({ task }) => task));
  };
  return { world, server, client, tasksOf };
}

/** Lets time pass in the simulated world, as any code may that awaits something of its own. */
function pause(world: SimulatedWorld): Promise<void> {
  return new Promise((resolve) => world.after(7, resolve));
}

describe("with taskFromContext, an acquire inside a callback", () => {
  it("is of the same task, however deep and whichever way it is made", async () => {
    const { world, client, tasksOf } = await scene();
    const deep = async (): Promise<void> => {
      await pause(world);
      await client.using("b", async () => {
        await client.tryAcquire("c");
        await client.acquireAll([{ key: "d" }, { key: "e", mode: "shared" }]);
        await client.semaphore("f", { limit: 2 }).using(async (permit) => {
          await permit.using("g", async () => {
            await client.election("h").campaign("leader");
            await client.acquire("i");
          });
        });
      });
    };
    const found: number[] = [];
    await world.until(
      client.using("a", async () => {
        await client.using("x", deep);
        found.push(...tasksOf("a", "c", "d", "e", "h", "i"));
      }),
    );
    expect(found).toHaveLength(6);
    expect(new Set(found).size).toBe(1);
  });

  it("counts siblings of one callback as that task too", async () => {
    const { world, client, tasksOf } = await scene();
    const found: number[] = [];
    await world.until(
      client.using("a", async () => {
        await Promise.all(
          ["b", "c"].map((key) =>
            client.using(key, async () => {
              await pause(world);
              found.push(...tasksOf("a", key));
            }),
          ),
        );
        // The price of it: the second sibling would wait for its own task.
        const twice = ["d", "d"].map((key) => client.using(key, () => pause(world)));
        const ends = await Promise.allSettled(twice);
        expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
        expect(ends[1]).toMatchObject({ reason: { code: "DEADLOCK" } });
        const counted = ["e", "e"].map((key) => {
          return client.using(key, { reentrant: true }, (lock) => lock.token);
        });
        const [first, second] = await Promise.all(counted);
        expect(second).toBe(first);
      }),
    );
    expect(found).toHaveLength(4);
    expect(new Set(found).size).toBe(1);
  });

  it("makes two tasks a deadlock that nobody had to name", async () => {
    const { world, client } = await scene();
    const cross = (one: string, other: string): Promise<string> => {
      return client.using(one, async () => {
        await pause(world);
        return client.using(other, () => "both");
      });
    };
    const ends = await world.until(Promise.allSettled([cross("a", "b"), cross("b", "a")]));
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const refused = ends.find((end) => end.status === "rejected");
    expect(refused?.reason).toMatchObject({ code: "DEADLOCK" });
  });

  it("is of another task when it names one, and so is what is nested in that", async () => {
    const { world, client, tasksOf } = await scene();
    const task = client.task();
    const found: number[] = [];
    await world.until(
      client.using("a", async () => {
        await client.using("b", { task }, async () => {
          await client.acquire("c");
          found.push(...tasksOf("a", "b", "c"));
        });
        await client.acquire("d");
        found.push(...tasksOf("d"));
      }),
    );
    const [a, b, c, d] = found;
    expect([b, c]).toEqual([task.id, task.id]);
    expect(a).not.toBe(task.id);
    expect(d).toBe(a);
  });

  it("is a Web Lock's own task all the same", async () => {
    const { world, client, tasksOf } = await scene();
    const found: number[] = [];
    await world.until(
      client.using("a", () => {
        return client.locks.request("b", () => {
          found.push(...tasksOf("a", "~locks/b"));
        });
      }),
    );
    expect(new Set(found).size).toBe(2);
  });
});

describe("with taskFromContext, nothing leaks", () => {
  it("behind the callback, whether it ended well or not", async () => {
    const { world, client, tasksOf } = await scene();
    const task = (async () => {
      await client.using("a", () => pause(world));
      const mistake = client.using("b", () => Promise.reject(new Error("mistake")));
      await mistake.catch(() => undefined);
      await client.acquire("c");
      await client.acquire("d");
    })();
    await world.until(task);
    const [c, d] = tasksOf("c", "d");
    expect(c).not.toBe(d);
  });

  it("into callers that run at the same time", async () => {
    const { world, client, tasksOf } = await scene();
    const tasks = ["a", "b", "c"].map((key) => {
      return client.using(key, async () => {
        await pause(world);
        await client.acquire(`${key}/nested`);
        await pause(world);
        return tasksOf(key, `${key}/nested`);
      });
    });
    const outside = client.acquire("d");
    const found = await world.until(Promise.all(tasks));
    await world.until(outside);
    for (const [own, nested] of found) expect(nested).toBe(own);
    expect(new Set([...found.flat(), ...tasksOf("d")]).size).toBe(4);
  });

  it("into listeners, whichever task made the timer or the connection that calls them", async () => {
    const { world, server, client } = await scene();
    const tasks: number[] = [];
    const listen = (lock: Lock): void => {
      lock.signal.addEventListener("abort", async () => {
        const next = await client.acquire(`${lock.key}/again`);
        tasks.push(next.task.id);
      });
    };
    // The one is lost by a timer, the other by a message over a new connection.
    listen(await world.until(client.acquire("capped", { maxHoldMs: 5_000 })));
    listen(await world.until(client.acquire("robbed")));
    const robber = await connectTo(server, { ttlMs: 60_000 });
    const task = client.using("a", async (lock) => {
      // A read arms the timer at once, and the timer reconnects.
      await client.inspect("a");
      for (const connection of server.connections) connection.cut();
      await client.inspect("a");
      await robber.client.acquireAll([{ key: "robbed" }], { steal: true });
      while (tasks.length < 2) await pause(world);
      return lock.task.id;
    });
    const own = await world.until(task, 20_000);
    expect(new Set([own, ...tasks]).size).toBe(3);
  });

  it("from one client into another", async () => {
    const { world, server, client } = await scene();
    const other = await connectTo(server, { taskFromContext: true, ttlMs: 60_000 });
    const nested = client.using("a", () => other.client.using("b", (lock) => lock.task.id));
    expect(await world.until(nested)).toBe(1);
  });
});

it("a signal that is aborted while the context is loaded gives the connection up", async () => {
  const { world, server } = setUp();
  const controller = new AbortController();
  const { signal } = controller;
  const asked = connectOn(new SimulatedPlatform(world, server), {
    ...CLIENT_DEFAULTS,
    endpoints: server.endpoints,
    taskFromContext: true,
    signal,
  });
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await rejection(world, asked)).toBe(reason);
  expect(server.opened).toEqual([]);
});

describe("without taskFromContext", () => {
  it("an acquire is of a task only where that is said", async () => {
    const { world, client, tasksOf } = await scene(false);
    const found: number[] = [];
    await world.until(
      client.using("a", async (lock) => {
        await lock.acquire("b");
        await client.acquire("c");
        await client.acquire("d", { task: lock.task });
        found.push(...tasksOf("a", "b", "c", "d"));
      }),
    );
    const [a, b, c, d] = found;
    expect([b, d]).toEqual([a, a]);
    expect(c).not.toBe(a);
  });

  it("is all there is where the platform carries no context", async () => {
    const { world, server } = setUp();
    const platform = new SimulatedPlatform(world, server);
    Object.defineProperty(platform, "loadTaskContext", { value: undefined });
    const settings = { ...CLIENT_DEFAULTS, endpoints: server.endpoints, taskFromContext: true };
    await expect(connectOn(platform, settings)).rejects.toThrow(TypeError);
    expect(server.opened).toEqual([]);
    const plain = connectOn(platform, { ...settings, taskFromContext: false });
    expect((await world.until(plain)).session).toBeGreaterThan(0);
    // What the deadlock of one looks like where tasks are named.
    const client = await world.until(plain);
    const task = client.task();
    await world.until(client.acquire("a", { task }));
    expect((await failure(world, client.acquire("a", { task }))).code).toBe("DEADLOCK");
  });
});
