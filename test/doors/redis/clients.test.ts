/** Unchanged lock clients of Redis at the door. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { Redis } from "ioredis";
import { afterEach, describe, expect, test } from "vitest";
import { DoorWorld } from "./world/door-world.js";

const require = createRequire(import.meta.url);

/** As far as it is used here, in versions 4 and 5. */
interface AnyRedlock {
  lock?(keys: string | string[], ttlMs: number): Promise<AnyLock>;
  acquire?(keys: string[], ttlMs: number): Promise<AnyLock>;
}
interface AnyLock {
  readonly value: string;
  extend(ttlMs: number): Promise<AnyLock>;
  unlock?(): Promise<unknown>;
  release?(): Promise<unknown>;
}

const clients: Redis[] = [];

function client(world: DoorWorld): Redis {
  const redis = new Redis({ host: "127.0.0.1", port: world.door.port, maxRetriesPerRequest: 1 });
  clients.push(redis);
  return redis;
}

afterEach(() => {
  for (const redis of clients.splice(0)) redis.disconnect();
});

function redlockOf(version: 4 | 5, servers: readonly Redis[]): AnyRedlock {
  const options = { retryCount: 0 };
  if (version === 4) {
    const Redlock = require("redlock") as new (
      servers: readonly Redis[],
      options: object,
    ) => AnyRedlock;
    return new Redlock(servers, options);
  }
  const { default: Redlock } = require("redlock5") as {
    default: new (servers: readonly Redis[], options: object) => AnyRedlock;
  };
  return new Redlock(servers, options);
}

describe.each([4, 5] as const)("redlock %i", (version) => {
  const take = (redlock: AnyRedlock, keys: string[], ttlMs: number): Promise<AnyLock> =>
    (redlock.lock?.(keys, ttlMs) ?? redlock.acquire?.(keys, ttlMs)) as Promise<AnyLock>;
  const release = (lock: AnyLock): Promise<unknown> =>
    (lock.unlock?.() ?? lock.release?.()) as Promise<unknown>;

  test.each([1, 2, 16])("takes, extends and releases %i keys", async (count) => {
    await using world = await DoorWorld.open();
    const keys = Array.from({ length: count }, (_, at) => `k${at}`);
    const [one, other] = [redlockOf(version, [client(world)]), redlockOf(version, [client(world)])];
    const lock = await take(one, keys, 1_000);
    await expect(take(other, [keys[count - 1] as string], 1_000)).rejects.toThrow();
    world.locks.nowMs += 900;
    const longer = await lock.extend(1_000);
    world.locks.nowMs += 900;
    await expect(take(other, keys, 1_000)).rejects.toThrow();
    await release(longer);
    await release(await take(other, keys, 1_000));
    expect(world.log).toEqual([]);
  });

  test("loses a lock that expires", async () => {
    await using world = await DoorWorld.open();
    const [one, other] = [redlockOf(version, [client(world)]), redlockOf(version, [client(world)])];
    const lock = await take(one, ["k"], 1_000);
    world.locks.nowMs += 1_000;
    await take(other, ["k"], 1_000);
    await expect(lock.extend(1_000)).rejects.toThrow();
  });

  test("works over the nodes of one cluster", async () => {
    await using world = await DoorWorld.open();
    const servers = (): Redis[] => [client(world), client(world), client(world)];
    const [one, other] = [redlockOf(version, servers()), redlockOf(version, servers())];
    const lock = await take(one, ["a", "b"], 1_000);
    await expect(take(other, ["b"], 1_000)).rejects.toThrow();
    await release(await lock.extend(1_000));
    await release(await take(other, ["b"], 1_000));
  });
});

describe("redis-semaphore", () => {
  interface Held {
    acquire(): Promise<void>;
    tryAcquire(): Promise<boolean>;
    release(): Promise<void>;
  }
  type Make = new (...args: unknown[]) => Held;
  const { Mutex, Semaphore, MultiSemaphore } = require("redis-semaphore") as {
    readonly [Name in "Mutex" | "Semaphore" | "MultiSemaphore"]: Make;
  };
  const options = { lockTimeout: 1_000, acquireTimeout: 50, retryInterval: 5, refreshInterval: 0 };

  test("a mutex excludes", async () => {
    await using world = await DoorWorld.open();
    const [one, other] = [1, 2].map(() => new Mutex(client(world), "k", options));
    await one?.acquire();
    expect(await other?.tryAcquire()).toBe(false);
    await one?.release();
    await other?.acquire();
    await other?.release();
  });

  test("a semaphore has as many holders as permits", async () => {
    await using world = await DoorWorld.open();
    const held = [1, 2, 3].map(() => new Semaphore(client(world), "k", 2, options));
    await held[0]?.acquire();
    await held[1]?.acquire();
    expect(await held[2]?.tryAcquire()).toBe(false);
    await held[0]?.release();
    expect(await held[2]?.tryAcquire()).toBe(true);
  });

  test("one holder may have several permits", async () => {
    await using world = await DoorWorld.open();
    const held = [1, 2].map(() => new MultiSemaphore(client(world), "k", 3, 2, options));
    await held[0]?.acquire();
    expect(await held[1]?.tryAcquire()).toBe(false);
    await held[0]?.release();
    expect(await held[1]?.tryAcquire()).toBe(true);
  });
});

const PYTHON = `
import redis, sys
client = redis.Redis(port=int(sys.argv[1]))
lock = client.lock("k", timeout=10)
assert lock.acquire(blocking=False)
other = client.lock("k", timeout=10, blocking_timeout=0.05)
assert not other.acquire()
assert lock.owned() and lock.locked()
assert lock.extend(5)
assert lock.reacquire()
lock.release()
with client.lock("k", timeout=10):
    assert not other.acquire(blocking=False)
assert other.acquire(blocking=False)
try:
    client.lock("endless").acquire()
except redis.exceptions.ResponseError as error:
    print(error)
`;

test("Lock of redis-py works, and is told that it needs a timeout", async (context) => {
  await using world = await DoorWorld.open();
  const found = await python(world.door.port);
  if (found === undefined) return context.skip("python3 has no redis");
  expect(found).toMatch(/^NOHOLDFAST a lock without an expiry would outlive the process/);
});

/** What it prints; `undefined`: the library is not installed. */
function python(port: number): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    execFile("/usr/bin/python3", ["-c", PYTHON, String(port)], (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else if (stderr.includes("No module named 'redis'")) resolve(undefined);
      else reject(new Error(stderr));
    });
  });
}
