/**
 * Which steps of unknown outcome a configuration has used, as numbered sets. Interchangeable steps
 * are counted, not named: of five writes of the same value that all timed out, only the number that
 * took effect can matter. A configuration that used fewer of them can do everything that one with
 * more can; `isSubset` lets the search drop the latter. Steps that cannot be used any more are
 * removed from the sets, because they make no difference.
 */

/** A Map of JavaScript ends at 2^24 entries; the search stops well before. */
const ADDITIONS_MAX = 16_000_000;

export class OpenEffects {
  /** Pairs class, count; classes ascending. Set 0 is empty. */
  readonly #sets: Int32Array[] = [new Int32Array(0)];
  readonly #numbers = new Map<string, number>([["", 0]]);
  readonly #added = new Map<number, number>();
  /** By class: the last layer in which a step of it can be of use. */
  readonly #lastLayer: Float64Array;
  /** By set: the first of the last layers of its classes. */
  readonly #expiry: number[] = [Number.POSITIVE_INFINITY];
  #bytes = 0;

  constructor(lastLayer: Float64Array) {
    this.#lastLayer = lastLayer;
  }

  /** Approximate size of the tables; `Infinity` when they cannot grow any more. */
  get bytes(): number {
    return this.#added.size > ADDITIONS_MAX ? Number.POSITIVE_INFINITY : this.#bytes;
  }

  /** How many steps of that class are in the set. */
  count(set: number, effectClass: number): number {
    const pairs = this.#sets[set] as Int32Array;
    for (let at = 0; at < pairs.length; at += 2) {
      const found = pairs[at] as number;
      if (found === effectClass) return pairs[at + 1] as number;
      if (found > effectClass) return 0;
    }
    return 0;
  }

  /** The set with one more step of the class. */
  add(set: number, effectClass: number): number {
    const addition = set * this.#lastLayer.length + effectClass;
    const known = this.#added.get(addition);
    if (known !== undefined) return known;
    const pairs = [...(this.#sets[set] as Int32Array)];
    let at = 0;
    while (at < pairs.length && (pairs[at] as number) < effectClass) at += 2;
    if (pairs[at] === effectClass) pairs[at + 1] = (pairs[at + 1] as number) + 1;
    else pairs.splice(at, 0, effectClass, 1);
    const number = this.#intern(pairs);
    this.#added.set(addition, number);
    this.#bytes += 40;
    return number;
  }

  /** The set without the classes that are of no use from that layer on. */
  expire(set: number, layer: number): number {
    if (layer <= (this.#expiry[set] as number)) return set;
    const pairs = this.#sets[set] as Int32Array;
    const left: number[] = [];
    for (let at = 0; at < pairs.length; at += 2) {
      const effectClass = pairs[at] as number;
      if (layer <= (this.#lastLayer[effectClass] as number)) {
        left.push(effectClass, pairs[at + 1] as number);
      }
    }
    return this.#intern(left);
  }

  /** Whether `large` used everything that `small` did. */
  isSubset(small: number, large: number): boolean {
    if (small === large || small === 0) return true;
    const few = this.#sets[small] as Int32Array;
    const many = this.#sets[large] as Int32Array;
    if (few.length > many.length) return false;
    let at = 0;
    for (let pair = 0; pair < few.length; pair += 2) {
      while (at < many.length && (many[at] as number) < (few[pair] as number)) at += 2;
      if (at >= many.length || many[at] !== few[pair]) return false;
      if ((many[at + 1] as number) < (few[pair + 1] as number)) return false;
    }
    return true;
  }

  #intern(pairs: readonly number[]): number {
    const text = pairs.join();
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#sets.length;
    this.#sets.push(Int32Array.from(pairs));
    let expiry = Number.POSITIVE_INFINITY;
    for (let at = 0; at < pairs.length; at += 2) {
      expiry = Math.min(expiry, this.#lastLayer[pairs[at] as number] as number);
    }
    this.#expiry.push(expiry);
    this.#numbers.set(text, number);
    this.#bytes += 160 + 6 * pairs.length;
    return number;
  }
}
