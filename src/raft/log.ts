/**
 * The log in memory: every entry since the base, in order, without gaps. `durability.ts` knows what
 * of it is durable; the node's state knows what is committed. Appending and asking for a term take
 * constant time; moving the base copies the kept entries. Terms never fall from one entry to the
 * next.
 */
import { assert } from "../errors/index.js";
import type { Entry } from "./types.js";

export class RaftLog {
  private base: number;
  private termOfBase: number;
  private held: Entry[] = [];
  /** The latest slice, so that all peers and the disk get the same array. */
  private sliceFrom = 0;
  private sliceEntries: readonly Entry[] = [];

  constructor(baseIndex: number, baseTerm: number, entries: readonly Entry[]) {
    assert(Number.isSafeInteger(baseIndex) && baseIndex >= 0, () => `base index ${baseIndex}`);
    assert(Number.isSafeInteger(baseTerm) && baseTerm >= 0, () => `base term ${baseTerm}`);
    this.base = baseIndex;
    this.termOfBase = baseTerm;
    for (const entry of entries) this.append(entry);
  }

  /** The index before the first entry held; 0 for a log from its beginning. Never falls. */
  get baseIndex(): number {
    return this.base;
  }

  get baseTerm(): number {
    return this.termOfBase;
  }

  get lastIndex(): number {
    return this.base + this.held.length;
  }

  get lastTerm(): number {
    return this.held.at(-1)?.term ?? this.termOfBase;
  }

  /** The term of the entry at `index`, which must lie between the base and the end. */
  term(index: number): number {
    return index === this.baseIndex ? this.baseTerm : this.entry(index).term;
  }

  /** Whether the log holds exactly this entry. False for entries outside the log. */
  matches(index: number, term: number): boolean {
    return index >= this.baseIndex && index <= this.lastIndex && this.term(index) === term;
  }

  entry(index: number): Entry {
    const entry = this.held[index - this.baseIndex - 1];
    assert(
      entry !== undefined,
      () => `no entry ${index} in a log of (${this.baseIndex}, ${this.lastIndex}]`,
    );
    return entry;
  }

  /** Entries `from` … `to`, both included. The array is shared: it must not be changed. */
  slice(from: number, to: number): readonly Entry[] {
    assert(
      from > this.baseIndex && to <= this.lastIndex && from <= to + 1,
      () => `slice [${from}, ${to}] of a log of (${this.baseIndex}, ${this.lastIndex}]`,
    );
    const count = to - from + 1;
    if (this.sliceFrom !== from || this.sliceEntries.length !== count) {
      const start = from - this.baseIndex - 1;
      this.sliceEntries = this.held.slice(start, start + count);
      this.sliceFrom = from;
    }
    return this.sliceEntries;
  }

  append(entry: Entry): void {
    assert(
      entry.index === this.lastIndex + 1,
      () => `entry ${entry.index} appended after ${this.lastIndex}`,
    );
    assert(
      Number.isSafeInteger(entry.term) && entry.term >= this.lastTerm,
      () => `entry ${entry.index} of term ${entry.term} after term ${this.lastTerm}`,
    );
    this.held.push(entry);
  }

  /** Removes every entry from `from` on. */
  truncate(from: number): void {
    assert(
      from > this.baseIndex && from <= this.lastIndex,
      () => `truncation at ${from} of a log of (${this.baseIndex}, ${this.lastIndex}]`,
    );
    this.held.length = from - this.baseIndex - 1;
    this.forgetSlice();
  }

  /** Removes every entry up to `index`, which becomes the base. */
  compactTo(index: number): void {
    assert(
      index >= this.base && index <= this.lastIndex,
      () => `compaction to ${index} of a log of (${this.base}, ${this.lastIndex}]`,
    );
    if (index === this.base) return;
    const term = this.term(index);
    this.held = this.held.slice(index - this.base);
    this.base = index;
    this.termOfBase = term;
    this.forgetSlice();
  }

  /** Removes every entry; the next one follows the entry `index` of `term`. */
  reset(index: number, term: number): void {
    assert(index > this.base, () => `reset to ${index} of a log after ${this.base}`);
    assert(term >= this.termOfBase, () => `reset to term ${term} after ${this.termOfBase}`);
    this.held = [];
    this.base = index;
    this.termOfBase = term;
    this.forgetSlice();
  }

  /**
   * The largest index up to `index` whose term is at most `term`; the base if there is none,
   * whatever its own term. Terms never fall along the log, so bisection finds it.
   */
  lastIndexWithTermUpTo(index: number, term: number): number {
    let low = this.baseIndex;
    let high = Math.min(index, this.lastIndex);
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.term(middle) <= term) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  private forgetSlice(): void {
    this.sliceFrom = 0;
    this.sliceEntries = [];
  }
}
