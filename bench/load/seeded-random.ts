/**
 * Random numbers that are the same in every run, so that two runs of a workload ask for the same
 * things in the same proportions (mulberry32, by Tommy Ettinger, in the public domain).
 */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 to `end` − 1. */
  below(end: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * end);
  }

  /** `count` different whole numbers from 0 to `end` − 1, in no order; `count` must be small. */
  distinct(count: number, end: number): number[] {
    const chosen: number[] = [];
    while (chosen.length < count) {
      const candidate = this.below(end);
      if (!chosen.includes(candidate)) chosen.push(candidate);
    }
    return chosen;
  }
}
