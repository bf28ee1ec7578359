/**
 * A bounded choice out of an unbounded stream, for what a person will look at: while there is room
 * everything is kept; beyond it the least telling half is let go, and what is less telling than
 * that is no longer taken.
 */
export class KeptSample<T> {
  readonly #max: number;
  readonly #weightOf: (item: T) => number;
  #items: T[] = [];
  #weightMin = Number.NEGATIVE_INFINITY;
  /** All that were offered. */
  offered = 0;

  /** `weightOf`: how telling an item is. */
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
