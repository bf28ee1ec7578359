/**
 * A key in use and the places in it: who holds it, what keeps it closed, and who waits for it. All
 * changes of one key are here, each in constant time but for finding a head start's place. Nothing
 * here knows sessions, time or replies; it knows of those who stand in a key only what orders them.
 */
import { assert } from "../../assert.js";
import type { ClaimMode } from "../../protocol/index.js";
import { unlink } from "../index/record-list.js";
import type { Changing } from "./copy-on-write.js";
import type { Semaphore } from "./semaphore.js";
import { comesBefore, type Order, type Queued, type Tower, WaitingQueue } from "./waiting-queue.js";

/** Who stands at a place: a request, a hold, a closing. */
export interface Claimant {
  readonly firstPlace: Place | undefined;
  /** Its places belong to it, and change as its fields do. */
  change(): unknown;
}

/** In a queue. */
interface Waiting extends Claimant, Order {
  /** What does not stand in its way, though it holds the key. */
  readonly upgrades: Claimant | undefined;
}

/** Among the holds. */
interface Holding extends Claimant {
  readonly token: number;
}

/** A key, or the row of the lone hold that is all there is to be known of one. */
export type KeyEntry = Key | number;

/** Names that the index of keys keeps together. */
export interface KeyBlock {
  /** No name in it is smaller. The first block begins with the empty name. */
  lowest: string;
  readonly keys: Map<string, KeyEntry>;
}

const NO_PLACES: readonly Place[] = Object.freeze([]);

/** What a place has when it is of a semaphore. */
export class Permits {
  readonly wanted: number;
  /** Once they are held: as many numbers, ascending. */
  slots: readonly number[] = [];

  constructor(wanted: number) {
    this.wanted = wanted;
  }
}

/**
 * One key of a claim: of a request that waits, of the hold that it becomes, of the closing that the
 * hold may leave behind. The same object passes from one to the next, so that nothing has to be
 * found again.
 */
export class Place implements Queued<Place> {
  readonly key: Key;
  /** Changes in place by an upgrade or a downgrade. */
  readonly mode: ClaimMode;
  claimant: Claimant;
  /** Neighbours in the list of the key it is in: its queue, or its holds and closings. */
  previous: Place | undefined = undefined;
  next: Place | undefined = undefined;
  /** The next item of the same claimant, in the order of the command. */
  readonly sibling: Place | undefined = undefined;
  /** Of semaphores only. */
  readonly permits: Permits | undefined;
  tower: Tower<Place> | undefined = undefined;

  constructor(key: Key, mode: ClaimMode, claimant: Claimant, permits: Permits | undefined) {
    this.key = key;
    this.mode = mode;
    this.claimant = claimant;
    this.permits = permits;
  }

  /** Gives out what belongs to its claimant to be written. */
  change(): Changing<Place> {
    this.claimant.change();
    return this;
  }

  /** Of one in a queue: its request, which says where it stands. */
  get order(): Waiting {
    return this.claimant as Waiting;
  }

  /** 0 of locks. */
  get wanted(): number {
    return this.permits?.wanted ?? 0;
  }
}

export class Key {
  readonly name: string;
  /** Where the index keeps it; `undefined` once it was forgotten. */
  block: KeyBlock | undefined;
  /** Holds and closings, in the order of tokens. Either one exclusive place or others. */
  firstHold: Place | undefined = undefined;
  lastHold: Place | undefined = undefined;
  holdCount = 0;
  /**
   * Of the holds those whose owners wait for something too, in the order of tokens: nobody else can
   * be part of a cycle of waits. "owners.ts" says who stands here.
   */
  #heldByWaiters: Place[] | undefined = undefined;
  /** While anybody waits. */
  queue: WaitingQueue<Place> | undefined = undefined;
  /** While it is a semaphore, not a lock. */
  semaphore: Semaphore | undefined = undefined;
  /** Whether the work queue holds this key: something is left that could be done. */
  isQueuedForWork = false;

  constructor(name: string, block: KeyBlock | undefined) {
    this.name = name;
    this.block = block;
  }

