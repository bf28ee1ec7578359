/**
 * Carries out the plan of faults: begins and ends each at its time, notes both in the histories,
 * and ends all active faults when the load is over. A fault that cannot be ended is a failure of
 * the run, not of the system under attack.
 */
import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { seededStream } from "../harness/seeded-stream.js";
import { type Fault, type Nemesis, StuckError, type Target } from "../nemeses/nemesis.js";
import type { PlannedFault } from "../nemeses/schedule.js";
import type { DrawnFault } from "./observer.js";

export interface FaultEvents {
  nowMs(): number;
  onBegin(nemesis: string, what: string): void;
  onEnd(fault: DrawnFault): void;
  /** The cluster never did what it was asked for to begin or to end a fault. */
  onStuck(nemesis: string, why: string): void;
  /** A fault could not be begun or ended: the run cannot continue. */
  onFailure(error: unknown): void;
}

interface ActiveFault {
  readonly planned: PlannedFault;
  readonly fault: Fault;
  readonly startMs: number;
}

export class FaultRunner {
  readonly #target: Target;
  readonly #nemeses: ReadonlyMap<string, Nemesis>;
  readonly #seed: number;
  readonly #events: FaultEvents;
  readonly #active = new Set<ActiveFault>();
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();

  constructor(target: Target, nemeses: readonly Nemesis[], seed: number, events: FaultEvents) {
    this.#target = target;
    this.#nemeses = new Map(nemeses.map((nemesis) => [nemesis.name, nemesis]));
    this.#seed = seed;
    this.#events = events;
    // Every planned fault listens, which is not a leak.
    setMaxListeners(0, this.#stop.signal);
  }

  /** Names of the active faults. */
  get active(): string[] {
    return [...this.#active].map(({ planned }) => planned.nemesis);
  }

  /**
   * Begins to carry out the plan. `originMs`: the start of its times. `stop` rejects if this fails.
   */
  start(plan: readonly PlannedFault[], originMs: number): void {
    const runs = plan.map(async (planned) => {
      try {
        await this.#carryOut(planned, originMs);
      } catch (error) {
        if (!(error instanceof StuckError)) throw error;
        this.#events.onStuck(planned.nemesis, error.message);
      }
    });
    this.#running = Promise.all(runs);
    this.#running.catch((error: unknown) => this.#events.onFailure(error));
  }

  /** Marks all active faults as ended now: the whole cluster is about to end. */
  abandon(): void {
    for (const active of [...this.#active]) this.#ended(active);
  }

  /** Begins no more faults and ends the active ones. Rejects if something could not be done. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #carryOut(planned: PlannedFault, originMs: number): Promise<void> {
    await this.#until(originMs + planned.startMs);
    if (this.#stop.signal.aborted) return;
    const nemesis = this.#nemeses.get(planned.nemesis);
    if (nemesis === undefined) throw new RangeError(`there is no nemesis ${planned.nemesis}`);
    const startMs = this.#events.nowMs();
    const random = seededStream(this.#seed, `fault ${planned.index} ${planned.nemesis}`);
    const fault = await nemesis.begin(this.#target, random);
    const active = { planned, fault, startMs };
    this.#active.add(active);
    this.#events.onBegin(planned.nemesis, fault.what);
    await this.#until(originMs + planned.endMs);
    try {
      await fault.end();
    } finally {
      this.#ended(active);
    }
  }

  #ended(active: ActiveFault): void {
    // It was abandoned before its end.
    if (!this.#active.delete(active)) return;
    const { planned, fault, startMs } = active;
    const { what, file } = fault;
    const endMs = this.#events.nowMs();
    const drawn = { nemesis: planned.nemesis, what, startMs, endMs };
    this.#events.onEnd(file === undefined ? drawn : { ...drawn, file });
  }

  async #until(timeMs: number): Promise<void> {
    const waitMs = timeMs - this.#events.nowMs();
    if (waitMs <= 0 || this.#stop.signal.aborted) return;
    await delay(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
