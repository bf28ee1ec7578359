/**
 * A queue in one array. Pushing and shifting move no elements, and the space of shifted items is
 * given back in large steps. Every command passes through one in its node, so it has no linked nodes.
 */
const COMPACT_AT = 1_024;

export class Fifo<Item> {
  #items: (Item | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** The item `offset` places after the first one. */
  at(offset: number): Item | undefined {
    return this.#items[this.#head + offset];
  }

  shift(): Item | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head];
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) {
      this.#items.length = 0;
      this.#head = 0;
    } else if (this.#head >= COMPACT_AT && this.#head * 2 >= this.#items.length) {
      this.#items.copyWithin(0, this.#head);
      this.#items.length -= this.#head;
      this.#head = 0;
    }
    return item;
  }

  /** Visits the items in order. */
  forEach(visit: (item: Item) => void): void {
    for (let at = this.#head; at < this.#items.length; at += 1) visit(this.#items[at] as Item);
  }

  /** A copy of the items, in order. */
  list(): Item[] {
    return this.#items.slice(this.#head) as Item[];
  }

  clear(): void {
    this.#items = [];
    this.#head = 0;
  }
}
