/**
 * A hash index of rows ("hold-rows.ts"), as small and as steady as a `ChainedIndex`, and made for
 * tables that do not fit into a cache. A pointer to a row contains a few bits of the row's hash and
 * says whether another row follows, so that a row with another hash is rarely read. Half of the
 * buckets are empty. Pointers are in the buckets and, from one row to the next, in a column of the
 * rows; 0 is none.
 *
 *     bit 0 – 25   the row
 *     bit 26       it is the last of its chain
 *     bit 27 – 31  the upper bits of its hash
 */
import { assert } from "../../errors/index.js";
import { BUCKETS_MIN, LinearHashing } from "./linear-hashing.js";

const ROW_MASK = 2 ** 26 - 1;
const IS_LAST = 2 ** 26;
/** The bits of hash and pointer that must be equal begin here. */
const TAG_SHIFT = 27;

const BUCKET_BITS = 14;
const CHUNK_BUCKETS = 2 ** BUCKET_BITS;
const BUCKET_MASK = CHUNK_BUCKETS - 1;

export abstract class RowIndex {
  readonly #chunks: Int32Array[] = [new Int32Array(CHUNK_BUCKETS)];
  readonly #hashing = new LinearHashing();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bucketCount(): number {
    return this.#hashing.bucketCount;
  }

  /** 32 bits, well mixed. */
  protected abstract hashOf(row: number): number;
  /** The pointer in the column of this index. */
  protected abstract nextOf(row: number): number;
  protected abstract setNext(row: number, pointer: number): void;

  add(row: number): void {
    assert(row <= ROW_MASK, () => `row ${row} is too large for an index`);
    const hash = this.hashOf(row);
    this.#push(this.#hashing.bucketOf(hash), row, hash >>> TAG_SHIFT);
    this.#size += 1;
    // Two buckets for a row, so that growing keeps pace with adding and ends with it.
    if (this.#size * 2 > this.#hashing.bucketCount) this.#grow();
    if (this.#size * 2 > this.#hashing.bucketCount) this.#grow();
  }

  /** Returns whether the row was in the index. */
  remove(row: number): boolean {
    const hash = this.hashOf(row);
    const bucket = this.#hashing.bucketOf(hash);
    const chunk = this.#chunkOf(bucket);
    const first = chunk[bucket & BUCKET_MASK] as number;
    if (first === 0) return false;
    if ((first & ROW_MASK) === row) chunk[bucket & BUCKET_MASK] = this.nextOf(row);
    else if (!this.#removeFromChain(bucket, first, row)) return false;
    this.setNext(row, 0);
    this.#size -= 1;
    const { bucketCount } = this.#hashing;
    if (bucketCount > BUCKETS_MIN && this.#size * 8 < bucketCount) this.#shrink();
    return true;
  }

  /** The first row that may have this hash; 0 if there is none. */
  protected firstOf(hash: number): number {
    const bucket = this.#hashing.bucketOf(hash);
    return this.#after(this.#chunkOf(bucket)[bucket & BUCKET_MASK] as number, hash);
  }

  /** The next row after `row` that may have this hash; 0 if there is none. */
  protected nextWith(hash: number, row: number): number {
    return this.#after(this.nextOf(row), hash);
  }

  #after(first: number, hash: number): number {
    let pointer = first;
    while (pointer !== 0 && pointer >>> TAG_SHIFT !== hash >>> TAG_SHIFT) {
      if ((pointer & IS_LAST) !== 0) return 0;
      pointer = this.nextOf(pointer & ROW_MASK);
    }
    return pointer & ROW_MASK;
  }

  /** Removes a row that is not the first of its chain, by chaining the others again. */
  #removeFromChain(bucket: number, first: number, row: number): boolean {
    let isFound = false;
    for (let pointer = first; pointer !== 0; pointer = this.nextOf(pointer & ROW_MASK)) {
      isFound ||= (pointer & ROW_MASK) === row;
    }
    if (!isFound) return false;
    for (let pointer = this.#take(bucket); pointer !== 0; ) {
      const at = pointer & ROW_MASK;
      const next = this.nextOf(at);
      if (at !== row) this.#push(bucket, at, pointer >>> TAG_SHIFT);
      pointer = next;
    }
    return true;
  }

  #push(bucket: number, row: number, tag: number): void {
    const chunk = this.#chunkOf(bucket);
    const next = chunk[bucket & BUCKET_MASK] as number;
    this.setNext(row, next);
    chunk[bucket & BUCKET_MASK] = row | (next === 0 ? IS_LAST : 0) | (tag << TAG_SHIFT);
  }

  /** Empties a bucket and returns its pointer. */
  #take(bucket: number): number {
    const chunk = this.#chunkOf(bucket);
    const pointer = chunk[bucket & BUCKET_MASK] as number;
    chunk[bucket & BUCKET_MASK] = 0;
    return pointer;
  }

  #grow(): void {
    const { bucketCount } = this.#hashing;
    const from = this.#hashing.grow();
    if ((bucketCount & BUCKET_MASK) === 0) this.#chunks.push(new Int32Array(CHUNK_BUCKETS));
    for (let pointer = this.#take(from); pointer !== 0; ) {
      const row = pointer & ROW_MASK;
      const next = this.nextOf(row);
      this.#push(this.#hashing.bucketOf(this.hashOf(row)), row, pointer >>> TAG_SHIFT);
      pointer = next;
    }
  }

  #shrink(): void {
    const into = this.#hashing.shrink();
    const last = this.#hashing.bucketCount;
    for (let pointer = this.#take(last); pointer !== 0; ) {
      const row = pointer & ROW_MASK;
      const next = this.nextOf(row);
      this.#push(into, row, pointer >>> TAG_SHIFT);
      pointer = next;
    }
    if ((last & BUCKET_MASK) === 0) this.#chunks.pop();
  }

  #chunkOf(bucket: number): Int32Array {
    return this.#chunks[bucket >>> BUCKET_BITS] as Int32Array;
  }
}
