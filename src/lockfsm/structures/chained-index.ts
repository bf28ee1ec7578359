/**
 * A hash index whose chains run through the records themselves. It takes a third of the memory of a
 * Map and never stalls when it grows ("linear-hashing.ts"). It must never be iterated where the
 * order could decide an outcome.
 */
import { BUCKETS_MIN, LinearHashing } from "./linear-hashing.js";

export abstract class ChainedIndex<T extends object> {
  readonly #buckets: (T | undefined)[] = new Array<T | undefined>(BUCKETS_MIN).fill(undefined);
  readonly #hashing = new LinearHashing();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** 32 bits, well mixed. */
  protected abstract hashOf(record: T): number;
  protected abstract nextOf(record: T): T | undefined;
  protected abstract setNext(record: T, next: T | undefined): void;

  add(record: T): void {
    this.#push(this.#hashing.bucketOf(this.hashOf(record)), record);
    this.#size += 1;
    if (this.#size > this.#buckets.length) this.#grow();
  }

  /** Returns whether the record was in the index. */
  remove(record: T): boolean {
    const bucket = this.#hashing.bucketOf(this.hashOf(record));
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

  /** The first record of the chain that contains the records with this hash. */
  protected firstOf(hash: number): T | undefined {
    return this.#buckets[this.#hashing.bucketOf(hash)];
  }

  #push(bucket: number, record: T): void {
    this.setNext(record, this.#buckets[bucket]);
    this.#buckets[bucket] = record;
  }

  #grow(): void {
    const from = this.#hashing.grow();
    let record = this.#buckets[from];
    this.#buckets[from] = undefined;
    this.#buckets.push(undefined);
    while (record !== undefined) {
      const next = this.nextOf(record);
      this.#push(this.#hashing.bucketOf(this.hashOf(record)), record);
      record = next;
    }
  }

  #shrink(): void {
    const into = this.#hashing.shrink();
    let record = this.#buckets.pop();
    while (record !== undefined) {
      const next = this.nextOf(record);
      this.#push(into, record);
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

/**
 * The same, but successive numbers have successive hashes, so that numbers from a counter are
 * adjacent in an index instead of each missing the cache. Every 2^16 numbers begin at another
 * place, so that numbers at any regular distance do not fill only a few buckets.
 */
export function hashInRows(value: number, seed: number): number {
  return ((mixNumber(Math.floor(value / 0x1_0000)) ^ seed) + (value & 0xffff)) >>> 0;
}

/** As `hashInRows`, for a number that is unique only within one session. */
export function hashInSession(session: number, value: number): number {
  return hashInRows(value, Math.imul(mixNumber(session), 0x85eb_ca6b));
}
