/**
 * A map that never stalls the loop when it grows. One insertion into a Map of a million entries was
 * seen to take 71 ms; this map becomes 256 Maps while it is still small. It must never be iterated
 * where the order could decide an outcome: `forEach` is for sums over everything.
 */

/** Up to this size it is one Map. The step to shards moves this many entries, once. */
const FLAT_ENTRIES_MAX = 16_384;
const SHARDS = 256;

export class ShardedMap<K extends string | number, V> {
  readonly #hash: (key: K) => number;
  #flat: Map<K, V> | undefined = new Map();
  #shards: Map<K, V>[] = [];
  #size = 0;

  /** `hash` must have 32 bits, of which the low eight choose the shard. */
  constructor(hash: (key: K) => number) {
    this.#hash = hash;
  }

  get size(): number {
    return this.#size;
  }

  get(key: K): V | undefined {
    return this.#mapOf(key).get(key);
  }

  /** Adds or replaces. */
  set(key: K, value: V): void {
    const map = this.#mapOf(key);
    const before = map.size;
    map.set(key, value);
    this.#size += map.size - before;
    if (this.#flat !== undefined && this.#size > FLAT_ENTRIES_MAX) this.#spread(this.#flat);
  }

  delete(key: K): boolean {
    if (!this.#mapOf(key).delete(key)) return false;
    this.#size -= 1;
    if (this.#flat === undefined && this.#size === 0) this.#flatten();
    return true;
  }

  /** Visits the values in no particular order. */
  forEach(visit: (value: V) => void): void {
    if (this.#flat !== undefined) for (const value of this.#flat.values()) visit(value);
    for (const shard of this.#shards) for (const value of shard.values()) visit(value);
  }

  /**
   * Yields values while the map may change between two of them: each value that was in it from the
   * beginning and stays, and perhaps some that were removed. New values are added after the old
   * ones, so each Map is left at its first value that `isNew`.
   */
  *valuesUntil(isNew: (value: V) => boolean): Generator<V, void, void> {
    // If the entries are spread meanwhile, the rest of them is still in the Map they came from.
    const maps = this.#flat === undefined ? this.#shards : [this.#flat];
    for (const map of maps) {
      for (const value of map.values()) {
        if (isNew(value)) break;
        yield value;
      }
    }
  }

  #mapOf(key: K): Map<K, V> {
    if (this.#flat !== undefined) return this.#flat;
    return this.#shards[this.#hash(key) & (SHARDS - 1)] as Map<K, V>;
  }

  #spread(flat: Map<K, V>): void {
    this.#flat = undefined;
    this.#shards = Array.from({ length: SHARDS }, () => new Map<K, V>());
    for (const [key, value] of flat) this.#mapOf(key).set(key, value);
  }

  #flatten(): void {
    this.#shards = [];
    this.#flat = new Map();
  }
}

/** Spreads whole numbers well, including tokens, which rise by one. */
export function hashNumber(value: number): number {
  const folded = (value >>> 0) ^ Math.floor(value / 0x1_0000_0000);
  return Math.imul(folded, 0x9e37_79b1) >>> 24;
}

/** FNV-1a over UTF-16 units. */
export function hashText(text: string): number {
  let hash = 0x811c_9dc5;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x0100_0193);
  }
  return hash ^ (hash >>> 15);
}
