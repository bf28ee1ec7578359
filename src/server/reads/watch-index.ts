/**
 * Finds the watches that match a change without looking at the others: one lookup for its key, and
 * one for each length of a watched prefix.
 */
import type { ServedWatch } from "../commands/served-watch.js";

export class WatchIndex {
  readonly #byKey = new Map<string, Set<ServedWatch>>();
  readonly #byPrefix = new Map<string, Set<ServedWatch>>();
  /** The number of different prefixes of each length. */
  readonly #prefixLengths = new Map<number, number>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(watch: ServedWatch): void {
    const { key, isPrefix } = watch.query;
    const index = isPrefix ? this.#byPrefix : this.#byKey;
    let watches = index.get(key);
    if (watches === undefined) {
      watches = new Set();
      index.set(key, watches);
      if (isPrefix) this.#countLength(key.length, 1);
    }
    watches.add(watch);
    this.#size += 1;
  }

  remove(watch: ServedWatch): void {
    const { key, isPrefix } = watch.query;
    const index = isPrefix ? this.#byPrefix : this.#byKey;
    const watches = index.get(key);
    if (watches === undefined || !watches.delete(watch)) return;
    this.#size -= 1;
    if (watches.size > 0) return;
    index.delete(key);
    if (isPrefix) this.#countLength(key.length, -1);
  }

  /** Calls `found` with each watch that matches `key`. */
  forEach(key: string, found: (watch: ServedWatch) => void): void {
    const exact = this.#byKey.get(key);
    if (exact !== undefined) for (const watch of exact) found(watch);
    for (const length of this.#prefixLengths.keys()) {
      if (length > key.length) continue;
      const watches = this.#byPrefix.get(key.slice(0, length));
      if (watches !== undefined) for (const watch of watches) found(watch);
    }
  }

  *all(): Iterable<ServedWatch> {
    for (const watches of this.#byKey.values()) yield* watches;
    for (const watches of this.#byPrefix.values()) yield* watches;
  }

  #countLength(length: number, change: number): void {
    const count = (this.#prefixLengths.get(length) ?? 0) + change;
    if (count === 0) this.#prefixLengths.delete(length);
    else this.#prefixLengths.set(length, count);
  }
}
