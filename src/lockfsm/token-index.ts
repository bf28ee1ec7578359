/** Holds, as rows, by their tokens; and by those tokens that a newer one replaced a while ago. */
import { assert } from "../assert.js";
import { hashInRows } from "./chained-index.js";
import type { Alias, Hold } from "./hold.js";
import type { HoldRows } from "./hold-rows.js";
import { RowIndex } from "./row-index.js";

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

  /** The hold that had the token before, as long as it is found by it. */
  formerly(token: number): Hold | undefined {
    return this.aliasOf(token)?.hold;
  }

  aliasOf(token: number): Alias | undefined {
    return this.#aliases.size === 0 ? undefined : this.#aliases.get(token);
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

class RowsByToken extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  find(token: number): number {
    const hash = hashInRows(token, 0);
    let row = this.firstOf(hash);
    while (row !== 0 && this.#rows.tokenOf(row) !== token) row = this.nextWith(hash, row);
    return row;
  }

  protected override hashOf(row: number): number {
    return hashInRows(this.#rows.tokenOf(row), 0);
  }

  protected override nextOf(row: number): number {
    return this.#rows.nextByToken(row);
  }

  protected override setNext(row: number, pointer: number): void {
    this.#rows.setNextByToken(row, pointer);
  }
}
