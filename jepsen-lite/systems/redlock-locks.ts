/**
 * The npm package `redlock`, unchanged, over `ioredis`, which finds the master by sentinels. The same
 * client works on Redis with failover and on the Redis door of Holdfast. A lock has no token; the
 * random value by which its holder proves itself names the hold in the history. How long a holder is
 * certain of its lock is what the package says: its `expiration`.
 */
import { createRequire } from "node:module";
import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import Redlock, { ExecutionError, type Lock, ResourceLockedError } from "redlock5";
import type { HoldfastError } from "../sdk.js";
import { LeasedLock, refused, unanswered } from "../workloads/leases/leased-lock.js";
import type { HeldLock, PlainLocks } from "../workloads/workload.js";
import type { Discovery } from "./system.js";

/** The usual name of a master, which Holdfast answers to as well. */
export const MASTER = "mymaster";
const ANSWER_MS_MAX = 1_000;
const RECONNECT_MS = 50;
const ASK_AGAIN_MS = 25;
/** As many digits of a value as an exact number has room for. */
const NAME_DIGITS = 12;

/** Why the client cannot be used, in one line; `undefined`: it can. */
export function lackOfRedlock(): string | undefined {
  try {
    createRequire(import.meta.url).resolve("redlock5");
    return undefined;
  } catch {
    return "the package redlock 5 is not installed: run npm install";
  }
}

export class RedlockLocks implements PlainLocks {
  readonly session = undefined;
  readonly #redis: Redis;
  readonly #redlock: Redlock;
  readonly #ttlMs: number;

  constructor(discovery: Discovery, ttlMs: number) {
    this.#ttlMs = ttlMs;
    this.#redis = connectBySentinels(discovery);
    // Each attempt is one request, so that it is known what was asked.
    this.#redlock = new Redlock([this.#redis], { retryCount: 0 });
  }

  async acquire(key: string, { waitMs }: { readonly waitMs: number }): Promise<HeldLock> {
    const endMs = performance.now() + waitMs;
    for (;;) {
      const lock = await this.#attempt(key);
      if (lock !== undefined) return this.#held(key, lock);
      if (performance.now() >= endMs) throw refused(key, waitMs);
      await delay(ASK_AGAIN_MS);
    }
  }

  async close(): Promise<void> {
    this.#redis.disconnect();
  }

  /** `undefined`: another client has it. */
  async #attempt(key: string): Promise<Lock | undefined> {
    try {
      return await this.#redlock.acquire([key], this.#ttlMs);
    } catch (error) {
      const reasons = await reasonsOf(error);
      if (reasons.every((reason) => reason instanceof ResourceLockedError)) return undefined;
      throw failed(key, reasons);
    }
  }

  #held(key: string, lock: Lock): HeldLock {
    const token = Number.parseInt(lock.value.slice(0, NAME_DIGITS), 16);
    const untilMs = performance.now() + lock.expiration - Date.now();
    return new LeasedLock({ token, untilMs, giveBack: () => this.#giveBack(key, lock) });
  }

  async #giveBack(key: string, lock: Lock) {
    try {
      await lock.release();
      return { released: true } as const;
    } catch (error) {
      const reasons = await reasonsOf(error);
      const isGone = reasons.every((reason) => reason instanceof ResourceLockedError);
      // An earlier, unanswered sending of the same release may have ended it.
      throw isGone ? unanswered(key, "it was no longer held") : failed(key, reasons);
    }
  }
}

/** What each server answered that did not agree. */
async function reasonsOf(error: unknown): Promise<readonly Error[]> {
  if (!(error instanceof ExecutionError)) throw error;
  const attempts = await Promise.all(error.attempts);
  return attempts.flatMap(({ votesAgainst }) => [...votesAgainst.values()]);
}

/** A replica refuses every write; anything else may have been carried out. */
function failed(key: string, reasons: readonly Error[]): HoldfastError {
  const isRefused = reasons.every(({ message }) => message.startsWith("READONLY"));
  return unanswered(key, reasons.map(({ message }) => message).join("; "), !isRefused);
}

function connectBySentinels({ sentinels, roads }: Discovery): Redis {
  const redis = new Redis({
    name: MASTER,
    sentinels: sentinels.map(addressOf),
    natMap: Object.fromEntries(Object.entries(roads).map(([from, to]) => [from, addressOf(to)])),
    sentinelRetryStrategy: () => RECONNECT_MS,
    sentinelCommandTimeout: ANSWER_MS_MAX,
    connectTimeout: ANSWER_MS_MAX,
    commandTimeout: ANSWER_MS_MAX,
    retryStrategy: () => RECONNECT_MS,
    maxRetriesPerRequest: null,
  });
  redis.on("error", () => undefined);
  return redis;
}

function addressOf(text: string): { host: string; port: number } {
  const [host = "", port] = text.split(":");
  return { host, port: Number(port) };
}
