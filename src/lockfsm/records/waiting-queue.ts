/**
 * The queue of a key, in the one total order of requests. Nearly every request comes last. One with
 * a head start must find its place among perhaps a hundred thousand, and express lists over every
 * eighth, every sixty-fourth, … place make that short. The number of express lists that contain a
 * place follows from its request's number, so every node builds the same lists.
 *
 * The queue begins with the *reached* places: nothing before them, neither hold nor request,
 * conflicts with them. They are one exclusive place, one place of a semaphore, or a run of shared
 * ones. `frontier` is the first place after them, so that the end of any claim has one place to
 * examine. A queue knows of a place only its neighbours and its order, not its key.
 */
import { assert } from "../../errors/index.js";
import { type Linked, unlink } from "../structures/record-list.js";

/** Every 2^3rd place is in the first express list, every 2^3rd of these in the next. */
const STEP_BITS = 3;
const LEVELS_MAX = 8;

/** The one total order of requests: by rank, then by arrival. */
export interface QueueOrder {
  /** The time of arrival less the head start, in cluster milliseconds. */
  readonly rank: number;
  readonly number: number;
}

export function comesBefore(left: QueueOrder, right: QueueOrder): boolean {
  return left.rank < right.rank || (left.rank === right.rank && left.number < right.number);
}

/** The neighbours of a place in the express lists that contain it. */
export interface Tower<Place> {
  readonly previous: (Place | undefined)[];
  readonly next: (Place | undefined)[];
}

/** The parts of a place that a queue uses. */
export interface Queued<Place> extends Linked<Place> {
  /** The order of its request. */
  readonly order: QueueOrder;
  tower: Tower<Place> | undefined;
}

export class WaitingQueue<Place extends Queued<Place>> {
  first: Place | undefined = undefined;
  last: Place | undefined = undefined;
  count = 0;
  /** The first place that has not been reached. */
  frontier: Place | undefined = undefined;
  /** The first hold whose holder may not have been notified that a request waits. */
  unnotified: Place | undefined = undefined;
  /** Places of requests that could be part of a cycle of waits, in order. */
  readonly listed: Place[] = [];
  readonly #heads: (Place | undefined)[] = [];
  readonly #tails: (Place | undefined)[] = [];

  /** Whether nothing before a place of this queue conflicts with it, in this key. */
  hasReached(place: Place): boolean {
    const { frontier } = this;
    return frontier === undefined || comesBefore(place.order, frontier.order);
  }

  /** The first place that does not come before `order`. */
  firstFrom(order: QueueOrder): Place | undefined {
    const before = this.#lastBefore(order);
    return before === undefined ? this.first : before.next;
  }

  /** Inserts a place in the order of its request. The caller must update the frontier. */
  insert(place: Place): void {
    const { order } = place;
    const { last } = this;
    const isLast = last === undefined || comesBefore(last.order, order);
    const path: (Place | undefined)[] = [];
    const before = isLast ? last : this.#lastBefore(order, path);
    place.previous = before;
    place.next = before === undefined ? this.first : before.next;
    if (before === undefined) this.first = place;
    else before.next = place;
    if (place.next === undefined) this.last = place;
    else place.next.previous = place;
    this.count += 1;
    const height = heightOf(order.number);
    if (height > 0) this.#raise(place, height, isLast ? this.#tails : path);
  }

  /** Removes a place. If the frontier was there, it moves to the next place. */
  remove(place: Place): void {
    if (this.frontier === place) this.frontier = place.next;
    if (this.first === place) this.first = place.next;
    if (this.last === place) this.last = place.previous;
    unlink(place);
    this.count -= 1;
    if (place.tower !== undefined) this.#lower(place);
  }

  list(place: Place): void {
    this.listed.splice(this.#listedAt(place.order), 0, place);
  }

  unlist(place: Place): void {
    const at = this.#listedAt(place.order);
    assert(this.listed[at] === place, () => `request ${place.order.number} is not listed at ${at}`);
    if (at === 0) this.listed.shift();
    else this.listed.splice(at, 1);
  }

  /** How many of the listed places come up to and including `place`. */
  countListedTo(place: Place): number {
    const at = this.#listedAt(place.order);
    return this.listed[at] === place ? at + 1 : at;
  }

  /** How many of the listed places have been reached. */
  countReachedListed(): number {
    const { frontier, listed } = this;
    return frontier === undefined ? listed.length : this.#listedAt(frontier.order);
  }

  /** The position of the first listed place that does not come before `order`. */
  #listedAt(order: QueueOrder): number {
    const { listed } = this;
    let low = 0;
    let high = listed.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comesBefore((listed[middle] as Place).order, order)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Stores in `path` the last place of each express list that comes before `order`. */
  #lastBefore(order: QueueOrder, path?: (Place | undefined)[]): Place | undefined {
    let at: Place | undefined;
    for (let level = this.#heads.length - 1; level >= 0; level -= 1) {
      for (;;) {
        const next: Place | undefined =
          at === undefined ? this.#heads[level] : at.tower?.next[level];
        if (next === undefined || !comesBefore(next.order, order)) break;
        at = next;
      }
      if (path !== undefined) path[level] = at;
    }
    for (;;) {
      const next: Place | undefined = at === undefined ? this.first : at.next;
      if (next === undefined || !comesBefore(next.order, order)) return at;
      at = next;
    }
  }

  #raise(place: Place, height: number, path: readonly (Place | undefined)[]): void {
    const tower = { previous: [] as (Place | undefined)[], next: [] as (Place | undefined)[] };
    for (let level = 0; level < height; level += 1) {
      const before = path[level];
      const next = before === undefined ? this.#heads[level] : before.tower?.next[level];
      tower.previous[level] = before;
      tower.next[level] = next;
      if (before?.tower === undefined) this.#heads[level] = place;
      else before.tower.next[level] = place;
      if (next?.tower === undefined) this.#tails[level] = place;
      else next.tower.previous[level] = place;
    }
    place.tower = tower;
  }

  #lower(place: Place): void {
    const { previous, next } = place.tower ?? { previous: [], next: [] };
    for (let level = 0; level < next.length; level += 1) {
      const [before, after] = [previous[level], next[level]];
      if (before?.tower === undefined) this.#heads[level] = after;
      else before.tower.next[level] = after;
      if (after?.tower === undefined) this.#tails[level] = before;
      else after.tower.previous[level] = before;
    }
    place.tower = undefined;
  }
}

/** The number of express lists that contain a request of this number. */
function heightOf(number: number): number {
  let hash = Math.imul(number >>> 0, 0x9e37_79b1);
  hash = (hash ^ (hash >>> 15)) >>> 0;
  let height = 0;
  while ((hash & ((1 << STEP_BITS) - 1)) === 0 && height < LEVELS_MAX) {
    height += 1;
    hash >>>= STEP_BITS;
  }
  return height;
}
