/**
 * A queue, first in, first out, with constant time per operation. Taken items are removed in bulk.
 */

/** Taken items are removed when there are this many. */
const TAKEN_MAX = 1_024;

export class Fifo<Item> {
  #items: Item[] = [];
  /** Index of the first item that has not been taken. */
  #head = 0;

  get size(): number {
    return this.#items.length - this.#head;
  }

  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  add(item: Item): void {
    this.#items.push(item);
  }

  take(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.#cut();
    else if (this.#head >= TAKEN_MAX && this.#head * 2 > this.#items.length) this.#cut();
    return item;
  }

  /** Visits the items in order. */
  forEach(visit: (item: Item) => void): void {
    for (let at = this.#head; at < this.#items.length; at += 1) visit(this.#items[at] as Item);
  }

  /** A copy of the items, in order. */
  list(): Item[] {
    return this.#items.slice(this.#head);
  }

  #cut(): void {
    this.#items.splice(0, this.#head);
    this.#head = 0;
  }
}
