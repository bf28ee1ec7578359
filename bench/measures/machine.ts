/** The machine that measured. Figures of one that was busy with other things say little. */
import { availableParallelism, loadavg } from "node:os";
import { tenths } from "./statistics.js";

export interface Machine {
  readonly cores: number;
  /** Processes that wanted to run in the minute before the bench began: should be near 0. */
  readonly loadBefore: number;
}

/** Where a process that measures for another one is told what that one saw before it began. */
export const LOAD_BEFORE_VARIABLE = "HOLDFAST_BENCH_LOAD_BEFORE";

/** Later looks would tell of what the bench itself measured before. */
const LOAD_BEFORE = Number(process.env[LOAD_BEFORE_VARIABLE] ?? tenths(loadavg()[0] ?? 0));

export function describeMachine(): Machine {
  return { cores: availableParallelism(), loadBefore: LOAD_BEFORE };
}

export function machineText({ cores, loadBefore }: Machine): string {
  const isBusy = loadBefore > cores / 2;
  return `${cores} cores, load average before ${loadBefore}${isBusy ? ": BUSY, measure again" : ""}`;
}
