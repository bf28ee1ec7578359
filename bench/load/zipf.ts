/**
 * Draws whole numbers from 0 up, of which higher ones are rarer: the n-th number is drawn 1/n as
 * often as the first (Zipf's law with exponent 1), like the keys of real systems.
 */
import type { RandomStream } from "../../lab/random-stream.js";

/** Steps of the generator; finer than any share among a million keys. */
const RESOLUTION = 2 ** 31;

export class Zipf {
  readonly #random: RandomStream;
  /** The probability of a number up to this one. */
  readonly #cumulated: Float64Array;

  /** Numbers below `count`. */
  constructor(count: number, random: RandomStream) {
    this.#random = random;
    this.#cumulated = new Float64Array(count);
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      sum += 1 / (index + 1);
      this.#cumulated[index] = sum;
    }
    for (let index = 0; index < count; index += 1) {
      this.#cumulated[index] = (this.#cumulated[index] ?? 0) / sum;
    }
  }

  draw(): number {
    const wanted = this.#random.below(RESOLUTION) / RESOLUTION;
    let low = 0;
    let high = this.#cumulated.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#cumulated[middle] ?? 1) > wanted) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
