/**
 * Random numbers of a run, split by name: each link, disk, clock and client draws from a stream of
 * its own, so that leaving one of them out of a plan does not change what the others draw.
 */
import { seededRandom } from "../../seeded-random.js";

export class RandomStream {
  /** A number in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  /** A whole number from 0 to before `limit`. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(from: number, to: number): number {
    return from + this.next() * (to - from);
  }

  /** A whole number, both ends included. */
  integer(from: number, to: number): number {
    return from + this.below(to - from + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = this.pickOrNone(items);
    if (item === undefined) throw new Error("nothing to pick from");
    return item;
  }

  pickOrNone<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  shuffled<T>(items: readonly T[]): T[] {
    const left = [...items];
    const shuffled: T[] = [];
    while (left.length > 0) shuffled.push(...left.splice(this.below(left.length), 1));
    return shuffled;
  }
}

/** The streams of one seed. The same name gives an equal stream, begun anew. */
export class RandomStreams {
  readonly #seed: number;

  constructor(seed: number) {
    this.#seed = seed;
  }

  of(name: string): RandomStream {
    let hash = 0x811c_9dc5 ^ this.#seed;
    for (let at = 0; at < name.length; at += 1) {
      hash = Math.imul(hash ^ name.charCodeAt(at), 0x0100_0193);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ Math.floor(this.#seed / 2 ** 32), 0x85eb_ca6b);
    return new RandomStream((hash ^ (hash >>> 13)) >>> 0);
  }
}
