/**
 * A key in use and its places: holds, cooldowns and waiting requests. All changes of one key are in
 * this file. Each takes constant time, except finding the place of a request with a head start.
 * Nothing here may know sessions, time or replies; of a claim it knows only its order.
 */
import { assert } from "../../errors/index.js";
import type { ClaimMode } from "../../protocol/index.js";
import { unlink } from "../structures/record-list.js";
import type { Changing } from "./copy-on-write.js";
import type { Semaphore } from "./semaphore.js";
import {
  comesBefore,
  type Queued,
  type QueueOrder,
  type Tower,
  WaitingQueue,
} from "./waiting-queue.js";

/** A request, a hold or a cooldown, which a place belongs to. */
export interface Claimant {
  readonly firstPlace: Place | undefined;
  /** Must be called before a change of it or of one of its places, which belong to it. */
  change(): unknown;
}

/** A claimant in a queue. */
interface Waiting extends Claimant, QueueOrder {
  /** The hold that it upgrades, which is not in its way. */
  readonly upgrades: Claimant | undefined;
}

/** A claimant that holds. */
interface Holding extends Claimant {
  readonly token: number;
}

/** A key, or the row of the lone hold that is its only claim. */
export type KeyEntry = Key | number;

/** A range of names that the index of keys keeps together. */
export interface KeyBlock {
  /** No name in it is smaller. For the first block this is the empty name. */
  lowest: string;
  readonly keys: Map<string, KeyEntry>;
}

const NO_PLACES: readonly Place[] = Object.freeze([]);

/** The permits of a place in a semaphore. */
export class Permits {
  readonly wanted: number;
  /** Once they are held: their slot numbers, as many, ascending. */
  slots: readonly number[] = [];

  constructor(wanted: number) {
    this.wanted = wanted;
  }
}

/**
 * One key of a claim: of a waiting request, of the hold that it becomes, and of the cooldown that
 * the hold may leave. The same object passes from one to the next, so that nothing needs to be
 * found again.
 */
export class Place implements Queued<Place> {
  readonly key: Key;
  /** Changed in place by an upgrade or a downgrade. */
  readonly mode: ClaimMode;
  claimant: Claimant;
  /** Neighbours in its list of the key: the queue, or the list of holds and cooldowns. */
  previous: Place | undefined = undefined;
  next: Place | undefined = undefined;
  /** The next item of the same claimant, in the order of the command. */
  readonly sibling: Place | undefined = undefined;
  /** Set only in semaphores. */
  readonly permits: Permits | undefined;
  tower: Tower<Place> | undefined = undefined;

  constructor(key: Key, mode: ClaimMode, claimant: Claimant, permits: Permits | undefined) {
    this.key = key;
    this.mode = mode;
    this.claimant = claimant;
    this.permits = permits;
  }

  /** Gives write access to its fields, which belong to its claimant. */
  change(): Changing<Place> {
    this.claimant.change();
    return this;
  }

  /** The request of a place in a queue, which determines its order. */
  get order(): Waiting {
    return this.claimant as Waiting;
  }

  /** The number of permits; 0 in a lock. */
  get wanted(): number {
    return this.permits?.wanted ?? 0;
  }
}

export class Key {
  readonly name: string;
  /** The block of the index that contains it; `undefined` once it is forgotten. */
  block: KeyBlock | undefined;
  /**
   * Holds and cooldowns, in the order of tokens: either one exclusive place, or any number of
   * others.
   */
  firstHold: Place | undefined = undefined;
  lastHold: Place | undefined = undefined;
  holdCount = 0;
  /**
   * The holds whose tasks also wait for something, in the order of tokens: no others can be part
   * of a cycle of waits. "tasks.ts" maintains the list.
   */
  #heldByWaiters: Place[] | undefined = undefined;
  /** Set while there are waiters. */
  queue: WaitingQueue<Place> | undefined = undefined;
  /** Set while the key is a semaphore, not a lock. */
  semaphore: Semaphore | undefined = undefined;
  /** Whether the key is in the work queue, because something is left to do in it. */
  isQueuedForWork = false;

  constructor(name: string, block: KeyBlock | undefined) {
    this.name = name;
    this.block = block;
  }

  /** Whether the index has it and nothing needs it. */
  get isIdle(): boolean {
    if (this.isUsed || this.isQueuedForWork || this.block === undefined) return false;
    return this.semaphore === undefined || !this.semaphore.isSet;
  }

