/**
 * The outline of a log: where it begins, where it ends, and where its terms change; enough to know
 * the term of any entry, and thereby that of the last one after a truncation, without the entries.
 */
export class LogOutline {
  readonly baseIndex: number;
  readonly baseTerm: number;
  #lastIndex: number;
  /** First index and term of every stretch of one term; indexes and terms rise. */
  readonly #firsts: number[] = [];
  readonly #terms: number[] = [];

  constructor(baseIndex: number, baseTerm: number) {
    this.baseIndex = baseIndex;
    this.baseTerm = baseTerm;
    this.#lastIndex = baseIndex;
  }

  get lastIndex(): number {
    return this.#lastIndex;
  }

  get lastTerm(): number {
    return this.#terms.at(-1) ?? this.baseTerm;
  }

  /** Whether an entry of this index and term may come next. */
  canAppend(index: number, term: number): boolean {
    return index === this.#lastIndex + 1 && term >= this.lastTerm;
  }

  append(index: number, term: number): void {
    if (this.#terms.length === 0 || this.lastTerm !== term) {
      this.#firsts.push(index);
      this.#terms.push(term);
    }
    this.#lastIndex = index;
  }

  /** Whether the log has, or could have next, an entry at `index`. */
  canTruncateFrom(index: number): boolean {
    return index > this.baseIndex && index <= this.#lastIndex + 1;
  }

  truncateFrom(index: number): void {
    this.#lastIndex = index - 1;
    while ((this.#firsts.at(-1) ?? 0) >= index) {
      this.#firsts.pop();
      this.#terms.pop();
    }
  }
}
