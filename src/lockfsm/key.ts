/**
 * A key in use: who holds it and who waits for it, as two linked lists of places. All changes of
 * one key are here, each in constant time; none of them looks through a list. Nothing here knows
 * sessions, time or replies.
 *
 * The queue begins with the places that were *reached*: nothing before them, neither hold nor
 * request, conflicts with them. They are either one exclusive place or a run of shared ones.
 * `frontier` is the first place behind them, so that whatever ends has one place to look at.
 */

import { assert } from "../assert.js";
import { unlink } from "./chain.js";
import type { Hold } from "./hold.js";
import type { KeyBlock } from "./key-index.js";
import type { Request } from "./request.js";

/** One item of a request, and later of the hold that the request became. */
export class Place {
  readonly key: Key;
  readonly exclusive: boolean;
  claimant: Request | Hold;
  /** While it waits: whether it is eligible in its key. */
  reached = false;
  /** Neighbours in the list of the key it is in. */
  previous: Place | undefined = undefined;
  next: Place | undefined = undefined;
  /** The next item of the same claimant, in the order of the command. */
  sibling: Place | undefined = undefined;

  constructor(key: Key, exclusive: boolean, claimant: Request | Hold) {
    this.key = key;
    this.exclusive = exclusive;
    this.claimant = claimant;
  }
}

export class Key {
  readonly name: string;
  /** Where the index keeps it. */
  block: KeyBlock;
  /** In the order of tokens. Either one exclusive place or shared ones. */
  firstHold: Place | undefined = undefined;
  lastHold: Place | undefined = undefined;
  holdCount = 0;
  /** In the order of arrival. */
  firstWaiter: Place | undefined = undefined;
  lastWaiter: Place | undefined = undefined;
  waiterCount = 0;
  /** The first waiting place that was not reached. */
  frontier: Place | undefined = undefined;
  /** Whether the work queue holds this key: places are left that could be reached. */
  isQueuedForWork = false;

  constructor(name: string, block: KeyBlock) {
    this.name = name;
    this.block = block;
  }

  /** Nothing of it needs to be remembered. */
  get isIdle(): boolean {
    return this.holdCount === 0 && this.waiterCount === 0 && !this.isQueuedForWork;
  }

  /** Whether a hold would conflict with no other; those who wait are not looked at. */
  admitsHold(exclusive: boolean): boolean {
    return exclusive ? this.holdCount === 0 : !isExclusive(this.firstHold);
  }

  /** Whether a place that came now, behind everything, would conflict with nothing. */
  admits(exclusive: boolean): boolean {
    if (this.frontier !== undefined) return false;
    if (exclusive) return this.holdCount === 0 && this.waiterCount === 0;
    return !isExclusive(this.firstHold) && !isExclusive(this.firstWaiter);
  }

  /** Whether the place at the frontier conflicts with nothing before it any more. */
  get canReachNext(): boolean {
    const place = this.frontier;
    if (place === undefined) return false;
    if (place.exclusive) return place === this.firstWaiter && this.holdCount === 0;
    return !isExclusive(this.firstHold) && !isExclusive(this.firstWaiter);
  }

  /** Moves the frontier over one place, which must be eligible, and returns it. */
  reachNext(): Place {
    const place = this.frontier;
    assert(place !== undefined && this.canReachNext, () => `${this.name}: nothing to reach`);
    place.reached = true;
    this.frontier = place.next;
    return place;
  }

  /** Puts a place behind all others; `reached` is what `admits` said of it. */
  enqueue(place: Place, reached: boolean): void {
    place.reached = reached;
    place.previous = this.lastWaiter;
    if (this.lastWaiter === undefined) this.firstWaiter = place;
    else this.lastWaiter.next = place;
    this.lastWaiter = place;
    this.waiterCount += 1;
    if (!reached && this.frontier === undefined) this.frontier = place;
    this.#check();
  }

  dequeue(place: Place): void {
    if (this.frontier === place) this.frontier = place.next;
    if (this.firstWaiter === place) this.firstWaiter = place.next;
    if (this.lastWaiter === place) this.lastWaiter = place.previous;
    unlink(place);
    this.waiterCount -= 1;
    this.#check();
  }

  addHold(place: Place): void {
    assert(
      this.admitsHold(place.exclusive),
      () => `${this.name}: a hold that conflicts with one of ${this.holdCount}`,
    );
    place.previous = this.lastHold;
    if (this.lastHold === undefined) this.firstHold = place;
    else this.lastHold.next = place;
    this.lastHold = place;
    this.holdCount += 1;
    this.#check();
  }

  removeHold(place: Place): void {
    if (this.firstHold === place) this.firstHold = place.next;
    if (this.lastHold === place) this.lastHold = place.previous;
    unlink(place);
    this.holdCount -= 1;
    this.#check();
  }

  /** What must be true between any two changes. */
  #check(): void {
    assert(
      this.holdCount >= 0 && (this.holdCount === 0) === (this.firstHold === undefined),
      () => `${this.name}: ${this.holdCount} holds, first ${this.firstHold !== undefined}`,
    );
    assert(
      this.waiterCount >= 0 && (this.waiterCount === 0) === (this.firstWaiter === undefined),
      () => `${this.name}: ${this.waiterCount} waiters, first ${this.firstWaiter !== undefined}`,
    );
    assert(
      !isExclusive(this.firstHold) || this.holdCount === 1,
      () => `${this.name}: exclusive among ${this.holdCount} holds`,
    );
    const first = this.firstWaiter;
    if (first === undefined || !first.reached) return;
    assert(
      first.exclusive
        ? this.holdCount === 0 && this.frontier === first.next
        : !isExclusive(this.firstHold),
      () => `${this.name}: its first waiter was reached beside ${this.holdCount} holds`,
    );
  }
}

function isExclusive(place: Place | undefined): boolean {
  return place?.exclusive === true;
}
