/**
 * Why a hold may end although its holder did not give it up, and its lease did not run out: somebody
 * asked for it, or it was held for its longest time (docs/internals/semantics.md, 6).
 */

/** Ends for which somebody has to ask. */
export type AskedEnd = "revoked" | "stolen";

export interface EndedHold {
  readonly isAskedFor: (end: AskedEnd) => boolean;
  /** `undefined`: it has none. */
  readonly maxHoldMs: number | undefined;
  /** `undefined`: not known. */
  readonly heldMs: number | undefined;
  /** By how much it may end before its longest time is over: who judges knows no better. */
  readonly earlyMs: number;
}

export function isAskedEnd(reason: string): reason is AskedEnd {
  return reason === "revoked" || reason === "stolen";
}

/** Whether there is a law about holds that end for this reason. */
export function isJudged(reason: string): boolean {
  return isAskedEnd(reason) || reason === "maxHold";
}

/** What is wrong with a hold that ended for `reason`, after the words "the hold". */
export function problemOfEnding(
  reason: string,
  { isAskedFor, maxHoldMs, heldMs, earlyMs }: EndedHold,
): string | undefined {
  if (isAskedEnd(reason)) {
    return isAskedFor(reason) ? undefined : `was ${reason}, for which nobody asked`;
  }
  if (reason !== "maxHold") return undefined;
  if (maxHoldMs === undefined) return "was held for its longest time, of which it has none";
  if (heldMs === undefined || heldMs >= maxHoldMs - earlyMs) return undefined;
  return `was held for its longest time, ${maxHoldMs} ms, after ${heldMs} ms`;
}
