/**
 * The clocks of one process in simulated time: a monotonic clock with its own zero and rate, which
 * stops while the machine sleeps, and a wall clock that may jump. Timers run by the monotonic
 * clock.
 */
import type { Timeline } from "./timeline.js";

/** More than the rounding error of a sum of whole microseconds. */
const ROUNDING_US = 1e-4;

export interface ClockOptions {
  /** The monotonic time when simulated time begins. */
  readonly zeroMs: number;
  /** The speed of the monotonic clock; 1 is true time. */
  readonly rate: number;
  /** The wall time when simulated time begins. */
  readonly wallMs: number;
}

export class ProcessClock {
  readonly #timeline: Timeline;
  readonly #options: ClockOptions;
  #wallJumpMs = 0;
  /** How long the monotonic clock stood still before its current sleep. */
  #sleptMs = 0;
  /** The start of its current sleep. */
  #asleepSinceMs: number | undefined;

  constructor(timeline: Timeline, options: ClockOptions) {
    this.#timeline = timeline;
    this.#options = options;
  }

  nowMs(): number {
    return this.#local((this.#asleepSinceMs ?? this.#timeline.nowMs) - this.#sleptMs);
  }

  /** Monotonic time that includes sleep, like CLOCK_BOOTTIME. */
  withSleepMs(): number {
    return this.#local(this.#timeline.nowMs);
  }

  wallMs(): number {
    return Math.floor(this.#options.wallMs + this.#timeline.nowMs + this.#wallJumpMs);
  }

  /** The simulated time at which this clock reaches `localMs`, rounded up, if it sleeps no more. */
  toSimulatedMs(localMs: number): number {
    const { zeroMs, rate } = this.#options;
    const awakeMs = Math.ceil(((localMs - zeroMs) / rate) * 1_000) / 1_000;
    return Math.ceil((awakeMs + this.#sleptMs) * 1_000 - ROUNDING_US) / 1_000;
  }

  /**
   * Gives `task` to `deliver` after `delayMs` of this clock, which may sleep in between. `deliver`
   * must hold what it gets while the clock sleeps. Returns a function that cancels the timer.
   */
  timer(delayMs: number, deliver: (task: () => void) => void, task: () => void): () => void {
    const dueMs = this.nowMs() + delayMs;
    let isArmed = true;
    const plan = (): void => {
      this.#timeline.at(this.toSimulatedMs(dueMs), () => {
        deliver(() => {
          if (!isArmed) return;
          // The clock slept in between.
          if (this.toSimulatedMs(dueMs) > this.#timeline.nowMs) plan();
          else task();
        });
      });
    };
    plan();
    return () => {
      isArmed = false;
    };
  }

  get isAsleep(): boolean {
    return this.#asleepSinceMs !== undefined;
  }

  /** The machine is suspended, and CLOCK_MONOTONIC with it; not the wall clock. */
  sleep(): void {
    this.#asleepSinceMs ??= this.#timeline.nowMs;
  }

  wake(): void {
    const { nowMs } = this.#timeline;
    this.#sleptMs += nowMs - (this.#asleepSinceMs ?? nowMs);
    this.#asleepSinceMs = undefined;
  }

  jumpWall(byMs: number): void {
    this.#wallJumpMs += byMs;
  }

  #local(simulatedMs: number): number {
    return this.#options.zeroMs + simulatedMs * this.#options.rate;
  }
}
