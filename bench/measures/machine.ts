/** The machine that measured. Figures from a busy machine mean little. */
import { availableParallelism, loadavg } from "node:os";
import { tenths } from "./statistics.js";

export interface Machine {
  readonly cores: number;
  /** Runnable processes in the minute before the bench began: should be near 0. */
  readonly loadBefore: number;
}

/** Passes that figure to a process that measures for this one. */
export const LOAD_BEFORE_VARIABLE = "HOLDFAST_BENCH_LOAD_BEFORE";

/** Later readings would include what the bench itself measured before. */
const LOAD_BEFORE = Number(process.env[LOAD_BEFORE_VARIABLE] ?? tenths(loadavg()[0] ?? 0));

export function describeMachine(): Machine {
  return { cores: availableParallelism(), loadBefore: LOAD_BEFORE };
}

export function machineText({ cores, loadBefore }: Machine): string {
  const isBusy = loadBefore > cores / 2;
  return `${cores} cores, load average before ${loadBefore}${isBusy ? ": BUSY, measure again" : ""}`;
}
