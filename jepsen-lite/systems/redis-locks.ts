/**
 * A lock in Redis as in its documentation: `SET key value NX PX lease` with a unique value, and a
 * script that deletes the key only if it still has that value. A counter that is incremented with
 * each grant, in the same script, is the fencing token, as in Redisson's `RFencedLock`. A request
 * that finds the lock taken polls.
 */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { LeasedLock, refused, unanswered } from "../workloads/leases/leased-lock.js";
import type { HeldLock, PlainLocks } from "../workloads/workload.js";

const ANSWER_MS_MAX = 1_000;
const RECONNECT_MS = 50;
const ASK_AGAIN_MS = 25;
/** One for all keys, so that a token names one hold. */
const COUNTER = "tokens";

const TAKE = `
if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then
  return redis.call("incr", KEYS[2])
end
return 0`;
const GIVE_BACK = `
if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) end
return 0`;

type ScriptedRedis = Redis & {
  take(key: string, counter: string, value: string, leaseMs: number): Promise<number>;
  giveBack(key: string, value: string): Promise<number>;
};

export class RedisLocks implements PlainLocks {
  readonly session = undefined;
  readonly #endpoints: readonly string[];
  readonly #ttlMs: number;
  #redis: ScriptedRedis;

  /**
   * `endpoints`: the endpoints of the nodes, in the order of their ids. `primary`: the id of one of
   * them.
   */
  constructor(endpoints: readonly string[], primary: number, ttlMs: number) {
    this.#endpoints = endpoints;
    this.#ttlMs = ttlMs;
    this.#redis = connectTo(this.#endpointOf(primary));
  }

  /** Another node is the primary now. What it does not know of is lost, without a report. */
  follow(primary: number): void {
    this.#redis.disconnect();
    this.#redis = connectTo(this.#endpointOf(primary));
  }

  async acquire(key: string, { waitMs }: { readonly waitMs: number }): Promise<HeldLock> {
    const value = randomBytes(12).toString("hex");
    const endMs = performance.now() + waitMs;
    for (;;) {
      const askedMs = performance.now();
      const token = await this.#take(key, value);
      if (token > 0) {
        const untilMs = askedMs + this.#ttlMs;
        return new LeasedLock({ token, untilMs, giveBack: () => this.#giveBack(key, value) });
      }
      if (performance.now() >= endMs) throw refused(key, waitMs);
      await delay(ASK_AGAIN_MS);
    }
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }

  async #take(key: string, value: string): Promise<number> {
    try {
      return await this.#redis.take(key, COUNTER, value, this.#ttlMs);
    } catch (error) {
      // A replica refuses every write; anything else may have been carried out.
      if (error instanceof Error && error.message.includes("READONLY")) {
        throw unanswered(key, error, false);
      }
      this.#redis.giveBack(key, value).catch(() => undefined);
      throw unanswered(key, error);
    }
  }

  async #giveBack(key: string, value: string) {
    try {
      const deleted = await this.#redis.giveBack(key, value);
      if (deleted === 1) return { released: true } as const;
      return { released: false, reason: "cancelled" } as const;
    } catch (error) {
      throw unanswered(key, error);
    }
  }

  #endpointOf(id: number): string {
    const endpoint = this.#endpoints[id - 1];
    if (endpoint === undefined) throw new RangeError(`there is no node ${id}`);
    return endpoint;
  }
}

function connectTo(endpoint: string): ScriptedRedis {
  const [host = "", port] = endpoint.split(":");
  const redis = new Redis({
    host,
    port: Number(port),
    commandTimeout: ANSWER_MS_MAX,
    connectTimeout: ANSWER_MS_MAX,
    // Failures are recorded rather than repeated: a repetition could take the lock unseen.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => RECONNECT_MS,
  });
  redis.on("error", () => undefined);
  redis.defineCommand("take", { numberOfKeys: 2, lua: TAKE });
  redis.defineCommand("giveBack", { numberOfKeys: 1, lua: GIVE_BACK });
  return redis as ScriptedRedis;
}
