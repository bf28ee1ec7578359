/**
 * Random numbers that follow from a seed (mulberry32, by Tommy Ettinger, in the public domain): the
 * same seed gives the same run. Each kind of decision draws from a stream of its own name, so that
 * removing one does not change what the others draw.
 */

/** Numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class RandomStream {
  /** A number in [0, 1). */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  /** A whole number, at least 0 and below `limit`. */
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

  /** One of `items`, which must not be empty. */
  pick<T>(items: readonly T[]): T {
    const item = this.pickOrNone(items);
    if (item === undefined) throw new RangeError("there is nothing to pick from");
    return item;
  }

  pickOrNone<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  /** `count` of `items`, or all if there are fewer, in random order. */
  sample<T>(items: readonly T[], count: number): T[] {
    const left = [...items];
    const taken: T[] = [];
    while (taken.length < count && left.length > 0) {
      taken.push(...left.splice(this.below(left.length), 1));
    }
    return taken;
  }

  shuffled<T>(items: readonly T[]): T[] {
    return this.sample(items, items.length);
  }

  /**
   * `count` different whole numbers, at least 0 and below `limit`, in no particular order; `count`
   * must be small.
   */
  distinct(count: number, limit: number): number[] {
    const chosen: number[] = [];
    while (chosen.length < count) {
      const candidate = this.below(limit);
      if (!chosen.includes(candidate)) chosen.push(candidate);
    }
    return chosen;
  }
}

/** The streams of one seed. The same name gives an equal stream from its beginning. */
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
