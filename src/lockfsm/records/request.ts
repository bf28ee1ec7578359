/**
 * A claim that waits: an acquire with one place in each of its keys, or the upgrade of a hold in one
 * of them. It is granted when nothing before it conflicts with it in any of them.
 */
import type { AcquireOptions } from "../../protocol/index.js";
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import type { Changing, Copied } from "./copy-on-write.js";
import type { Hold } from "./hold.js";
import type { OwnerEntry } from "./owner-index.js";
import type { Place } from "./place.js";
import type { Slot } from "./reply-window.js";
import type { Session } from "./session.js";
import { bytesOfPlaces } from "./sizes.js";

/** `dueAt` of a request that waits without a deadline; it is not in the heap then. */
export const NO_DEADLINE = -1;
/** Of upgrades: ahead of everybody else. */
export const UPGRADE_RANK = -(2 ** 52);

/** The one total order of requests: by rank, then by arrival. */
export interface Order {
  /** The time of arrival less the head start, in cluster milliseconds. */
  readonly rank: number;
  readonly number: number;
}

export function comesBefore(left: Order, right: Order): boolean {
  return left.rank < right.rank || (left.rank === right.rank && left.number < right.number);
}

export class Request implements DueItem, Order, Copied {
  readonly session: Session;
  readonly sequence: number;
  /** Where its outcome goes; `undefined` until it is told to wait. */
  slot: Slot | undefined = undefined;
  /** It left its queues, whatever for. */
  readonly hasEnded: boolean = false;
  readonly owner: number;
  /** Its arrival. */
  readonly number: number;
  readonly rank: number;
  readonly enqueuedAt: number;
  readonly dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** `undefined`: the defaults. */
  readonly options: AcquireOptions | undefined;
  /** It may be refused where waiting would never end. */
  readonly detects: boolean;
  /** The hold that is to become exclusive in the one key of this request. */
  readonly upgrades: Hold | undefined = undefined;
  readonly firstPlace: Place | undefined = undefined;
  previous: Request | undefined = undefined;
  next: Request | undefined = undefined;
  /** No search has told yet whether it closes a cycle of waits: for earlier ones it is not there. */
  readonly isUnchecked: boolean = false;
  /** A later entry is to look at its owner. */
  isQueuedForSearch = false;
  /** In its queues it is among those that can be part of a circle of waits. */
  isListed = false;
  nextByOwner: OwnerEntry | undefined = undefined;
  savedIn: number;

  constructor(
    session: Session,
    sequence: number,
    owner: number,
    order: Order,
    enqueuedAt: number,
    dueAt: number,
    options: AcquireOptions | undefined,
  ) {
    this.session = session;
    this.sequence = sequence;
    this.owner = owner;
    this.number = order.number;
    this.rank = order.rank;
    this.enqueuedAt = enqueuedAt;
    this.dueAt = dueAt;
    this.options = options;
    this.detects = options?.detect ?? true;
    this.savedIn = session.copies.latest;
  }

  /** Gives out its fields to be written. That it was reached, the rest says. */
  change(): Changing<Request> {
    this.session.copies.copier?.copy(this);
    return this;
  }

  /** What it takes of the table; see `sizes.ts`. */
  get bytes(): number {
    return bytesOfPlaces(this.firstPlace) + (this.options?.value.length ?? 0);
  }

  /** Nothing before it conflicts with it, in none of its keys. */
  get isEligible(): boolean {
    for (let place = this.firstPlace; place !== undefined; place = place.sibling) {
      if (!place.key.hasReached(place)) return false;
    }
    return true;
  }

  /** Whether it may not be granted any more at `stamp`, though it still stands in its queues. */
  isOverAt(stamp: number): boolean {
    return (this.dueAt !== NO_DEADLINE && this.dueAt <= stamp) || !this.session.isAliveAt(stamp);
  }
}
