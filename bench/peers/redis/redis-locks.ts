/**
 * A lock in one Redis, as in its documentation: SET with NX and PX and a random value, and a script
 * that deletes the key only if it still has that value. A request that finds the lock taken waits
 * for a message on a channel, as in Redisson, which is far faster than polling; the channel is used
 * only if workers compete, so that it costs nothing otherwise.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { loadPackage } from "../load-package.js";
import type { GiveBack, PeerClient } from "../peer.js";
import type { PeerLoad } from "../peer-load.js";
import { LocalTurns, Wakeups } from "../wake-ups.js";

const HOST = "127.0.0.1";
/** A lock is held only for a moment, so that none has to be renewed. */
const LEASE_MS = 30_000;
const CHANNEL = "released";

const RELEASE = `
if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`;
const RELEASE_AND_TELL = `
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("publish", "${CHANNEL}", KEYS[1])
return redis.call("del", KEYS[1])`;

type ScriptedRedis = Redis & {
  release(key: string, value: string): Promise<number>;
};

/** One connection to one Redis, and locks on it without waiting. */
export class RedisKeys {
  readonly #redis: ScriptedRedis;
  readonly #prefix = randomBytes(8).toString("hex");
  #count = 0;

  constructor(redis: ScriptedRedis) {
    this.#redis = redis;
  }

  /** A unique value. */
  draw(): string {
    this.#count += 1;
    return `${this.#prefix}-${this.#count}`;
  }

  /** Whether the key has this value now. */
  async set(key: string, value: string): Promise<boolean> {
    return (await this.#redis.set(key, value, "PX", LEASE_MS, "NX")) === "OK";
  }

  /** Whether the key had this value until now. */
  async delete(key: string, value: string): Promise<boolean> {
    return (await this.#redis.release(key, value)) === 1;
  }

  close(): void {
    this.#redis.disconnect();
  }
}

export async function connectKeys(port: number, load: PeerLoad): Promise<RedisKeys> {
  const redis = await open(port, load);
  const lua = load.isShared ? RELEASE_AND_TELL : RELEASE;
  redis.defineCommand("release", { numberOfKeys: 1, lua });
  return new RedisKeys(redis as ScriptedRedis);
}

async function open(port: number, { connections, workers }: PeerLoad): Promise<Redis> {
  const { Redis } = await loadPackage("ioredis", () => import("ioredis"));
  const redis = new Redis({
    host: HOST,
    port,
    lazyConnect: true,
    // Failures are counted rather than repeated.
    maxRetriesPerRequest: 0,
    // Commands of one turn are sent together. A single worker would only wait for the end of the
    // turn.
    enableAutoPipelining: workers > connections,
  });
  redis.on("error", () => undefined);
  await redis.connect();
  return redis;
}

class RedisLocks implements PeerClient {
  readonly #keys: RedisKeys;
  /** Hears of releases; `undefined` if workers do not compete. */
  readonly #subscriber: Redis | undefined;
  readonly #wakeups = new Wakeups();
  readonly #turns = new LocalTurns();

  constructor(keys: RedisKeys, subscriber: Redis | undefined) {
    this.#keys = keys;
    this.#subscriber = subscriber;
    subscriber?.on("message", (_channel: string, key: string) => this.#wakeups.announce(key));
  }

  async acquire(key: string): Promise<GiveBack> {
    const value = this.#keys.draw();
    if (this.#subscriber === undefined) {
      if (!(await this.#keys.set(key, value))) throw new Error(`${key} has another holder`);
      return () => this.#keys.delete(key, value);
    }
    await this.#turns.take(key);
    try {
      for (;;) {
        const count = this.#wakeups.countOf(key);
        if (await this.#keys.set(key, value)) break;
        await this.#wakeups.after(key, count);
      }
    } catch (error) {
      this.#turns.pass(key);
      throw error;
    }
    return async () => {
      try {
        return await this.#keys.delete(key, value);
      } finally {
        this.#turns.pass(key);
      }
    };
  }

  async close(): Promise<void> {
    this.#keys.close();
    this.#subscriber?.disconnect();
  }
}

export async function connectRedis(port: number, load: PeerLoad): Promise<PeerClient[]> {
  return Promise.all(
    Array.from({ length: load.connections }, async () => {
      const keys = await connectKeys(port, load);
      if (!load.isShared) return new RedisLocks(keys, undefined);
      const subscriber = await open(port, { ...load, workers: 0 });
      await subscriber.subscribe(CHANNEL);
      return new RedisLocks(keys, subscriber);
    }),
  );
}
