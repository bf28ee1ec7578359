/**
 * The outline of a log: where it begins and ends, and where its terms change. That is enough to
 * know the term of any entry, even of the last one after a truncation, without the entries. Its
 * size grows with the number of terms, and it is cut together with the log.
 */
export class LogOutline {
  #baseIndex: number;
  #baseTerm: number;
  #lastIndex: number;
  /**
   * First index and term of each run of equal terms, rising. The first run may begin at the base.
   */
  readonly #firsts: number[] = [];
  readonly #terms: number[] = [];

  constructor(baseIndex: number, baseTerm: number) {
    this.#baseIndex = baseIndex;
    this.#baseTerm = baseTerm;
    this.#lastIndex = baseIndex;
  }

  /** The index before the first entry. */
  get baseIndex(): number {
    return this.#baseIndex;
  }

  get baseTerm(): number {
    return this.#baseTerm;
  }

  get lastIndex(): number {
    return this.#lastIndex;
  }

  get lastTerm(): number {
    return this.#terms.at(-1) ?? this.#baseTerm;
  }

  /** The term of an entry, or of the one before the first; `undefined` for other indexes. */
  termOf(index: number): number | undefined {
    if (index < this.#baseIndex || index > this.#lastIndex) return undefined;
    let at = this.#firsts.length - 1;
    while (at >= 0 && (this.#firsts[at] ?? 0) > index) at -= 1;
    return this.#terms[at] ?? this.#baseTerm;
  }

  /** Whether an entry with this index and term may come next. */
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

  /** Whether the log has an entry at `index`, or could have it next. */
  canTruncateFrom(index: number): boolean {
    return index > this.#baseIndex && index <= this.#lastIndex + 1;
  }

  truncateFrom(index: number): void {
    this.#lastIndex = index - 1;
    while ((this.#firsts.at(-1) ?? 0) >= index) {
      this.#firsts.pop();
      this.#terms.pop();
    }
  }

  /** Forgets the terms before `index`; nothing up to there will be truncated any more. */
  trimBefore(index: number): void {
    const base = Math.min(index - 1, this.#lastIndex);
    const term = this.termOf(base);
    if (term === undefined || base === this.#baseIndex) return;
    this.#baseIndex = base;
    this.#baseTerm = term;
    let gone = 0;
    while ((this.#firsts[gone + 1] ?? index) < index) gone += 1;
    this.#firsts.splice(0, gone);
    this.#terms.splice(0, gone);
  }

  /** The log has no entries and continues after this one. */
  reset(index: number, term: number): void {
    this.#baseIndex = index;
    this.#baseTerm = term;
    this.#lastIndex = index;
    this.#firsts.length = 0;
    this.#terms.length = 0;
  }
}
