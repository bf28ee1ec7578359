/**
 * The clocks of one process: a monotonic one with a zero and a rate of its own, within the promised
 * bound of true time, and a wall clock that may jump. Timers are armed by the monotonic one.
 */
import type { RandomStream } from "../../../../lab/random-stream.js";
import type { Simulation } from "../../engine/simulation.js";

/** Clocks of good machines differ by less. */
export const DRIFT_MAX = 1 / 1_000;
const ZERO_MS_MAX = 1_000_000;
const WALL_START_MS = 1_800_000_000_000;

export class ProcessClock {
  readonly #simulation: Simulation;
  readonly #zeroMs: number;
  readonly #rate: number;
  #wallJumpMs = 0;
  /** The monotonic clock has stood still for so long, */
  #sleptMs = 0;
  /** and stands still since then. */
  #asleepSinceMs: number | undefined;

  constructor(simulation: Simulation, random: RandomStream) {
    this.#simulation = simulation;
    this.#zeroMs = random.integer(0, ZERO_MS_MAX);
    this.#rate = 1 + random.between(-DRIFT_MAX, DRIFT_MAX);
  }

  nowMs(): number {
    const { nowMs } = this.#simulation;
    return this.#local((this.#asleepSinceMs ?? nowMs) - this.#sleptMs);
  }

  /** Stands still with nothing, as CLOCK_BOOTTIME. */
  withSleepMs(): number {
    return this.#local(this.#simulation.nowMs);
  }

  wallMs(): number {
    return Math.floor(WALL_START_MS + this.#simulation.nowMs + this.#wallJumpMs);
  }

  /** When this clock shows `localMs`, in simulated time; never before it does. */
  toSimulatedMs(localMs: number): number {
    const awakeMs = Math.ceil(((localMs - this.#zeroMs) / this.#rate) * 1_000) / 1_000;
    return Math.round((awakeMs + this.#sleptMs) * 1_000) / 1_000;
  }

  get isAsleep(): boolean {
    return this.#asleepSinceMs !== undefined;
  }

  /** The machine is suspended, and CLOCK_MONOTONIC with it; not the wall clock. */
  sleep(): void {
    this.#asleepSinceMs ??= this.#simulation.nowMs;
  }

  wake(): void {
    const { nowMs } = this.#simulation;
    this.#sleptMs += nowMs - (this.#asleepSinceMs ?? nowMs);
    this.#asleepSinceMs = undefined;
  }

  #local(simulatedMs: number): number {
    return this.#zeroMs + simulatedMs * this.#rate;
  }

  jumpWall(byMs: number): void {
    this.#wallJumpMs += byMs;
  }
}
