/** The terms and limits of a verdict, shared by all checks. */

/** `"unknown"`: the budget ran out before either could be shown. */
export type Verdict = true | false | "unknown";

export interface Budget {
  /** Candidates that the search may examine, over all keys. */
  readonly steps: number;
  /** The most memory for the tables of the search, over all keys. */
  readonly bytes: number;
  /** Wall time of the search; `Infinity` keeps the verdict independent of the machine. */
  readonly timeMs: number;
}

/**
 * The whole process stays below 2 GB: tables, their growth, and the history itself. A step takes
 * well below a microsecond if its transition is known, and a few microseconds if it must be
 * computed.
 */
export const DEFAULT_BUDGET: Budget = Object.freeze({
  steps: 200_000_000,
  bytes: 768 * 1024 * 1024,
  timeMs: Number.POSITIVE_INFINITY,
});

/** False if one is false, otherwise unknown if one is unknown, otherwise true. */
export function worstOf(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes(false)) return false;
  return verdicts.includes("unknown") ? "unknown" : true;
}
