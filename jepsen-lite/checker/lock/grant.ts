/** The meaning of one token in a history. Types only. */
import type { Item, LockCall } from "./lock-calls.js";

/** One token: its hold, and when that is certain. */
export interface Grant {
  readonly token: number;
  readonly call: LockCall;
  /** What it holds, whether the call was an acquire, an upgrade or an adopt. */
  readonly items: readonly Item[];
  readonly session: string;
  /** The token that this one replaced. */
  readonly replaces: Grant | undefined;
}
