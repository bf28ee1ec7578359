/**
 * Random numbers that follow from a seed and a name (mulberry32, by Tommy Ettinger, in the public
 * domain). Everything the harness decides draws from a stream of its own, so that adding a client
 * or leaving out a fault does not reshuffle what the others do.
 */
export class SeededRandom {
  #state: number;

  constructor(seed: number, stream: string) {
    let hash = (0x811c9dc5 ^ seed) >>> 0;
    for (const character of stream) {
      hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    }
    this.#state = hash;
    // Neighbouring seeds begin alike; their second numbers do not.
    this.unit();
  }

  /** From 0 up to, and without, 1. */
  unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to `end` − 1. */
  below(end: number): number {
    return Math.floor(this.unit() * end);
  }

  /** A whole number from `min` to `max`. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  /** One of `choices`, which must not be empty. */
  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new RangeError("there is nothing to pick from");
    return choice;
  }

  /** `count` of `choices`, in random order. */
  sample<T>(choices: readonly T[], count: number): T[] {
    const rest = [...choices];
    const taken: T[] = [];
    while (taken.length < count && rest.length > 0) {
      taken.push(...rest.splice(this.below(rest.length), 1));
    }
    return taken;
  }
}
