/**
 * The load of `holdfast bench`: workers that acquire and release locks, one after the other, each
 * as fast as the cluster answers. Ends when its time is over or its signal is aborted, whichever
 * comes first; every lock is released before it ends.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Client } from "../../src/index.js";
import { Latencies } from "./latencies.js";

/** Pause of a worker after a refused request. */
const AFTER_FAILURE_MS = 100;

export interface LoadPlan {
  readonly workers: number;
  readonly keys: number;
  readonly keyPrefix: string;
  readonly warmUpMs: number;
  readonly durationMs: number;
}

export interface LoadResult {
  /** False if it was stopped before its time was over. */
  readonly isWhole: boolean;
  /** Time measured, without the warm-up. */
  readonly elapsedMs: number;
  readonly cycles: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly acquire: Latencies;
  readonly release: Latencies;
}

export class LockLoad {
  readonly #clients: readonly Client[];
  readonly #plan: LoadPlan;
  readonly #acquire = new Latencies();
  readonly #release = new Latencies();
  readonly #failures = new Map<string, number>();
  #isMeasuring = false;
  #cycles = 0;

  constructor(clients: readonly Client[], plan: LoadPlan) {
    this.#clients = clients;
    this.#plan = plan;
  }

  /** Cycles measured so far. */
  get cycles(): number {
    return this.#cycles;
  }

  async run(signal: AbortSignal): Promise<LoadResult> {
    const { workers, warmUpMs, durationMs } = this.#plan;
    const over = new AbortController();
    const ending = AbortSignal.any([signal, over.signal]);
    const working = Array.from({ length: workers }, (_, index) => this.#work(index, ending));
    await settled(delay(warmUpMs, undefined, { signal }));
    this.#isMeasuring = true;
    const startedAtMs = performance.now();
    await settled(delay(durationMs, undefined, { signal }));
    this.#isMeasuring = false;
    const elapsedMs = performance.now() - startedAtMs;
    over.abort();
    await Promise.all(working);
    return {
      isWhole: !signal.aborted,
      elapsedMs,
      cycles: this.#cycles,
      failures: Object.fromEntries(this.#failures),
      acquire: this.#acquire,
      release: this.#release,
    };
  }

  async #work(index: number, ending: AbortSignal): Promise<void> {
    const { keys, keyPrefix } = this.#plan;
    const client = this.#clients[index % this.#clients.length];
    if (client === undefined) return;
    const key = `${keyPrefix}${index % keys}`;
    while (!ending.aborted) {
      try {
        await this.#cycle(client, key, ending);
      } catch (error) {
        if (ending.aborted) return;
        if (!(error instanceof HoldfastError)) throw error;
        this.#failures.set(error.code, (this.#failures.get(error.code) ?? 0) + 1);
        await settled(delay(AFTER_FAILURE_MS, undefined, { signal: ending }));
      }
    }
  }

  async #cycle(client: Client, key: string, ending: AbortSignal): Promise<void> {
    const askedAtMs = performance.now();
    const lock = await client.acquire(key, { signal: ending });
    const grantedAtMs = performance.now();
    await lock.release();
    if (!this.#isMeasuring) return;
    this.#cycles += 1;
    this.#acquire.record(grantedAtMs - askedAtMs);
    this.#release.record(performance.now() - grantedAtMs);
  }
}

/**
 * Resolves when the promise settles: because the time is over, or because its signal was aborted.
 */
async function settled(promise: Promise<unknown>): Promise<void> {
  await promise.catch(() => undefined);
}
