/** Redis doors of three real nodes: clients that ask sentinels, the loss of the node they use. */
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { freePorts } from "../../../lab/free-ports.js";
import { type ClusterProcess, startCluster } from "../../e2e/world/cluster-process.js";

const require = createRequire(import.meta.url);

interface Lock {
  readonly value: string;
  unlock(): Promise<unknown>;
}
const Redlock = require("redlock") as new (
  servers: readonly Redis[],
  options: object,
) => { lock(key: string, ttlMs: number): Promise<Lock> };

interface RedisCluster {
  readonly cluster: ClusterProcess;
  /** The port of each node, in the order of their ids. */
  readonly ports: readonly number[];
}

async function startRedisCluster(): Promise<RedisCluster> {
  const ports = await freePorts(3);
  const cluster = await startCluster({
    argumentsOf: (id) => [`--redis-listen=127.0.0.1:${ports[id - 1]}`],
  });
  return { cluster, ports };
}

function sentinelClient(ports: readonly number[]): Redis {
  const redis = new Redis({
    sentinels: ports.map((port) => ({ host: "127.0.0.1", port })),
    name: "mymaster",
    sentinelRetryStrategy: () => 50,
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
  });
  redis.on("error", () => {});
  return redis;
}

/** What each of these nodes answers when it is asked for the master. */
async function mastersOf(ports: readonly number[]): Promise<readonly string[]> {
  const asked = ports.map(async (port) => {
    const redis = new Redis({ port, retryStrategy: () => null, maxRetriesPerRequest: 0 });
    redis.on("error", () => {});
    try {
      return String(await redis.call("SENTINEL", "get-master-addr-by-name", "mymaster"));
    } catch {
      return "unreachable";
    } finally {
      redis.disconnect();
    }
  });
  return Promise.all(asked);
}

test("all nodes name the leader, and clients of sentinels follow it when it is killed", async () => {
  const { cluster, ports } = await startRedisCluster();
  await using _ = cluster;
  const leader = await cluster.leader();
  const portOf = (id: number): number => ports[id - 1] as number;
  const named = `127.0.0.1,${portOf(leader.id)}`;
  await expect.poll(() => mastersOf(ports), { timeout: 20_000 }).toEqual([named, named, named]);

  const redis = sentinelClient(ports);
  const redlock = new Redlock([redis], { retryCount: -1, retryDelay: 50 });
  const kept = await redlock.lock("kept", 60_000);
  const token = await redis.call("HOLDFAST.TOKEN", "kept", kept.value);
  await leader.kill();
  const lock = await redlock.lock("after", 60_000);
  expect(await redis.get("kept")).toBe(kept.value);
  expect(await redis.call("HOLDFAST.TOKEN", "kept", kept.value)).toBe(token);
  const next = await cluster.leader();
  const others = ports.filter((port) => port !== portOf(leader.id));
  const nextNamed = `127.0.0.1,${portOf(next.id)}`;
  await expect.poll(() => mastersOf(others), { timeout: 20_000 }).toEqual([nextNamed, nextNamed]);
  await lock.unlock();
  await kept.unlock();
  expect(await redis.get("kept")).toBeNull();
  redis.disconnect();
});

test("redlock excludes while leaders are killed, over sentinels and over all nodes at once", async () => {
  const { cluster, ports } = await startRedisCluster();
  await using _ = cluster;
  const all = ports.map((port) => {
    const redis = new Redis({ port, retryStrategy: () => 50, maxRetriesPerRequest: 1 });
    redis.on("error", () => {});
    return redis;
  });
  const chosen = [1, 2, 3].map(() => sentinelClient(ports));
  const options = { retryCount: 200, retryDelay: 20, retryJitter: 20 };
  const lockers = [
    new Redlock(all, options),
    ...chosen.map((redis) => new Redlock([redis], options)),
  ];
  let inside = 0;
  let overlaps = 0;
  let cycles = 0;
  let isWorking = true;
  const work = lockers.map(async (redlock) => {
    while (isWorking) {
      let lock: Lock;
      try {
        // Longer than any pause of this test, so that no lock is lost by its time.
        lock = await redlock.lock("shared", 30_000);
      } catch {
        continue;
      }
      inside += 1;
      if (inside > 1) overlaps += 1;
      await delay(1);
      inside -= 1;
      cycles += 1;
      // A release whose answer is lost may have to be repeated; afterwards it says that it is not held.
      for (let tries = 0; tries < 100; tries++) {
        try {
          await lock.unlock();
          break;
        } catch {
          await delay(20);
        }
      }
    }
  });
  for (let kills = 0; kills < 3; kills++) {
    const before = cycles;
    const leader = await cluster.leader();
    await leader.kill();
    await expect.poll(() => cycles, { timeout: 40_000 }).toBeGreaterThan(before + 20);
    await leader.start();
  }
  isWorking = false;
  await Promise.all(work);
  expect(overlaps).toBe(0);
  for (const redis of [...all, ...chosen]) redis.disconnect();
});

const PYTHON = `
import sys, time
from redis.sentinel import Sentinel
sentinel = Sentinel([("127.0.0.1", int(port)) for port in sys.argv[1:]], socket_timeout=2)
master = sentinel.master_for("mymaster", socket_timeout=10)
lock = master.lock("k", timeout=60)
assert lock.acquire()
print(sentinel.discover_master("mymaster")[1], flush=True)
sys.stdin.readline()
for attempt in range(100):
    try:
        assert lock.owned()
        break
    except Exception as error:
        time.sleep(0.1)
lock.release()
print(sentinel.discover_master("mymaster")[1], flush=True)
`;

test("Sentinel of redis-py finds the next leader", async (context) => {
  const { cluster, ports } = await startRedisCluster();
  await using _ = cluster;
  const leader = await cluster.leader();
  const named = `127.0.0.1,${ports[leader.id - 1]}`;
  await expect.poll(() => mastersOf(ports), { timeout: 20_000 }).toEqual([named, named, named]);
  let output = "";
  const lines = (): string[] => output.split("\n").slice(0, -1);
  const child = execFile("/usr/bin/python3", ["-c", PYTHON, ...ports.map(String)], () => {});
  child.stdout?.on("data", (text: string) => {
    output += text;
  });
  let errors = "";
  child.stderr?.on("data", (text: string) => {
    errors += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  await Promise.race([expect.poll(() => lines().length, { timeout: 20_000 }).toBe(1), ended]);
  if (errors.includes("No module named 'redis'")) return context.skip("python3 has no redis");
  expect(lines()).toEqual([String(ports[leader.id - 1])]);
  await leader.kill();
  child.stdin?.write("\n");
  expect([await ended, errors]).toEqual([0, ""]);
  expect(lines()[1]).toBe(String(ports[(await cluster.leader()).id - 1]));
});