  /** It is known, and nothing of it needs to be. */
  get isIdle(): boolean {
    if (this.isUsed || this.isQueuedForWork || this.block === undefined) return false;
    return this.semaphore === undefined || !this.semaphore.isSet;
  }

  /** Whether anything but a limit that was set makes it what it is. */
  get isUsed(): boolean {
    return this.holdCount > 0 || this.queue !== undefined;
  }

  get heldByWaiters(): readonly Place[] {
    return this.#heldByWaiters ?? NO_PLACES;
  }

  get waiterCount(): number {
    return this.queue?.count ?? 0;
  }

  get frontier(): Place | undefined {
    return this.queue?.frontier;
  }

  /**
   * Whether a hold would conflict with no other and no closing; those who wait are not looked at.
   * `own` is not in the way of its own upgrade.
   */
  admitsHold(mode: ClaimMode, wanted: number, own?: Claimant): boolean {
    switch (mode) {
      case "exclusive":
        if (this.holdCount === 0) return true;
        return own !== undefined && this.holdCount === 1 && this.firstHold?.claimant === own;
      case "shared":
        return this.firstHold?.mode !== "exclusive";
      case "permits":
        return (this.semaphore?.held ?? 0) + wanted <= (this.semaphore?.limit ?? 0);
    }
  }

  /** Whether a place that came now, behind everything, would conflict with nothing. */
  admits(mode: ClaimMode, wanted: number): boolean {
    const { queue } = this;
    if (queue !== undefined) {
      if (queue.frontier !== undefined) return false;
      if (mode !== "shared" || queue.first?.mode !== "shared") return false;
    }
    return this.admitsHold(mode, wanted);
  }

  /** Whether the place at the frontier conflicts with nothing before it any more. */
  get canReachNext(): boolean {
    const place = this.queue?.frontier;
    return place !== undefined && this.#isEligible(place);
  }

  /** Moves the frontier over one place, which must be eligible, and returns it. */
  reachNext(): Place {
    const { queue } = this;
    const place = queue?.frontier;
    assert(
      queue !== undefined && place !== undefined && this.#isEligible(place),
      () => `${this.name}: nothing to reach`,
    );
    queue.frontier = place.next;
    return place;
  }

  /** Whether nothing before a waiting place conflicts with it. */
  hasReached(place: Place): boolean {
    return this.queue?.hasReached(place) ?? false;
  }

  /**
   * Puts a place into the queue. What comes behind a head start may not be eligible any more: then
   * the frontier comes back to it.
   */
  enqueue(place: Place): void {
    this.queue ??= this.#newQueue();
    const { queue } = this;
    const { frontier } = queue;
    queue.insert(place);
    // An upgrade alone is nobody whom its own hold would be in the way of; with others it is.
    const isUpgradeFirst = queue.first !== undefined && queue.first.order.upgrades !== undefined;
    if (queue.count === 2 && isUpgradeFirst) queue.untold = this.firstHold;
    const isAhead = frontier === undefined || comesBefore(place.order, frontier.order);
    if (isAhead) queue.frontier = this.#isEligible(place) ? this.#firstBlocked(place) : place;
    this.#check();
  }

  dequeue(place: Place): void {
    const { queue } = this;
    assert(queue !== undefined, () => `${this.name}: nobody waits`);
    queue.remove(place);
    if (queue.count === 0) this.queue = undefined;
    this.#check();
  }

  addHold(place: Place): void {
    assert(
      this.admitsHold(place.mode, place.wanted),
      () => `${this.name}: a hold that conflicts with one of ${this.holdCount}`,
    );
    if (place.permits !== undefined) {
      place.permits.slots = this.semaphore?.take(place.permits.wanted) ?? [];
    }
    this.#append(place);
    // A thief comes before those who were reached.
    this.retreat();
    this.#check();
  }

  removeHold(place: Place): void {
    this.#remove(place);
    if (place.permits !== undefined) this.semaphore?.give(place.permits.slots);
    this.#check();
  }

