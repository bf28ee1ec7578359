/** Holds, as rows, by their tokens; and by those tokens that a newer one replaced a while ago. */
import { assert } from "../assert.js";
import { ChainedIndex, mixNumber } from "./chained-index.js";
import type { Alias, Hold } from "./hold.js";
import type { HoldRows } from "./hold-rows.js";

export class TokenIndex {
  readonly #rows: RowsByToken;
  readonly #aliases = new Map<number, Alias>();

  constructor(rows: HoldRows) {
    this.#rows = new RowsByToken(rows);
  }

  /** Aliases not counted. */
  get holdCount(): number {
    return this.#rows.size;
  }

  get aliasCount(): number {
    return this.#aliases.size;
  }

  /** The row of the hold that has the token now; 0: none. */
  rowOf(token: number): number {
    return this.#rows.find(token);
  }

  /** The hold that had the token until its client may have heard of a newer one. */
  formerly(token: number): Hold | undefined {
    return this.#aliases.size === 0 ? undefined : this.#aliases.get(token)?.hold;
  }

  has(token: number): boolean {
    return this.rowOf(token) !== 0 || this.#aliases.has(token);
  }

  add(row: number): void {
    this.#rows.add(row);
  }

  /** Before its token changes. Returns whether it was there. */
  remove(row: number): boolean {
    return this.#rows.remove(row);
  }

  addAlias(alias: Alias): void {
    this.#aliases.set(alias.token, alias);
  }

  removeAlias({ token }: Alias): void {
    const removed = this.#aliases.delete(token);
    assert(removed, () => `${token} is no alias`);
  }
}

class RowsByToken extends ChainedIndex<number> {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  find(token: number): number {
    const rows = this.#rows;
    let row = this.firstOf(mixNumber(token)) ?? 0;
    while (row !== 0 && rows.tokenOf(row) !== token) row = rows.nextByToken(row);
    return row;
  }

  protected override hashOf(row: number): number {
    return mixNumber(this.#rows.tokenOf(row));
  }

  protected override nextOf(row: number): number | undefined {
    const next = this.#rows.nextByToken(row);
    return next === 0 ? undefined : next;
  }

  protected override setNext(row: number, next: number | undefined): void {
    this.#rows.setNextByToken(row, next ?? 0);
  }
}
