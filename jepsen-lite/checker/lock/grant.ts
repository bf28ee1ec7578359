/** What one token of a history stands for. Types only. */
import type { Item, LockCall } from "./lock-calls.js";

/** One token: what it stands for and when its hold is certain. */
export interface Grant {
  readonly token: number;
  readonly call: LockCall;
  /** What it holds, whether the call was an acquire, an upgrade or a claim. */
  readonly items: readonly Item[];
  readonly session: string;
  /** The token that this one took the place of. */
  readonly replaces: Grant | undefined;
}
