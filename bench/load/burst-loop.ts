/**
 * Cycles at a fixed rate, in bursts of equal size: for measuring what something else costs the nodes.
 * Nodes handle in one step what arrives together, so a command in a large batch is cheaper. If cycles
 * begin one by one, the size of batches varies with all else that runs on the machine, and with it the
 * cost of a command. A burst that takes longer than its interval delays the next one.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "../../src/index.js";
import { clientOf, LoadLoop, type LoopOptions } from "./load-loop.js";

const INTERVAL_MS = 50;

export interface BurstLoopOptions<Service> extends Omit<LoopOptions<Service>, "workers"> {
  /** Cycles per second. */
  readonly rate: number;
}

export class BurstLoop<Service = Client> extends LoadLoop<Service> {
  readonly #clients: readonly Service[];
  readonly #burst: number;
  readonly #running: Promise<void>;

  constructor(options: BurstLoopOptions<Service>) {
    super({ ...options, workers: 0 });
    this.#clients = options.clients;
    this.#burst = (options.rate * INTERVAL_MS) / 1_000;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.stopping;
    let nextMs = performance.now();
    /** Cycles that should have begun so far: a burst need not be a whole number of them. */
    let due = 0;
    let begun = 0;
    while (!signal.aborted) {
      const nowMs = performance.now();
      due += this.#burst;
      const cycles: Promise<void>[] = [];
      for (; begun + 1 <= due; begun += 1) {
        // By its number in the burst: each client then has an equal part of every burst.
        const worker = cycles.length;
        cycles.push(this.cycle(clientOf(this.#clients, worker), worker, nowMs));
      }
      await Promise.all(cycles);
      nextMs = Math.max(nextMs + INTERVAL_MS, performance.now());
      await delay(nextMs - performance.now(), undefined, { signal }).catch(() => undefined);
    }
  }
}
