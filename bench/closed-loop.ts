/**
 * The workers: closed loops that acquire and release, each beginning its next cycle when the last
 * one is durable. A witness checks what they are given.
 */
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { type Client, HoldfastError } from "../src/index.js";
import { GrantWitness, type Rule } from "./grant-witness.js";
import { Histogram } from "./histogram.js";
import type { LoadedLock, LoadShape } from "./load-shapes.js";

/** After an error, so that a cluster that is down is not asked in a busy loop. */
const ERROR_PAUSE_MS = 50;

export interface LoopOptions<Service> {
  readonly clients: readonly Service[];
  readonly workers: number;
  readonly shape: LoadShape<Service>;
}

export class ClosedLoop<Service = Client> {
  readonly acquireTimes = new Histogram();
  /** The same by kind, if the shape tells them apart. */
  readonly acquireTimesByKind = new Map<string, Histogram>();
  /** Whole cycles that ended since `reset`. */
  cycles = 0;
  /** Number of errors by code since `reset`. */
  readonly errors = new Map<string, number>();
  readonly #shape: LoadShape<Service>;
  readonly #witness: GrantWitness;
  readonly #stop = new AbortController();
  readonly #workers: Promise<void>[] = [];

  constructor({ clients, workers, shape }: LoopOptions<Service>) {
    this.#shape = shape;
    this.#witness = new GrantWitness(shape.limit);
    for (let worker = 0; worker < workers; worker += 1) {
      const client = clients[worker % clients.length];
      if (client === undefined) throw new RangeError("no client");
      this.#workers.push(this.#work(client, worker));
    }
  }

  /** What must not happen, and how often it did, from the start on. */
  get violations(): Readonly<Record<Rule, number>> {
    return this.#witness.violations;
  }

  /** All of these. */
  get fencingViolations(): number {
    return this.#witness.total;
  }

  /** Forgets what was counted so far, except violations. */
  reset(): void {
    this.acquireTimes.clear();
    this.acquireTimesByKind.clear();
    this.errors.clear();
    this.cycles = 0;
  }

  /** Lets every worker finish what it holds; waits end at once. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#workers);
  }

  async #work(client: Service, worker: number): Promise<void> {
    const { signal } = this.#stop;
    const options = { signal };
    while (!signal.aborted) {
      try {
        const startMs = performance.now();
        const lock = await this.#shape.ask(client, worker, options);
        this.#record(lock, performance.now() - startMs);
        this.#witness.onGranted(lock);
        if (this.#shape.isKeptForATurn === true) await nextTurn();
        this.#witness.onReleasing(lock);
        if ((await lock.release()).released) this.cycles += 1;
        else this.#count("LOCK_LOST");
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof HoldfastError)) throw error;
        this.#count(error.code);
        await delay(ERROR_PAUSE_MS);
      }
    }
  }

  #record(lock: LoadedLock, milliseconds: number): void {
    this.acquireTimes.record(milliseconds);
    const kind = this.#shape.kindOf?.(lock);
    if (kind === undefined) return;
    let times = this.acquireTimesByKind.get(kind);
    if (times === undefined) {
      times = new Histogram();
      this.acquireTimesByKind.set(kind, times);
    }
    times.record(milliseconds);
  }

  #count(code: string): void {
    this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }
}
