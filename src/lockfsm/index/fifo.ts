/** First in, first out, each in constant time; what was taken is cut off in bulk. */

/** Taken items are cut off when there are so many. */
const TAKEN_MAX = 1_024;

export class Fifo<Item> {
  #items: Item[] = [];
  /** Index of the first item that was not taken. */
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

  /** In order. */
  forEach(visit: (item: Item) => void): void {
    for (let at = this.#head; at < this.#items.length; at += 1) visit(this.#items[at] as Item);
  }

  /** In order: a copy. */
  list(): Item[] {
    return this.#items.slice(this.#head);
  }

  #cut(): void {
    this.#items.splice(0, this.#head);
    this.#head = 0;
  }
}
