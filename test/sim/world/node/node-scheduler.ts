/**
 * The scheduler of one process: timers come behind the input that waits, a paused process runs none.
 * A deadline usually moves on before it is reached, so one event serves many of them.
 */

import type { RandomStream } from "../../../../lab/random-stream.js";
import type { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { ProcessLife } from "../../../../lab/simulated/process-life.js";
import type { Scheduler } from "../../../../src/server/ports.js";
import type { Pace } from "../../plan/plan.js";

export class NodeScheduler implements Scheduler {
  readonly #life: ProcessLife;
  readonly #clock: ProcessClock;
  readonly #pace: Pace;
  readonly #lateMs: () => number;
  readonly #random: RandomStream;
  readonly #afterTask: () => void;
  #wantedAtMs = Number.POSITIVE_INFINITY;
  #eventAtMs = Number.POSITIVE_INFINITY;
  #task: (() => void) | undefined;

  /**
   * `lateMs`: how much later than its pace says each turn ends at the moment. `afterTask` is called when
   * whatever ran has come to its end.
   */
  constructor(
    life: ProcessLife,
    clock: ProcessClock,
    pace: Pace,
    lateMs: () => number,
    random: RandomStream,
    afterTask: () => void,
  ) {
    this.#life = life;
    this.#clock = clock;
    this.#pace = pace;
    this.#lateMs = lateMs;
    this.#random = random;
    this.#afterTask = afterTask;
  }

  soon(task: () => void): void {
    this.#life.timeline.after(0, () => this.#life.deliver(() => this.#run(task)));
  }

  arm(atMs: number, task: () => void): void {
    this.#task = task;
    this.#wantedAtMs = atMs;
    if (atMs !== Number.POSITIVE_INFINITY && atMs < this.#eventAtMs) this.#plan();
  }

  disarm(): void {
    this.#task = undefined;
    this.#wantedAtMs = Number.POSITIVE_INFINITY;
  }

  #plan(): void {
    const atMs = this.#wantedAtMs;
    this.#eventAtMs = atMs;
    const { timeline } = this.#life;
    timeline.at(this.#clock.toSimulatedMs(atMs) + this.#upTo(this.#pace.timerLateMs), () => {
      if (this.#eventAtMs !== atMs) return;
      this.#eventAtMs = Number.POSITIVE_INFINITY;
      if (this.#wantedAtMs > atMs) {
        if (this.#wantedAtMs !== Number.POSITIVE_INFINITY) this.#plan();
        return;
      }
      // Behind what arrives at the same moment, and behind what waited through a pause.
      timeline.after(0, () => this.#life.deliver(() => this.#fire()));
    });
  }

  #fire(): void {
    this.#life.timeline.after(0, () => {
      this.#life.deliver(() => {
        const task = this.#task;
        // Armed again in the meantime: it is due later.
        if (task === undefined || this.#clock.nowMs() < this.#wantedAtMs) {
          if (task !== undefined) this.arm(this.#wantedAtMs, task);
          return;
        }
        this.disarm();
        this.#run(task);
      });
    });
  }

  #run(task: () => void): void {
    if (!this.#life.isAlive) return;
    task();
    this.#afterTask();
    // What the turn did left at its beginning, as if the turn before it had ended late.
    this.#life.beBusy(this.#upTo(this.#pace.turnMs) + this.#lateMs());
  }

  #upTo(mostMs: number): number {
    return mostMs === 0 ? 0 : this.#random.next() * mostMs;
  }
}
