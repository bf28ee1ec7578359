/**
 * The clocks of one process: a monotonic one with a zero and a rate of its own, within the promised
 * bound of true time, and a wall clock that may jump. Timers are armed by the monotonic one.
 */
import type { RandomStream } from "../engine/random-stream.js";
import type { Simulation } from "../engine/simulation.js";

/** Clocks of good machines differ by less. */
const DRIFT_MAX = 1 / 1_000;
const ZERO_MS_MAX = 1_000_000;
const WALL_START_MS = 1_800_000_000_000;

export class ProcessClock {
  readonly #simulation: Simulation;
  readonly #zeroMs: number;
  readonly #rate: number;
  #wallJumpMs = 0;

  constructor(simulation: Simulation, random: RandomStream) {
    this.#simulation = simulation;
    this.#zeroMs = random.integer(0, ZERO_MS_MAX);
    this.#rate = 1 + random.between(-DRIFT_MAX, DRIFT_MAX);
  }

  nowMs(): number {
    return this.#zeroMs + this.#simulation.nowMs * this.#rate;
  }

  wallMs(): number {
    return Math.floor(WALL_START_MS + this.#simulation.nowMs + this.#wallJumpMs);
  }

  /** When this clock shows `localMs`, in simulated time; never before it does. */
  toSimulatedMs(localMs: number): number {
    return Math.ceil(((localMs - this.#zeroMs) / this.#rate) * 1_000) / 1_000;
  }

  jumpWall(byMs: number): void {
    this.#wallJumpMs += byMs;
  }
}
