/**
 * A limited sample of an unlimited stream, for display: while there is room everything is kept;
 * then the less interesting half is dropped, and less interesting items are no longer added.
 */
export class KeptSample<T> {
  readonly #max: number;
  readonly #weightOf: (item: T) => number;
  #items: T[] = [];
  #weightMin = Number.NEGATIVE_INFINITY;
  /** The number of items that were offered. */
  offered = 0;

  /** `weightOf`: how interesting an item is. */
  constructor(max: number, weightOf: (item: T) => number) {
    this.#max = max;
    this.#weightOf = weightOf;
  }

  get items(): readonly T[] {
    return this.#items;
  }

  add(item: T): void {
    this.offered += 1;
    if (this.#weightOf(item) < this.#weightMin) return;
    this.#items.push(item);
    if (this.#items.length <= this.#max) return;
    const ordered = this.#items.toSorted((a, b) => this.#weightOf(b) - this.#weightOf(a));
    this.#items = ordered.slice(0, Math.floor(this.#max / 2));
    this.#weightMin = this.#weightOf(this.#items.at(-1) as T);
  }
}
