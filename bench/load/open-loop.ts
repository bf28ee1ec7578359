/**
 * Open load: cycles begin at a fixed rate, however slow the service is, like requests of
 * independent users. Each is measured from the time at which it was due. If it had to wait for a
 * free worker, or for this process, that is part of its time: a stall of the service counts for
 * every cycle that was due during it (the correction for coordinated omission, after Gil Tene).
 */
import type { Client } from "../../src/index.js";
import { Histogram } from "./histogram.js";
import { clientOf, LoadLoop, type LoopOptions } from "./load-loop.js";

export interface OpenLoopOptions<Service> extends LoopOptions<Service> {
  /** Cycles per second. `workers`: how many may be in flight at the same time. */
  readonly rate: number;
}

export class OpenLoop<Service = Client> extends LoadLoop<Service> {
  /** By how much cycles began late. */
  readonly startDelays = new Histogram();
  readonly #clients: readonly Service[];
  readonly #intervalMs: number;
  readonly #startMs = performance.now();
  /** Workers without a cycle. */
  readonly #idle: number[];
  readonly #busy = new Set<Promise<void>>();
  /** Cycles that have begun. */
  #begun = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: OpenLoopOptions<Service>) {
    super(options);
    this.#clients = options.clients;
    this.#intervalMs = 1_000 / options.rate;
    this.#idle = Array.from({ length: options.workers }, (_, index) => index).reverse();
    this.#begin();
  }

  /** Cycles that are due and have not begun, because no worker is free. */
  get backlog(): number {
    if (this.#idle.length > 0) return 0;
    const due = Math.floor((performance.now() - this.#startMs) / this.#intervalMs) + 1;
    return Math.max(0, due - this.#begun);
  }

  override reset(): void {
    super.reset();
    this.startDelays.clear();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    clearTimeout(this.#timer);
    await Promise.all(this.#busy);
    await this.released();
  }

  /** Begins the cycles that are due, if there are workers, and schedules the next one. */
  #begin(): void {
    clearTimeout(this.#timer);
    if (this.stopping.signal.aborted) return;
    const nowMs = performance.now();
    for (;;) {
      const intendedMs = this.#startMs + this.#begun * this.#intervalMs;
      if (intendedMs > nowMs) {
        this.#timer = setTimeout(() => this.#begin(), intendedMs - nowMs);
        return;
      }
      const worker = this.#idle.pop();
      // A worker that becomes free calls this again.
      if (worker === undefined) return;
      this.#begun += 1;
      this.startDelays.record(nowMs - intendedMs);
      this.#run(worker, intendedMs);
    }
  }

  #run(worker: number, intendedMs: number): void {
    const client = clientOf(this.#clients, worker);
    const running = this.cycle(client, worker, intendedMs).then(() => {
      this.#busy.delete(running);
      this.#idle.push(worker);
      if (this.#idle.length === 1) this.#begin();
    });
    this.#busy.add(running);
  }
}
