/**
 * Measures whether a cluster grants: takes and gives back a lock of its own, again and again, and
 * remembers when it was granted. Reports how long nothing was granted since a moment.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/index.js";

const PAUSE_MS = 20;
const GRANTS_MAX = 5_000;

export class GrantProbe {
  readonly #client: Client;
  readonly #key: string;
  /** When grants came, in milliseconds of `performance.now`, oldest first. */
  #grantsMs: number[] = [];

  constructor(client: Client, key: string) {
    this.#client = client;
    this.#key = key;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const lock = await this.#client.acquire(this.#key, { signal });
        this.#grantsMs.push(performance.now());
        if (this.#grantsMs.length > GRANTS_MAX)
          this.#grantsMs = this.#grantsMs.slice(-GRANTS_MAX / 2);
        await lock.release();
        await delay(PAUSE_MS, undefined, { signal });
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof Error)) throw error;
        // The session ended without a majority: nothing to measure until the tour begins again.
        if (this.#client.closed.aborted) return;
      }
    }
  }

  /** How often something was granted since then. */
  countSince(sinceMs: number): number {
    return this.#grantsMs.filter((atMs) => atMs > sinceMs).length;
  }

  /** The longest time without a grant since then, up to now. */
  longestGapMs(sinceMs: number, nowMs: number): number {
    let longest = 0;
    let lastMs = sinceMs;
    for (const atMs of [...this.#grantsMs.filter((each) => each > sinceMs), nowMs]) {
      longest = Math.max(longest, atMs - lastMs);
      lastMs = atMs;
    }
    return longest;
  }
}
