/**
 * The queue of one client connection, or of one other node, in the waiting line. Its items are
 * linked through themselves, so that waiting allocates nothing. An item never leaves before those
 * that came earlier.
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
  /** Bytes that it may still take in its present turn; negative after an item that was larger. */
  credit = 0;
  /** The lane whose turn comes after this one. Meaningless while this one is empty. */
  next: Lane<Item> = this;
  #last: Item | undefined = undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Shares that it gets of a round: those of its first item. */
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
