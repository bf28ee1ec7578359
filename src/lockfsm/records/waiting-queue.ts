/**
 * Who waits for a key, in the one total order of requests. Nearly everybody comes last; a head start
 * has to find its place among a hundred thousand, which express lists over every eighth, every
 * sixty-fourth … place make short. How high a place stands in them follows from its request's number,
 * so every node builds the same.
 *
 * The queue begins with the places that were *reached*: nothing before them, neither hold nor
 * request, conflicts with them. They are either one exclusive place, or one of a semaphore, or a run
 * of shared ones. `frontier` is the first place behind them, so that whatever ends has one place to
 * look at. A queue knows of a place its neighbours and its order, not the key that it is in.
 */
import { assert } from "../../assert.js";
import { type Linked, unlink } from "../index/record-list.js";

/** Every 2^3rd place stands in the first express list, every 2^3rd of these in the next. */
const STEP_BITS = 3;
const LEVELS_MAX = 8;

/** The one total order of requests: by rank, then by arrival. */
export interface Order {
  /** The time of arrival less the head start, in cluster milliseconds. */
  readonly rank: number;
  readonly number: number;
}

export function comesBefore(left: Order, right: Order): boolean {
  return left.rank < right.rank || (left.rank === right.rank && left.number < right.number);
}

/** The express lists in which a place stands. */
export interface Tower<Place> {
  readonly previous: (Place | undefined)[];
  readonly next: (Place | undefined)[];
}

/** What a queue looks at in a place. */
export interface Queued<Place> extends Linked<Place> {
  /** Its request's. */
  readonly order: Order;
  tower: Tower<Place> | undefined;
}

export class WaitingQueue<Place extends Queued<Place>> {
  first: Place | undefined = undefined;
  last: Place | undefined = undefined;
  count = 0;
  /** The first place that was not reached. */
  frontier: Place | undefined = undefined;
  /** The first hold whose holder may not know yet that somebody waits behind it. */
  untold: Place | undefined = undefined;
  /** Places of requests that could be part of a cycle of waits, in order. */
  readonly listed: Place[] = [];
  readonly #heads: (Place | undefined)[] = [];
  readonly #tails: (Place | undefined)[] = [];

  /** Whether nothing before it, in this key, conflicts with a place of this queue. */
  hasReached(place: Place): boolean {
    const { frontier } = this;
    return frontier === undefined || comesBefore(place.order, frontier.order);
  }

  /** The first place that does not come before `order`. */
  firstFrom(order: Order): Place | undefined {
    const before = this.#lastBefore(order);
    return before === undefined ? this.first : before.next;
  }

  /** Puts a place where its request's order says. The frontier is the caller's business. */
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

  /** The frontier and the untold move on where it was they. */
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

  /** How many of the listed places come before `place` or are it. */
  countListedTo(place: Place): number {
    const at = this.#listedAt(place.order);
    return this.listed[at] === place ? at + 1 : at;
  }

  /** How many of the listed places were reached. */
  countReachedListed(): number {
    const { frontier, listed } = this;
    return frontier === undefined ? listed.length : this.#listedAt(frontier.order);
  }

  /** The position of the first listed place that does not come before `order`. */
  #listedAt(order: Order): number {
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

  /** Notes in `path` the last place of each express list that comes before `order`. */
  #lastBefore(order: Order, path?: (Place | undefined)[]): Place | undefined {
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
      const [before, behind] = [previous[level], next[level]];
      if (before?.tower === undefined) this.#heads[level] = behind;
      else before.tower.next[level] = behind;
      if (behind?.tower === undefined) this.#tails[level] = before;
      else behind.tower.previous[level] = before;
    }
    place.tower = undefined;
  }
}

/** In how many express lists a request of this number stands. */
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
