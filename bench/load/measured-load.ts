/**
 * A load that runs and is measured: the loops of this process, or a program of a peer. What it counted
 * is read after `collect`, which brings the counts of another process here.
 */
import type { Rule } from "./grant-witness.js";
import type { Histogram } from "./histogram.js";

export interface MeasuredLoad {
  /** From the intended begin of a cycle until its lock was granted. */
  readonly acquireTimes: Histogram;
  /** The same by kind, if the load distinguishes kinds. */
  readonly acquireTimesByKind: ReadonlyMap<string, Histogram>;
  /** Complete cycles that ended since `reset`. */
  readonly cycles: number;
  /** Number of errors by code since `reset`. */
  readonly errors: ReadonlyMap<string, number>;
  /** The violations of each rule since the start. */
  readonly violations: Readonly<Record<Rule, number>>;
  /** Forgets all counts except violations. */
  reset(): void | Promise<void>;
  collect(): void | Promise<void>;
  /** Lets every worker finish its cycle; waits end at once if they can. */
  stop(): Promise<void>;
}
