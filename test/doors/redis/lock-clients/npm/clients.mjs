/**
 * What one user does with each client. A call answers whether it came about, and fails if that is not known. Several
 * addresses are the nodes of one cluster.
 */
import { createRequire } from "node:module";
import { setImmediate as soon } from "node:timers/promises";
import { promisify } from "node:util";
import { Redlock } from "@redis-kit/lock";
import Redis from "ioredis";
import { createClient } from "redis";
import { createClient as createClient4 } from "redis4";
import { tryLock } from "simple-redis-mutex";

const require = createRequire(import.meta.url);

/** The version that ioredis-lock is made for. It asks the nodes as sentinels if there are several. */
function ioredis(addresses) {
  const [servers, options] = [
    addresses.map((address) => {
      const [host, port] = address.split(":");
      return { host, port: Number(port) };
    }),
    { retryStrategy: () => 50, sentinelRetryStrategy: () => 50 },
  ];
  const redis = new Redis(
    servers.length === 1
      ? { ...options, ...servers[0] }
      : { ...options, sentinels: servers, name: "mymaster" },
  );
  redis.on("error", () => {});
  return redis;
}

async function nodeRedis(create, [address]) {
  const redis = create({ url: `redis://${address}` });
  redis.on("error", () => {});
  await redis.connect();
  return redis;
}

function ioredisLock(addresses, key, ttlMs) {
  const { createLock } = require("ioredis-lock");
  const lock = createLock(ioredis(addresses), { timeout: ttlMs });
  // Its errors have no causes.
  const OTHERS = /^(?:Could not acquire lock|Lock has not been acquired|Lock on .* had expired)/;
  const isMine = async (promise) => {
    try {
      await promise;
      return true;
    } catch (error) {
      if (OTHERS.test(error.message)) return false;
      throw error;
    }
  };
  return {
    take: () => isMine(lock.acquire(key)),
    extend: () => isMine(lock.extend(ttlMs)),
    release: () => isMine(lock.release()),
  };
}

function warlock([address], key, ttlMs) {
  const { createClient: createClient3 } = require("redis3");
  const redis = createClient3({ url: `redis://${address}` });
  redis.on("error", () => {});
  const locks = require("node-redis-warlock")(redis);
  let id;
  return {
    take: () =>
      new Promise((resolve, reject) => {
        locks.lock(key, ttlMs, (error, unlock, value) => {
          if (error) return reject(error);
          if (unlock) id = value;
          resolve(unlock !== false);
        });
      }),
    extend: async () => (await locks.touch(key, id, ttlMs)) === "OK",
    release: async () => (await promisify(locks.unlock)(key, id)) === 1,
  };
}

async function redisKitLock(addresses, key, ttlMs) {
  const redis = await nodeRedis(createClient, addresses);
  const redlock = new Redlock([redis], { maxRetryAttempts: 0 });
  let lock = null;
  // It does not say whether a server answered.
  const whileConnected = (call) => async () => {
    await redis.ping();
    return call();
  };
  return {
    take: whileConnected(async () => {
      const taken = await redlock.acquire(key, ttlMs);
      lock = taken ?? lock;
      return taken !== null;
    }),
    extend: whileConnected(() => lock.extend(ttlMs)),
    release: whileConnected(() => lock.release()),
  };
}

/** It asks until it has the lock, and never gives up. */
async function redisLock(addresses, key, ttlMs) {
  const redis = await nodeRedis(createClient4, addresses);
  const lock = require("redis-lock")(redis);
  let taking;
  let release;
  return {
    take: async () => {
      taking ??= lock(key, ttlMs);
      // The answer to its last attempt has come before this one.
      const taken = await Promise.race([taking, redis.ping().then(() => soon(undefined))]);
      if (taken === undefined) return false;
      taking = undefined;
      release = taken;
      return true;
    },
    release: async () => (await release()) === 1,
  };
}

async function simpleRedisMutex(addresses, key, ttlMs) {
  const redis = await nodeRedis(createClient, addresses);
  let release = async () => {};
  return {
    take: async () => {
      const [isTaken, released] = await tryLock(redis, key, { timeout: ttlMs });
      if (isTaken) release = released;
      return isTaken;
    },
    release: async () => {
      await release();
      return "done";
    },
  };
}

export const CLIENTS = {
  "@redis-kit/lock": redisKitLock,
  "ioredis-lock": ioredisLock,
  "node-redis-warlock": warlock,
  "redis-lock": redisLock,
  "simple-redis-mutex": simpleRedisMutex,
};
