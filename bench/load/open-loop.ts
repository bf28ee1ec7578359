/**
 * Open load: cycles begin at a fixed rate, however slow the service is, as requests of independent
 * users do. Each is measured from the time at which it was to begin. One that had to wait for a free
 * worker, or for this process, has that in its time: a stall of the service counts for everybody who
 * would have come during it (the correction for coordinated omission, after Gil Tene).
 */
import type { Client } from "../../src/index.js";
import { Histogram } from "./histogram.js";
import { clientOf, LoadLoop, type LoopOptions } from "./load-loop.js";

export interface OpenLoopOptions<Service> extends LoopOptions<Service> {
  /** Cycles a second. `workers`: how many may be under way at once. */
  readonly rate: number;
}

export class OpenLoop<Service = Client> extends LoadLoop<Service> {
  /** By how much cycles began later than they were to. */
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

  /** Cycles that should have begun by now and have not, for want of a free worker. */
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
  }

  /** Begins what is due, as far as there are workers, and comes back for the next. */
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
      // Whoever becomes free comes here.
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
