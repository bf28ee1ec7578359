/**
 * The workers: closed loops that acquire and release, each beginning its next cycle when the last
 * one is durable. They check what they are given: on one key the tokens must rise, and nobody may
 * be granted a lock that another worker of this process still holds.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, HoldfastError, type Lock } from "../src/index.js";
import { Histogram } from "./histogram.js";

/** After an error, so that a cluster that is down is not asked in a busy loop. */
const ERROR_PAUSE_MS = 50;

/** What the workers of one key know of it. */
interface KeyRecord {
  readonly key: string;
  lastToken: number;
  holder: Lock | undefined;
}

export interface LoopOptions {
  readonly clients: readonly Client[];
  readonly workers: number;
  /** The key of each worker. */
  readonly keyOf: (worker: number) => string;
}

export class ClosedLoop {
  readonly acquireTimes = new Histogram();
  /** Whole cycles that ended since `reset`. */
  cycles = 0;
  fencingViolations = 0;
  /** Number of errors by code since `reset`. */
  readonly errors = new Map<string, number>();
  readonly #stop = new AbortController();
  readonly #keys = new Map<string, KeyRecord>();
  readonly #workers: Promise<void>[] = [];

  constructor(options: LoopOptions) {
    for (let worker = 0; worker < options.workers; worker += 1) {
      const client = options.clients[worker % options.clients.length];
      if (client === undefined) throw new RangeError("no client");
      this.#workers.push(this.#work(client, this.#recordOf(options.keyOf(worker))));
    }
  }

  /** Forgets what was counted so far, except violations. */
  reset(): void {
    this.acquireTimes.clear();
    this.errors.clear();
    this.cycles = 0;
  }

  /** Lets every worker finish what it holds; waits end at once. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#workers);
  }

  #recordOf(key: string): KeyRecord {
    let record = this.#keys.get(key);
    if (record === undefined) {
      record = { key, lastToken: 0, holder: undefined };
      this.#keys.set(key, record);
    }
    return record;
  }

  async #work(client: Client, record: KeyRecord): Promise<void> {
    const { signal } = this.#stop;
    const options = { signal };
    while (!signal.aborted) {
      try {
        const startMs = performance.now();
        const lock = await client.acquire(record.key, options);
        this.acquireTimes.record(performance.now() - startMs);
        this.#check(record, lock);
        const released = lock.release();
        record.holder = undefined;
        if ((await released).released) this.cycles += 1;
        else this.#count("LOCK_LOST");
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof HoldfastError)) throw error;
        this.#count(error.code);
        await delay(ERROR_PAUSE_MS);
      }
    }
  }

  #check(record: KeyRecord, lock: Lock): void {
    const isOverlap = record.holder?.isHeld === true;
    if (lock.token <= record.lastToken || isOverlap) this.fencingViolations += 1;
    record.lastToken = Math.max(record.lastToken, lock.token);
    record.holder = lock;
  }

  #count(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
