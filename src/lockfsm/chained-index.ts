/**
 * A hash index whose chains run through the records themselves (objects, or rows of numbers), in
 * memory a third of a Map's, and one that never stalls by growing: with every record that is added at most one bucket is split in two
 * (linear hashing; Litwin, "Linear Hashing: A New Tool for File and Table Addressing", 1980). It is
 * never iterated where the order could decide an outcome.
 */

const BUCKETS_MIN = 8;

export abstract class ChainedIndex<T extends object | number> {
  readonly #buckets: (T | undefined)[] = new Array<T | undefined>(BUCKETS_MIN).fill(undefined);
  /** A power of two; buckets below `#split` have been split into those from `#level` on. */
  #level = BUCKETS_MIN;
  #split = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** 32 bits, well mixed. */
  protected abstract hashOf(record: T): number;
  protected abstract nextOf(record: T): T | undefined;
  protected abstract setNext(record: T, next: T | undefined): void;

  add(record: T): void {
    this.#push(this.#bucketOf(this.hashOf(record)), record);
    this.#size += 1;
    if (this.#size > this.#buckets.length) this.#grow();
  }

  /** Returns whether it was there. */
  remove(record: T): boolean {
    const bucket = this.#bucketOf(this.hashOf(record));
    let before: T | undefined;
    let at = this.#buckets[bucket];
    while (at !== record) {
      if (at === undefined) return false;
      before = at;
      at = this.nextOf(at);
    }
    const next = this.nextOf(record);
    if (before === undefined) this.#buckets[bucket] = next;
    else this.setNext(before, next);
    this.setNext(record, undefined);
    this.#size -= 1;
    if (this.#buckets.length > BUCKETS_MIN && this.#size * 4 < this.#buckets.length) this.#shrink();
    return true;
  }

  /** The first of the records among which those of this hash are. */
  protected firstOf(hash: number): T | undefined {
    return this.#buckets[this.#bucketOf(hash)];
  }

  #bucketOf(hash: number): number {
    const bucket = hash & (this.#level - 1);
    return bucket < this.#split ? hash & (2 * this.#level - 1) : bucket;
  }

  #push(bucket: number, record: T): void {
    this.setNext(record, this.#buckets[bucket]);
    this.#buckets[bucket] = record;
  }

  #grow(): void {
    const from = this.#split;
    let record = this.#buckets[from];
    this.#buckets[from] = undefined;
    this.#buckets.push(undefined);
    this.#split += 1;
    if (this.#split === this.#level) {
      this.#level *= 2;
      this.#split = 0;
    }
    while (record !== undefined) {
      const next = this.nextOf(record);
      this.#push(this.#bucketOf(this.hashOf(record)), record);
      record = next;
    }
  }

  #shrink(): void {
    if (this.#split === 0) {
      this.#level /= 2;
      this.#split = this.#level;
    }
    this.#split -= 1;
    let record = this.#buckets.pop();
    while (record !== undefined) {
      const next = this.nextOf(record);
      this.#push(this.#split, record);
      record = next;
    }
  }
}

/** Mixes a whole number of up to 53 bits into 32. */
export function mixNumber(value: number): number {
  let mixed = (value >>> 0) ^ Math.imul(Math.floor(value / 0x1_0000_0000), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