  /** Its hold has got a new token. */
  moveHoldLast(place: Place): void {
    this.#remove(place);
    this.#append(place);
  }

  /** Puts back a hold or closing of a snapshot, behind those with smaller tokens. */
  restoreHold(place: Place): boolean {
    const { mode, permits } = place;
    if (permits === undefined && !this.admitsHold(mode, 0)) return false;
    this.#append(place);
    return true;
  }

  addHeldByWaiter(place: Place): void {
    this.#heldByWaiters ??= [];
    const at = positionOf(this.#heldByWaiters, tokenOf(place));
    if (at === this.#heldByWaiters.length) this.#heldByWaiters.push(place);
    else this.#heldByWaiters.splice(at, 0, place);
  }

  removeHeldByWaiter(place: Place): void {
    const places = this.#heldByWaiters ?? [];
    const at = positionOf(places, tokenOf(place));
    assert(places[at] === place, () => `${this.name}: no owner that waits holds at ${at}`);
    if (places.length === 1) this.#heldByWaiters = undefined;
    else places.splice(at, 1);
  }

  /** A hold became stronger, or the limit lower: what was reached may not be eligible any more. */
  retreat(): void {
    const { queue } = this;
    const first = queue?.first;
    if (queue === undefined || first === undefined || queue.frontier === first) return;
    if (!this.#isEligible(first)) queue.frontier = first;
  }

  /** Whether `place`, which stands in the queue with nothing unreached before it, is eligible. */
  #isEligible(place: Place): boolean {
    const { mode, previous } = place;
    if (previous !== undefined && (mode !== "shared" || previous.mode !== "shared")) return false;
    return this.admitsHold(mode, place.wanted, place.order.upgrades);
  }

  /** Behind an eligible place: the first that is not, of those that were reached before it came. */
  #firstBlocked(place: Place): Place | undefined {
    const { next } = place;
    const frontier = this.queue?.frontier;
    if (next === undefined || next === frontier) return frontier;
    // What was reached is of one kind, so that its first says it for all.
    return place.mode === "shared" && next.mode === "shared" ? frontier : next;
  }

  #newQueue(): WaitingQueue<Place> {
    const queue = new WaitingQueue<Place>();
    queue.untold = this.firstHold;
    return queue;
  }

  #append(place: Place): void {
    place.previous = this.lastHold;
    if (this.lastHold === undefined) this.firstHold = place;
    else this.lastHold.next = place;
    this.lastHold = place;
    this.holdCount += 1;
    const { queue } = this;
    if (queue !== undefined) queue.untold ??= place;
  }

  #remove(place: Place): void {
    const { queue } = this;
    if (queue?.untold === place) queue.untold = place.next;
    if (this.firstHold === place) this.firstHold = place.next;
    if (this.lastHold === place) this.lastHold = place.previous;
    unlink(place);
    this.holdCount -= 1;
  }

  /** What must be true between any two changes. */
  #check(): void {
    const { firstHold, holdCount, queue } = this;
    assert(
      holdCount >= 0 && (holdCount === 0) === (firstHold === undefined),
      () => `${this.name}: ${holdCount} holds, first ${firstHold !== undefined}`,
    );
    assert(
      firstHold?.mode !== "exclusive" || holdCount === 1,
      () => `${this.name}: exclusive among ${holdCount} holds`,
    );
    if (queue === undefined) return;
    const { first, count } = queue;
    assert(
      count > 0 && first !== undefined,
      () => `${this.name}: ${count} waiters, first ${first !== undefined}`,
    );
    if (first === undefined || queue.frontier === first) return;
    assert(
      this.#isEligible(first) && (first.mode === "shared" || queue.frontier === first.next),
      () => `${this.name}: its first waiter was reached beside ${holdCount} holds`,
    );
  }
}

/** Where in an ascending list a token stands, or would. */
function positionOf(places: readonly Place[], token: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (tokenOf(places[middle] as Place) < token) low = middle + 1;
    else high = middle;
  }
  return low;
}

function tokenOf({ claimant }: Place): number {
  return (claimant as Holding).token;
}
