/**
 * The words and limits of a verdict, shared by all checks.
 */

/** `"unknown"`: the budget ran out before either could be shown. */
export type Verdict = true | false | "unknown";

export interface Budget {
  /** Candidates that the search may look at, over all keys. */
  readonly steps: number;
  /** What the tables of the search may occupy, over all keys. */
  readonly bytes: number;
  /** Wall time of the search; `Infinity` keeps the verdict independent of the machine. */
  readonly timeMs: number;
}

/**
 * The whole process stays below 2 GB: tables, their growth, and the history itself. A step is well
 * below a microsecond where it finds a known transition, some microseconds where it computes one.
 */
export const DEFAULT_BUDGET: Budget = Object.freeze({
  steps: 200_000_000,
  bytes: 768 * 1024 * 1024,
  timeMs: Number.POSITIVE_INFINITY,
});

/** False as soon as one is false, unknown if one is unknown, otherwise true. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false;
  return verdicts.includes("unknown") ? "unknown" : true;
}
