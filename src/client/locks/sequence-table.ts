/**
 * What a session has in the table of locks, by sequence: a hash table with open addressing that uses
 * its places again. A `Map` replaces its storage after some thousand insertions and removals, and each
 * storage that it leaves keeps alive what was in it, with promises and locks, until a collection of
 * the old heap.
 *
 * It never shrinks: a session that had a hundred thousand holds keeps 2 MiB for it.
 */

const PLACES_LOG2_MIN = 6;
/** 2^32 divided by the golden ratio. */
const HASH_FACTOR = 0x9e3779b1;

/** Something that has the same sequence while it is in the table. */
interface Sequenced {
  readonly sequence: number;
}

export class SequenceTable<T extends Sequenced> {
  /** At most half of them are taken. */
  #places: (T | undefined)[] = emptyPlaces(PLACES_LOG2_MIN);
  /** A hash, shifted right by it, is a place. */
  #shift = 32 - PLACES_LOG2_MIN;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(sequence: number): T | undefined {
    return this.#places[this.#find(sequence)];
  }

  /** Replaces what was there with the same sequence. */
  set(value: T): void {
    let at = this.#find(value.sequence);
    if (this.#places[at] === undefined) {
      if (2 * (this.#size + 1) > this.#places.length) {
        this.#grow();
        at = this.#find(value.sequence);
      }
      this.#size += 1;
    }
    this.#places[at] = value;
  }

  delete(sequence: number): void {
    const places = this.#places;
    const mask = places.length - 1;
    let gap = this.#find(sequence);
    if (places[gap] === undefined) return;
    this.#size -= 1;
    // What would not be found behind the gap moves into it, and leaves another gap.
    let at = gap;
    for (;;) {
      at = (at + 1) & mask;
      const value = places[at];
      if (value === undefined) break;
      const distance = (at - this.#home(value.sequence)) & mask;
      if (distance < ((at - gap) & mask)) continue;
      places[gap] = value;
      gap = at;
    }
    places[gap] = undefined;
  }

  clear(): void {
    this.#places.fill(undefined);
    this.#size = 0;
  }

  /** In the order of their sequences. */
  all(): T[] {
    if (this.#size === 0) return [];
    const all = this.#places.filter((value) => value !== undefined);
    return all.sort((one, other) => one.sequence - other.sequence);
  }

  /** The place of this sequence, or the empty one where it belongs. */
  #find(sequence: number): number {
    const places = this.#places;
    const mask = places.length - 1;
    let at = this.#home(sequence);
    for (;;) {
      const value = places[at];
      if (value === undefined || value.sequence === sequence) return at;
      at = (at + 1) & mask;
    }
  }

  /**
   * Sequences that follow one another get homes far apart. Otherwise many holds that were taken
   * together would be one block of places, and each sequence that falls into it would be searched for
   * through the rest of the block.
   */
  #home(sequence: number): number {
    return Math.imul(sequence, HASH_FACTOR) >>> this.#shift;
  }

  #grow(): void {
    const before = this.#places;
    this.#shift -= 1;
    this.#places = emptyPlaces(32 - this.#shift);
    for (const value of before) {
      if (value !== undefined) this.#places[this.#find(value.sequence)] = value;
    }
  }
}

function emptyPlaces<T>(log2: number): (T | undefined)[] {
  return new Array<T | undefined>(2 ** log2).fill(undefined);
}
