/**
 * The load of a failover: one worker for each client that acquires and releases a lock of its own
 * at a limited pace, so that the failover is measured and not an overload. It records the time of
 * every grant and counts failures.
 */
import { setTimeout as delay } from "node:timers/promises";
import { type Client, HoldfastError } from "../../src/index.js";

/** The next cycle begins no earlier than this after the last one began. */
export const PACE_MS = 2;
/** After an error, so that a cluster that is down is not asked in a busy loop. */
const ERROR_PAUSE_MS = 50;

export class PacedLoop {
  /** For each client, when its locks were granted: by `performance.now`, ascending. */
  readonly grantsMs: readonly (readonly number[])[];
  /** Commands that failed, by code. */
  readonly failures = new Map<string, number>();
  /** Acquires and releases that ended, with or without success. */
  commands = 0;
  sessionsExpired = 0;
  fencingViolations = 0;
  readonly #stop = new AbortController();
  readonly #workers: Promise<void>[];

  /** The key of a client is `prefix/<index>`. */
  constructor(clients: readonly Client[], prefix: string) {
    const lists = clients.map((): number[] => []);
    this.grantsMs = lists;
    this.#workers = clients.map((client, index) =>
      this.#work(client, `${prefix}/${index}`, lists[index] as number[]),
    );
  }

  /** How many clients got no grant since `sinceMs`. */
  unservedSince(sinceMs: number): number {
    return this.grantsMs.filter((grants) => (grants.at(-1) ?? 0) < sinceMs).length;
  }

  /** Counts commands that failed. */
  count(code: string, commands = 1): void {
    this.failures.set(code, (this.failures.get(code) ?? 0) + commands);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#workers);
  }

  async #work(client: Client, key: string, grants: number[]): Promise<void> {
    const { signal } = this.#stop;
    let { session } = client;
    let lastToken = 0;
    while (!signal.aborted) {
      const startMs = performance.now();
      try {
        const lock = await client.acquire(key, { signal });
        grants.push(performance.now());
        this.commands += 1;
        if (lock.token <= lastToken) this.fencingViolations += 1;
        lastToken = Math.max(lastToken, lock.token);
        const { released } = await lock.release();
        this.commands += 1;
        if (!released) this.count("LOCK_LOST");
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof HoldfastError)) throw error;
        this.commands += 1;
        this.count(error.code);
        await delay(ERROR_PAUSE_MS);
      }
      if (client.session !== session) {
        if (session !== 0) this.sessionsExpired += 1;
        session = client.session;
      }
      const pauseMs = startMs + PACE_MS - performance.now();
      if (pauseMs > 0) await delay(pauseMs);
    }
  }
}
