/**
 * Looks through all locks in bounded steps, so that a table of 100,000 costs the cluster a few pages
 * a round. Keeps the best `ROWS_MAX` by the order that is asked for, of the look that is under way
 * and, beyond the place that it has reached, of the one before it. It must never hold the whole
 * table.
 */
import type { KeyView } from "../../src/index.js";
import { type LockRow, lockRow } from "../../src/views/index.js";
import { type LocksSeen, ROWS_MAX, type Sort } from "./cluster-facts.js";

/** Locks that one step looks at: ten pages of the protocol. */
const STEP_KEYS = 2_000;

/** Where the pages come from: `Admin.query`, which asks for a page only when it is needed. */
export type QueryKeys = (prefix: string, signal: AbortSignal) => AsyncIterable<KeyView>;

export class LockSweep {
  readonly #query: QueryKeys;
  readonly prefix: string;
  readonly sort: Sort;
  readonly #stepKeys: number;
  #pages: AsyncIterator<KeyView> | undefined;
  #counted = 0;
  #total: number | undefined;
  #found: LockRow[] = [];
  #earlier: readonly LockRow[] = [];
  /** Where the look that is under way has come to. */
  #place: string | undefined;

  constructor(query: QueryKeys, prefix: string, sort: Sort, stepKeys = STEP_KEYS) {
    this.#query = query;
    this.prefix = prefix;
    this.sort = sort;
    this.#stepKeys = stepKeys;
  }

  /**
   * One step. In the order of the keys a look is over when the table is full, so that it begins again
   * with every step; then it is not known how many locks there are.
   */
  async step(signal: AbortSignal, now: () => number): Promise<LocksSeen> {
    const keysMax = this.sort === "key" ? ROWS_MAX + 1 : Number.POSITIVE_INFINITY;
    await this.#advance(signal, keysMax);
    return this.seen(now());
  }

  /** Looks at all locks, however many there are. */
  async whole(signal: AbortSignal, now: () => number): Promise<LocksSeen> {
    do await this.#advance(signal, Number.POSITIVE_INFINITY);
    while (this.#place !== undefined);
    return this.seen(now());
  }

  /** Whether the last step has looked at all that is shown, so that none of it is old. */
  get isFresh(): boolean {
    return this.#place === undefined && this.#counted <= this.#stepKeys;
  }

  /** What is known now. */
  seen(wallMs: number): LocksSeen {
    const { prefix, sort } = this;
    return { prefix, sort, rows: this.#rows(), total: this.#total, counted: this.#counted, wallMs };
  }

  /** Later views of some of the locks, such as those on the screen. */
  refresh(views: readonly KeyView[]): void {
    const later = new Map(views.map((view) => [view.key, lockRow(view)]));
    const refreshed = (rows: readonly LockRow[]): LockRow[] =>
      rows.map((row) => later.get(row.key) ?? row).filter(isInUse);
    this.#found = refreshed(this.#found);
    this.#earlier = refreshed(this.#earlier);
  }

  async #advance(signal: AbortSignal, keysMax: number): Promise<void> {
    if (this.#place === undefined) this.#begin();
    this.#pages ??= this.#query(this.prefix, signal)[Symbol.asyncIterator]();
    try {
      for (let left = this.#stepKeys; left > 0; left -= 1) {
        const next = await this.#pages.next();
        if (next.done === true) {
          this.#total = this.#counted;
          this.#end();
          return;
        }
        this.#counted += 1;
        this.#place = next.value.key;
        this.#found.push(lockRow(next.value));
        if (this.#found.length >= 2 * ROWS_MAX) this.#cut();
        if (this.#counted < keysMax) continue;
        this.#total = undefined;
        this.#end();
        return;
      }
    } catch (error) {
      // What this look has found may be old by the time that the cluster answers again.
      this.#begin();
      throw error;
    }
  }

  #begin(): void {
    this.#pages = undefined;
    this.#counted = 0;
    this.#found = [];
    this.#place = undefined;
  }

  #end(): void {
    this.#cut();
    this.#pages = undefined;
    this.#earlier = this.#found;
    this.#place = undefined;
    this.#found = [];
  }

  #cut(): void {
    this.#found = sorted(this.#found, this.sort).slice(0, ROWS_MAX);
  }

  #rows(): readonly LockRow[] {
    const place = this.#place;
    if (place === undefined) return this.#earlier;
    const beyond = this.#earlier.filter(({ key }) => compareKeys(key, place) > 0);
    return sorted([...this.#found, ...beyond], this.sort).slice(0, ROWS_MAX);
  }
}

function isInUse({ holds, waiters, cooldown }: LockRow): boolean {
  return holds > 0 || waiters > 0 || cooldown !== undefined;
}

function sorted(rows: readonly LockRow[], sort: Sort): LockRow[] {
  return [...rows].sort((a, b) => COMPARISONS[sort](a, b) || compareKeys(a.key, b.key));
}

const COMPARISONS: Readonly<Record<Sort, (a: LockRow, b: LockRow) => number>> = {
  waiters: (a, b) => b.waiters - a.waiters,
  held: (a, b) => (b.first?.heldMs ?? 0) - (a.first?.heldMs ?? 0),
  key: () => 0,
};

/** In the order of their bytes, which is the cluster's. */
function compareKeys(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}
