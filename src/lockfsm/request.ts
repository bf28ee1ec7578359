/**
 * An acquire that waits. It has one place in each of its keys and counts those in which it is not
 * eligible yet; when none is left it becomes a hold.
 */
import { type DueItem, NOT_IN_HEAP } from "./due-heap.js";
import type { Place } from "./key.js";
import type { Session } from "./session.js";
import type { Slot } from "./slot-list.js";

/** `dueAt` of a request that waits without a deadline; it is not in the heap then. */
export const NO_DEADLINE = -1;

export class Request implements DueItem {
  readonly session: Session;
  /** Where its outcome goes; also knows its sequence. */
  readonly slot: Slot;
  readonly owner: number;
  /** Its arrival: the total order of requests. */
  readonly number: number;
  readonly enqueuedAt: number;
  dueAt: number;
  heapIndex = NOT_IN_HEAP;
  firstPlace: Place | undefined = undefined;
  /** Places not reached. 0: only a due time keeps it from being granted. */
  blockedCount = 0;
  previous: Request | undefined = undefined;
  next: Request | undefined = undefined;
  /** It is in this snapshot, or is not to be in it. */
  savedIn: number;

  constructor(
    session: Session,
    slot: Slot,
    owner: number,
    number: number,
    enqueuedAt: number,
    dueAt: number,
  ) {
    this.session = session;
    this.slot = slot;
    this.owner = owner;
    this.number = number;
    this.enqueuedAt = enqueuedAt;
    this.dueAt = dueAt;
    this.savedIn = session.saving.epoch;
  }

  /** Whether it may not be granted any more at `stamp`, though it still stands in its queues. */
  isOverAt(stamp: number): boolean {
    return (this.dueAt !== NO_DEADLINE && this.dueAt <= stamp) || !this.session.isAliveAt(stamp);
  }
}
