/**
 * The clock of a process in a run; its zero, and its rate within the promised bound, are random.
 */

import type { RandomStream } from "../../../../lab/random-stream.js";
import { ProcessClock } from "../../../../lab/simulated/process-clock.js";
import type { Simulation } from "../../engine/simulation.js";

/** Clocks of good machines differ by less. */
export const DRIFT_MAX = 1 / 1_000;
const ZERO_MS_MAX = 1_000_000;
const WALL_START_MS = 1_800_000_000_000;

export function driftingClock(simulation: Simulation, random: RandomStream): ProcessClock {
  const zeroMs = random.integer(0, ZERO_MS_MAX);
  const rate = 1 + random.between(-DRIFT_MAX, DRIFT_MAX);
  return new ProcessClock(simulation, { zeroMs, rate, wallMs: WALL_START_MS });
}