  /** Whether it has holds, cooldowns or waiters. A limit that was set does not count. */
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
   * Whether a hold would conflict with no other hold and no cooldown; waiters are not considered.
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

  /** Whether a place that came now, last of all, would conflict with nothing. */
  admits(mode: ClaimMode, wanted: number): boolean {
    const { queue } = this;
    if (queue !== undefined) {
      if (queue.frontier !== undefined) return false;
      if (mode !== "shared" || queue.first?.mode !== "shared") return false;
    }
    return this.admitsHold(mode, wanted);
  }

  /** Whether nothing before the place at the frontier conflicts with it any longer. */
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
   * Puts a place into the queue. A place after one with a head start may no longer be eligible;
   * then the frontier moves back to it.
   */
  enqueue(place: Place): void {
    this.queue ??= this.#newQueue();
    const { queue } = this;
    const { frontier } = queue;
    queue.insert(place);
    // A lone upgrade is not a waiter of whom its own hold must be notified; with others, the hold
    // must be.
    const isUpgradeFirst = queue.first !== undefined && queue.first.order.upgrades !== undefined;
    if (queue.count === 2 && isUpgradeFirst) queue.unnotified = this.firstHold;
    const isAhead = frontier === undefined || comesBefore(place.order, frontier.order);
    if (isAhead) queue.frontier = this.#isEligible(place) ? this.#firstBlocked(place) : place;
    this.#check();
  }

  dequeue(place: Place): void {
    const { queue } = this;
    assert(queue !== undefined, () => `${this.name}: there are no waiters`);
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
    // A thief comes before requests that were reached.
    this.retreat();
    this.#check();
  }

  removeHold(place: Place): void {
    this.#remove(place);
    if (place.permits !== undefined) this.semaphore?.give(place.permits.slots);
    this.#check();
  }

  /** Moves a hold with a new token to the end. */
  moveHoldLast(place: Place): void {
    this.#remove(place);
    this.#append(place);
  }

  /**
   * Restores a hold or cooldown of a snapshot, after those with smaller tokens. Returns false if it
   * conflicts with one of them.
   */
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
    assert(places[at] === place, () => `${this.name}: no task that waits holds at ${at}`);
    if (places.length === 1) this.#heldByWaiters = undefined;
    else places.splice(at, 1);
  }

  /**
   * Moves the frontier back if needed, after a hold became stronger or the limit lower: reached
   * places may no longer be eligible.
   */
  retreat(): void {
    const { queue } = this;
    const first = queue?.first;
    if (queue === undefined || first === undefined || queue.frontier === first) return;
    if (!this.#isEligible(first)) queue.frontier = first;
  }

  /** Whether `place`, which is in the queue with no unreached place before it, is eligible. */
  #isEligible(place: Place): boolean {
    const { mode, previous } = place;
    if (previous !== undefined && (mode !== "shared" || previous.mode !== "shared")) return false;
    return this.admitsHold(mode, place.wanted, place.order.upgrades);
  }

  /**
   * The first place after an eligible one that is not eligible, among those that had been reached
   * before it came.
   */
  #firstBlocked(place: Place): Place | undefined {
    const { next } = place;
    const frontier = this.queue?.frontier;
    if (next === undefined || next === frontier) return frontier;
    // All reached places are of one kind, so the first one decides for all.
    return place.mode === "shared" && next.mode === "shared" ? frontier : next;
  }

  #newQueue(): WaitingQueue<Place> {
    const queue = new WaitingQueue<Place>();
    queue.unnotified = this.firstHold;
    return queue;
  }

  #append(place: Place): void {
    place.previous = this.lastHold;
    if (this.lastHold === undefined) this.firstHold = place;
    else this.lastHold.next = place;
    this.lastHold = place;
    this.holdCount += 1;
    const { queue } = this;
    if (queue !== undefined) queue.unnotified ??= place;
  }

  #remove(place: Place): void {
    const { queue } = this;
    if (queue?.unnotified === place) queue.unnotified = place.next;
    if (this.firstHold === place) this.firstHold = place.next;
    if (this.lastHold === place) this.lastHold = place.previous;
    unlink(place);
    this.holdCount -= 1;
  }

  /** Asserts what must be true between any two changes. */
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
      () => `${this.name}: its first waiter was reached although there are ${holdCount} holds`,
    );
  }
}

/** The index of a token in an ascending list, or the index at which it would be. */
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
