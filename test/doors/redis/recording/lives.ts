/**
 * The lives of lock clients: each uses an unchanged client as its users do, and reports what the
 * client answered. The order of its commands is always the same.
 */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { Redis } from "ioredis";

const require = createRequire(import.meta.url);
const run = promisify(execFile);

export interface LifeServer {
  readonly port: number;
  /** Resolves when the lock of this key has expired. */
  expired(key: string): Promise<void>;
  /** Breaks the connections of the client. */
  breakConnections(): void;
}

export interface Life {
  readonly client: string;
  readonly what: string;
  /** Resolves to what the client told its user; `undefined`: it is not installed. */
  readonly live: (server: LifeServer) => Promise<readonly string[] | undefined>;
}

/** What a call of a client comes to, in a word. */
async function outcome(call: Promise<unknown>): Promise<string> {
  try {
    const value = await call;
    if (typeof value === "boolean" || typeof value === "number" || value === null)
      return `${value}`;
    return typeof value === "string" && value.length < 10 ? value : "done";
  } catch (error) {
    return (error as Error).name;
  }
}

async function withRedis<T>(
  { port }: LifeServer,
  use: (redis: Redis) => Promise<T>,
  options: object = {},
): Promise<T> {
  const redis = new Redis({ port, host: "127.0.0.1", retryStrategy: () => 5, ...options });
  redis.on("error", () => {});
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

const TTL_MS = 60_000;
/** Soon over, and long enough to be seen. */
const SHORT_MS = 400;

interface AnyLock {
  readonly value: string;
  extend(ttlMs: number): Promise<AnyLock>;
  release?(): Promise<unknown>;
  unlock?(): Promise<unknown>;
}

type Take = (keys: string[], ttlMs: number) => Promise<AnyLock>;

/** The life of each library that is called redlock. */
async function redlockLife(
  server: LifeServer,
  take: Take,
  contend: Take,
): Promise<readonly string[]> {
  const release = (lock: AnyLock): Promise<unknown> =>
    (lock.release?.() ?? lock.unlock?.()) as Promise<unknown>;
  const told: string[] = [];
  const tell = async (call: Promise<unknown>): Promise<void> => {
    told.push(await outcome(call));
  };
  const first = await take(["one"], TTL_MS);
  await tell(contend(["one"], TTL_MS));
  const longer = await first.extend(TTL_MS);
  await tell(contend(["one"], TTL_MS));
  await tell(release(longer));
  const several = await take(["a", "b", "c"], TTL_MS);
  await tell(contend(["c"], TTL_MS));
  await tell(contend(["c", "d"], TTL_MS));
  const fourth = await take(["d"], TTL_MS);
  await tell(release(fourth));
  await tell(release(await several.extend(TTL_MS)));
  await tell(release(await contend(["c", "b"], TTL_MS)));
  const short = await take(["short"], SHORT_MS);
  await server.expired("short");
  await tell(short.extend(TTL_MS));
  const next = await contend(["short"], TTL_MS);
  await tell(release(short));
  server.breakConnections();
  await tell(next.extend(TTL_MS));
  await tell(release(next));
  return told;
}

interface RedlockClass {
  new (
    servers: readonly Redis[],
    options: object,
  ): {
    lock(keys: string[], ttlMs: number): Promise<AnyLock>;
    acquire(keys: string[], ttlMs: number): Promise<AnyLock>;
  };
}

function redlockOf(name: string, method: "lock" | "acquire"): Life["live"] {
  return (server) =>
    withRedis(server, async (redis) => {
      const module = require(name) as RedlockClass & {
        readonly default?: RedlockClass;
        readonly Redlock?: RedlockClass;
      };
      const Redlock = module.default ?? module.Redlock ?? module;
      const options = { retryCount: 0, automaticExtensionThreshold: 1 };
      const [one, other] = [new Redlock([redis], options), new Redlock([redis], options)];
      return redlockLife(
        server,
        (keys, ttlMs) => one[method](keys, ttlMs),
        (keys, ttlMs) => other[method](keys, ttlMs),
      );
    });
}

interface Semaphore {
  acquire(): Promise<void>;
  tryAcquire(): Promise<boolean>;
  release(): Promise<void>;
  /** What it does by itself at a third of its time. */
  _refresh(): Promise<boolean>;
}

function semaphoreLife(kind: string, ...counts: readonly number[]): Life["live"] {
  return (server) =>
    withRedis(server, async (redis) => {
      const classes = require("redis-semaphore") as Record<
        string,
        new (
          ...args: unknown[]
        ) => Semaphore
      >;
      const Kind = classes[kind];
      if (Kind === undefined) throw new Error(`redis-semaphore has no ${kind}`);
      const servers = kind.startsWith("Redlock") ? [redis] : redis;
      const options = { acquireAttemptsLimit: 2, retryInterval: 1, refreshInterval: 0 };
      const make = (key: string, lockTimeout: number): Semaphore =>
        new Kind(servers, key, ...counts, { ...options, lockTimeout });
      const told: string[] = [];
      const tell = async (call: Promise<unknown>): Promise<void> => {
        told.push(await outcome(call));
      };
      const [one, two, three] = [1, 2, 3].map(() => make("k", TTL_MS)) as [
        Semaphore,
        Semaphore,
        Semaphore,
      ];
      await tell(one.acquire());
      await tell(two.tryAcquire());
      await tell(three.tryAcquire());
      await tell(one._refresh());
      await tell(three._refresh());
      await tell(one.release());
      await tell(three.acquire());
      await tell(one._refresh());
      await tell(one.release());
      await tell(two.release());
      await tell(three.release());
      const short = make("short", SHORT_MS);
      await tell(short.acquire());
      await server.expired(kind.endsWith("Mutex") ? "mutex:short" : "semaphore:short");
      await tell(short._refresh());
      await tell(short.release());
      server.breakConnections();
      await tell(one.acquire());
      await tell(one.release());
      return told;
    });
}

interface Adapter {
  setNX(key: string, value: string, ttlMs: number): Promise<string | null>;
  get(key: string): Promise<string | null>;
  delIfMatch(key: string, value: string): Promise<boolean>;
  extendIfMatch(key: string, value: string, ttlMs: number): Promise<boolean>;
  atomicExtend(key: string, value: string, leastMs: number, ttlMs: number): Promise<object>;
  batchSetNX(keys: string[], values: string[], ttlMs: number): Promise<object>;
  inspect(key: string): Promise<object | null>;
}

interface UniversalLock {
  acquire(): Promise<object>;
  release(handle: object): Promise<boolean>;
  extend(handle: object, ttlMs: number): Promise<boolean>;
  isLocked?(key: string): Promise<boolean>;
}

async function universalLife(adapter: Adapter, server: LifeServer): Promise<readonly string[]> {
  const { createLock } = require("redlock-universal") as {
    createLock(options: object): UniversalLock;
  };
  const told: string[] = [];
  const tell = async (call: Promise<unknown>): Promise<void> => {
    told.push(await outcome(call));
  };
  const results = async (call: Promise<object | null>): Promise<void> => {
    const shown = JSON.stringify(await call, (name, value: unknown) =>
      typeof value === "number" && value > 99 ? `${name} above 99` : value,
    );
    told.push(shown.replaceAll(/\d{3,} ?ms/gi, "some ms"));
  };
  const options = { adapter, key: "lock", ttl: TTL_MS, retryAttempts: 0, circuitBreaker: false };
  const [one, other] = [createLock(options), createLock(options)];
  const handle = await one.acquire();
  await tell(other.acquire());
  await tell(one.extend(handle, TTL_MS));
  await tell(one.release(handle));
  await tell(one.release(handle));
  const [mine, others] = ["0123456789abcdef".repeat(2), "fedcba9876543210".repeat(2)];
  await tell(adapter.setNX("k", mine, TTL_MS));
  await tell(adapter.setNX("k", others, TTL_MS));
  await results(adapter.inspect("k"));
  await results(adapter.inspect("none"));
  await results(adapter.atomicExtend("k", mine, 1_000, TTL_MS));
  await results(adapter.atomicExtend("k", mine, TTL_MS * 2, TTL_MS));
  await results(adapter.atomicExtend("k", others, 1_000, TTL_MS));
  await results(adapter.atomicExtend("none", mine, 1_000, TTL_MS));
  await tell(adapter.extendIfMatch("k", others, TTL_MS));
  await tell(adapter.delIfMatch("k", others));
  await results(adapter.batchSetNX(["x", "y"], [mine, others], TTL_MS));
  await results(adapter.batchSetNX(["w", "y"], [mine, others], TTL_MS));
  await results(adapter.batchSetNX(["v"], [mine], TTL_MS));
  await tell(adapter.get("w"));
  await tell(adapter.delIfMatch("x", mine));
  await tell(adapter.delIfMatch("y", others));
  await tell(adapter.delIfMatch("v", mine));
  await tell(adapter.delIfMatch("k", mine));
  await tell(adapter.setNX("short", mine, SHORT_MS));
  await server.expired("short");
  await tell(adapter.extendIfMatch("short", mine, TTL_MS));
  return told;
}

const universalByIoredis: Life["live"] = (server) =>
  withRedis(server, (redis) => {
    const { IoredisAdapter } = require("redlock-universal") as {
      IoredisAdapter: new (redis: Redis) => Adapter;
    };
    return universalLife(new IoredisAdapter(redis), server);
  });

interface NodeRedis {
  connect(): Promise<unknown>;
  destroy(): void;
  on(event: "error", listener: () => void): unknown;
  set(key: string, value: string, options: object): Promise<unknown>;
  get(key: string): Promise<unknown>;
  exists(key: string): Promise<unknown>;
  eval(text: string, options: object): Promise<unknown>;
}

async function withNodeRedis<T>(
  { port }: LifeServer,
  use: (redis: NodeRedis) => Promise<T>,
): Promise<T> {
  const { createClient } = require("redis") as { createClient(options: object): NodeRedis };
  const redis = createClient({ socket: { host: "127.0.0.1", port, reconnectStrategy: 5 } });
  redis.on("error", () => {});
  await redis.connect();
  try {
    return await use(redis);
  } finally {
    redis.destroy();
  }
}

const universalByNodeRedis: Life["live"] = (server) =>
  withNodeRedis(server, (redis) => {
    const { NodeRedisAdapter } = require("redlock-universal") as {
      NodeRedisAdapter: new (redis: NodeRedis) => Adapter;
    };
    return universalLife(new NodeRedisAdapter(redis), server);
  });

const RELEASE = `if redis.call("get",KEYS[1]) == ARGV[1] then
  return redis.call("del",KEYS[1])
else
  return 0
end`;

const nodeRedisByHand: Life["live"] = (server) =>
  withNodeRedis(server, async (redis) => {
    const told: string[] = [];
    const tell = async (call: Promise<unknown>): Promise<void> => {
      told.push(await outcome(call));
    };
    const taking = { condition: "NX", expiration: { type: "PX", value: TTL_MS } };
    const release = (value: string): Promise<unknown> =>
      redis.eval(RELEASE, { keys: ["k"], arguments: [value] });
    await tell(redis.set("k", "mine", taking));
    await tell(redis.set("k", "mine", taking));
    await tell(redis.set("k", "other", taking));
    await tell(redis.get("k"));
    await tell(redis.exists("k"));
    await tell(release("other"));
    await tell(release("mine"));
    await tell(redis.get("k"));
    return told;
  });

const ioredisByHand: Life["live"] = (server) =>
  withRedis(
    server,
    async (redis) => {
      const told: string[] = [];
      const tell = async (call: Promise<unknown>): Promise<void> => {
        told.push(await outcome(call));
      };
      await tell(redis.set("k", "mine", "PX", TTL_MS, "NX"));
      await tell(redis.set("k", "mine", "EX", 60, "NX"));
      await tell(redis.set("k", "mine", "PX", TTL_MS, "XX"));
      await tell(redis.set("free", "mine", "PX", TTL_MS, "XX"));
      await tell(redis.get("k"));
      await tell(redis.get("free"));
      await tell(redis.pttl("free"));
      await tell(redis.ttl("free"));
      await tell(redis.exists("k"));
      await tell(redis.exists("free"));
      await tell(redis.eval(RELEASE, 1, "k", "other"));
      await tell(redis.eval(RELEASE, 1, "k", "mine"));
      await tell(redis.eval(RELEASE, 1, "k", "mine"));
      return told;
    },
    { db: 3, connectionName: "by-hand" },
  );

/** For Debian's python3-redis, which other Pythons do not see. */
const PYTHON = `
import os, redis, sys
client = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]))
def tell(call):
    try: print(call(), flush=True)
    except Exception as error: print(type(error).__name__, flush=True)
lock = client.lock("k", timeout=60)
other = client.lock("k", timeout=60)
tell(lambda: lock.acquire(blocking=False))
tell(lambda: other.acquire(blocking=False))
tell(lock.locked)
tell(lock.owned)
tell(other.owned)
tell(lambda: lock.extend(30))
tell(lambda: lock.extend(40, replace_ttl=True))
tell(lock.reacquire)
tell(lock.release)
tell(lock.release)
tell(lock.locked)
with client.lock("k", timeout=60):
    tell(lambda: other.acquire(blocking=False))
tell(lambda: other.acquire(blocking=False))
short = client.lock("short", timeout=0.4)
tell(lambda: short.acquire(blocking=False))
sys.stdin.readline()
tell(short.reacquire)
tell(lambda: short.extend(10))
tell(short.release)
tell(other.release)
`;
const PYTHON_FILE = "/usr/bin/python3";

const redisPy: Life["live"] = async (server) => {
  if ((await versionOfRedisPy()) === undefined) return undefined;
  const running = run(PYTHON_FILE, ["-c", PYTHON, String(server.port)]);
  const { stdin, stdout } = running.child;
  stdout?.on("data", (text: string) => {
    told += text;
    // It has printed this many answers when it waits.
    if (!isTold && told.split("\n").length > 14) {
      isTold = true;
      void server.expired("short").then(() => stdin?.end("\n"));
    }
  });
  let told = "";
  let isTold = false;
  const { stdout: all } = await running;
  return all.trim().split("\n");
};

async function versionOfRedisPy(): Promise<string | undefined> {
  try {
    const { stdout } = await run(PYTHON_FILE, ["-c", "import redis; print(redis.__version__)"]);
    return stdout.trim();
  } catch {
    return undefined;
  }
}

const redisCli: Life["live"] = async ({ port }) => {
  const told: string[] = [];
  for (const words of [
    ["SET", "k", "mine", "NX", "PX", "60000"],
    ["SET", "k", "other", "NX", "PX", "60000"],
    ["GET", "k"],
    ["EXISTS", "k"],
    ["EVAL", RELEASE, "1", "k", "other"],
    ["EVAL", RELEASE, "1", "k", "mine"],
    ["PTTL", "k"],
    ["-3", "SET", "k", "mine", "NX", "EX", "60"],
    ["-3", "GET", "k"],
    ["-3", "GET", "none"],
    ["-3", "EVAL", RELEASE, "1", "k", "mine"],
  ]) {
    try {
      const { stdout } = await run("redis-cli", ["-p", String(port), ...words]);
      told.push(stdout.trim());
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  }
  return told;
};

export const LIVES: readonly Life[] = [
  life("redlock", "locks of one key and of several", redlockOf("redlock", "lock")),
  life("redlock5", "locks of one key and of several", redlockOf("redlock5", "acquire")),
  life(
    "@sesamecare-oss/redlock",
    "locks of one key and of several",
    redlockOf("@sesamecare-oss/redlock", "acquire"),
  ),
  life("redis-semaphore", "Mutex", semaphoreLife("Mutex")),
  life("redis-semaphore", "Semaphore", semaphoreLife("Semaphore", 2)),
  life("redis-semaphore", "MultiSemaphore", semaphoreLife("MultiSemaphore", 4, 2)),
  life("redis-semaphore", "RedlockMutex", semaphoreLife("RedlockMutex")),
  life("redis-semaphore", "RedlockSemaphore", semaphoreLife("RedlockSemaphore", 2)),
  life("redis-semaphore", "RedlockMultiSemaphore", semaphoreLife("RedlockMultiSemaphore", 4, 2)),
  life("redlock-universal", "by ioredis", universalByIoredis),
  life("redlock-universal", "by node-redis", universalByNodeRedis),
  life("ioredis", "by hand, in another database", ioredisByHand),
  life("redis", "by hand", nodeRedisByHand),
  { client: "redis-py", what: "Lock", live: redisPy },
  { client: "redis-cli", what: "by hand", live: redisCli },
];

function life(client: string, what: string, live: Life["live"]): Life {
  return { client, what, live };
}
