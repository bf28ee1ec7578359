/**
 * The common part of closed and open loops: one cycle of acquire and release, a witness that checks
 * the grants, and the counts. The subclasses decide when the next cycle begins.
 */
import { setTimeout as delay, setImmediate as nextTurn } from "node:timers/promises";
import { HoldfastError } from "../../src/index.js";
import { GrantWitness, type Rule } from "./grant-witness.js";
import { Histogram } from "./histogram.js";
import type { LoadedLock, LoadShape } from "./load-shapes.js";
import type { MeasuredLoad } from "./measured-load.js";

/** After an error, so that a cluster that is down is not asked in a busy loop. */
const ERROR_PAUSE_MS = 50;

export interface LoopOptions<Service> {
  readonly clients: readonly Service[];
  readonly workers: number;
  readonly shape: LoadShape<Service>;
}

export abstract class LoadLoop<Service> implements MeasuredLoad {
  readonly acquireTimes = new Histogram();
  readonly acquireTimesByKind = new Map<string, Histogram>();
  cycles = 0;
  readonly errors = new Map<string, number>();
  protected readonly stopping = new AbortController();
  readonly #shape: LoadShape<Service>;
  readonly #witness: GrantWitness;
  /** By worker: its last release, if the shape does not wait for it. */
  readonly #releasing = new Map<number, Promise<void>>();

  constructor({ shape }: LoopOptions<Service>) {
    this.#shape = shape;
    this.#witness = new GrantWitness(shape.limit);
  }

  get violations(): Readonly<Record<Rule, number>> {
    return this.#witness.violations;
  }

  /** The sum of all violations. */
  get fencingViolations(): number {
    return this.#witness.total;
  }

  reset(): void {
    this.acquireTimes.clear();
    this.acquireTimesByKind.clear();
    this.errors.clear();
    this.cycles = 0;
  }

  /** The counts are in this process. */
  collect(): void {}

  abstract stop(): Promise<void>;

  /** One acquire and release by a worker, intended to begin at `intendedMs`. */
  protected async cycle(client: Service, worker: number, intendedMs: number): Promise<void> {
    const { signal } = this.stopping;
    try {
      const lock = await this.#shape.ask(client, worker, { signal });
      this.#record(lock, performance.now() - intendedMs);
      this.#witness.onGranted(lock);
      if (this.#shape.isKeptForATurn === true) await nextTurn();
      this.#witness.onReleasing(lock);
      const releasing = this.#release(lock);
      if (this.#shape.isReleaseAwaited === false) this.#releasing.set(worker, releasing);
      else await releasing;
    } catch (error) {
      if (signal.aborted) return;
      this.#count(this.#codeOf(error));
      await delay(ERROR_PAUSE_MS);
    }
  }

  /** Resolves when no release is under way. */
  protected async released(): Promise<void> {
    await Promise.all(this.#releasing.values());
  }

  async #release(lock: LoadedLock): Promise<void> {
    try {
      if ((await lock.release()).released) this.cycles += 1;
      else this.#count("LOCK_LOST");
    } catch (error) {
      if (this.stopping.signal.aborted) return;
      this.#count(this.#codeOf(error));
      await delay(ERROR_PAUSE_MS);
    }
  }

  /** An error that is not one of the service is one of this program, and ends it. */
  #codeOf(error: unknown): string {
    if (error instanceof HoldfastError) return error.code;
    const code = this.#shape.codeOf?.(error);
    if (code === undefined) throw error;
    return code;
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

/** The client that a worker uses. */
export function clientOf<Service>(clients: readonly Service[], worker: number): Service {
  const client = clients[worker % clients.length];
  if (client === undefined) throw new RangeError("no client");
  return client;
}
