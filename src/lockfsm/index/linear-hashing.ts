/**
 * Which bucket a hash belongs to, in a table that grows and shrinks by one bucket at a time and so
 * never stalls (Litwin, "Linear Hashing: A New Tool for File and Table Addressing", 1980). Arithmetic
 * only: whoever has the buckets moves what is in them.
 */

export const BUCKETS_MIN = 8;

export class LinearHashing {
  /** A power of two; buckets below `#split` have been split into those from `#level` on. */
  #level = BUCKETS_MIN;
  #split = 0;

  get bucketCount(): number {
    return this.#level + this.#split;
  }

  /** `hash`: 32 bits, well mixed. */
  bucketOf(hash: number): number {
    const bucket = hash & (this.#level - 1);
    return bucket < this.#split ? hash & (2 * this.#level - 1) : bucket;
  }

  /** One bucket more, the last. Returns the one that has given up part of what is in it to that. */
  grow(): number {
    const from = this.#split;
    this.#split += 1;
    if (this.#split === this.#level) {
      this.#level *= 2;
      this.#split = 0;
    }
    return from;
  }

  /** One bucket less, the last. Returns the one that takes what was in that. */
  shrink(): number {
    if (this.#split === 0) {
      this.#level /= 2;
      this.#split = this.#level;
    }
    this.#split -= 1;
    return this.#split;
  }
}
