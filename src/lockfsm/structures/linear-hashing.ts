/**
 * Computes which bucket a hash belongs to, in a table that grows and shrinks by one bucket at a
 * time and so never stalls (Litwin, "Linear Hashing: A New Tool for File and Table Addressing",
 * 1980). This is arithmetic only: the caller owns the buckets and moves their contents.
 */

export const BUCKETS_MIN = 8;

export class LinearHashing {
  /** A power of two; buckets below `#split` have been split into those from `#level` on. */
  #level = BUCKETS_MIN;
  #split = 0;

  get bucketCount(): number {
    return this.#level + this.#split;
  }

  /** The bucket of `hash`, which must have 32 well-mixed bits. */
  bucketOf(hash: number): number {
    const bucket = hash & (this.#level - 1);
    return bucket < this.#split ? hash & (2 * this.#level - 1) : bucket;
  }

  /** Adds one bucket at the end. Returns the bucket that gives part of its contents to it. */
  grow(): number {
    const from = this.#split;
    this.#split += 1;
    if (this.#split === this.#level) {
      this.#level *= 2;
      this.#split = 0;
    }
    return from;
  }

  /** Removes the last bucket. Returns the bucket that receives its contents. */
  shrink(): number {
    if (this.#split === 0) {
      this.#level /= 2;
      this.#split = this.#level;
    }
    this.#split -= 1;
    return this.#split;
  }
}
