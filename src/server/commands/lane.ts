/**
 * The queue of one client connection, or of one other node, in the waiting line, and the groups in
 * which queues take turns. Items are linked through themselves, so that waiting allocates nothing. An
 * item never leaves its lane before those that came earlier.
 */

export interface LaneItem<Item> {
  /** Shares of a round of all lanes that its lane gets while it is the first. */
  readonly weight: number;
  isInLine: boolean;
  /** The one after it in its lane. */
  nextInLane: Item | undefined;
}

export class Lane<Item extends LaneItem<Item>> {
  first: Item | undefined = undefined;
  /** Bytes that it may still take in its current turn; negative after an item that was larger. */
  credit = 0;
  /** The lane whose turn comes after this one. Meaningless while this one is empty. */
  next: Lane<Item> = this;
  #last: Item | undefined = undefined;
  /** The group in which it takes turns. Meaningless while it is empty. */
  group: LaneGroup<Item> | undefined = undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** How many shares of a round it gets: as many as its first item. */
  get weight(): number {
    return this.first?.weight ?? 0;
  }

  push(item: Item): void {
    item.isInLine = true;
    if (this.#last === undefined) this.first = item;
    else this.#last.nextInLane = item;
    this.#last = item;
  }

  unshift(item: Item): void {
    item.isInLine = true;
    item.nextInLane = this.first;
    this.first = item;
    this.#last ??= item;
  }

  shift(): Item | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.first = first.nextInLane;
    if (this.first === undefined) this.#last = undefined;
    first.nextInLane = undefined;
    first.isInLine = false;
    return first;
  }
}

/**
 * Lanes that take turns with one another, and together with the other groups: the lanes of one
 * identity's connections, the one lane of another node, or all lanes on an open cluster.
 */
export class LaneGroup<Item extends LaneItem<Item>> {
  /** The number of the identity whose lanes these are; `undefined`: of several. */
  readonly identity: number | undefined;
  /** Whether its only lane belongs to another node and has commands of several identities. */
  readonly isOfPeer: boolean;
  /** The lanes that are not empty form a circle; this one has the last turn. */
  lastLane: Lane<Item> | undefined = undefined;
  /** The sum over the lanes. */
  weight = 0;
  /** Bytes that it may still take in its current turn; `Infinity` while there is no other group. */
  credit = 0;
  /** The group whose turn comes after this one. Meaningless while this one is empty. */
  next: LaneGroup<Item> = this;

  constructor(of: { readonly identity?: number; readonly isOfPeer?: boolean } = {}) {
    this.identity = of.identity;
    this.isOfPeer = of.isOfPeer === true;
  }

  get isEmpty(): boolean {
    return this.lastLane === undefined;
  }

  /** The lane that has the next turn. */
  get firstLane(): Lane<Item> | undefined {
    return this.lastLane?.next;
  }

  /** It gets the last turn. */
  add(lane: Lane<Item>): void {
    lane.group = this;
    lane.next = this.lastLane?.next ?? lane;
    if (this.lastLane !== undefined) this.lastLane.next = lane;
    this.lastLane = lane;
  }

  removeFirst(): void {
    const last = this.lastLane;
    const first = last?.next;
    if (last === undefined || first === undefined) return;
    first.credit = 0;
    if (first === last) this.lastLane = undefined;
    else last.next = first.next;
    first.next = first;
  }
}
