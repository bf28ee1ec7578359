/** The scheduler of one process of a world. */
import type { ProcessLife } from "../../../lab/simulated/process-life.js";
import type { Scheduler } from "../../../src/server/ports.js";

/** A timer that rounding makes come too early would do so again and again. */
const ROUNDING_MS = 1e-6;

/** Timers come after the input that waits; a paused process runs none. */
export class WorldScheduler implements Scheduler {
  toWorldMs: (nowMs: number) => number = (nowMs) => nowMs;
  readonly #life: ProcessLife;
  #armed = 0;

  constructor(life: ProcessLife) {
    this.#life = life;
  }

  soon(task: () => void): void {
    this.#life.timeline.after(0, () => this.#life.deliver(task));
  }

  arm(atMs: number, task: () => void): void {
    this.disarm();
    if (atMs === Number.POSITIVE_INFINITY) return;
    const armed = this.#armed;
    const run = (): void => {
      if (this.#armed === armed) task();
    };
    // After whatever arrives at the same moment, and after what waited through a pause.
    const worldMs = this.toWorldMs(atMs) + ROUNDING_MS;
    this.#life.timeline.at(worldMs, () => this.soon(() => this.soon(run)));
  }

  disarm(): void {
    this.#armed += 1;
  }
}
