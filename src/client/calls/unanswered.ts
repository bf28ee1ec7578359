/**
 * What a caller gets whose call ends without an answer of the table. Whether the request may have
 * been executed is decided here, for every way by which a call can end: by its deadline, with its
 * session, with its client. It must never say "certainly not" of what may have happened.
 */
import { HoldfastError } from "../../errors/index.js";
import { lockTimeout, type Named, nameOf, unavailable } from "../failures.js";

/** A call, as far as it is known what became of it. */
export interface Fate {
  /** It was sent, and nothing has shown that it was not executed. */
  readonly mayBeExecuted: boolean;
}

export function unanswered({ mayBeExecuted }: Fate, what: string, why: string): HoldfastError {
  return unavailable(what, why, mayBeExecuted);
}

/** As above, for a request for locks: one that waits ends at its own time. */
export function unansweredWait(
  fate: Fate,
  items: Named,
  waitMs: number,
  why: string,
  what = nameOf(items),
): HoldfastError {
  if (waitMs === 0) return unanswered(fate, what, why);
  return lockTimeout(items, waitMs, "client", fate.mayBeExecuted);
}

/** The failure of a call, which says whether it may have been executed; other reasons stay as they are. */
export function withFate(reason: unknown, { mayBeExecuted }: Fate): unknown {
  if (!(reason instanceof HoldfastError)) return reason;
  const { code, message, details, cause } = reason;
  return new HoldfastError(code, message, {
    cause,
    details: { ...details, indeterminate: mayBeExecuted },
  });
}
