/**
 * Holds, as rows, by their tokens and by what they are known by: session and sequence. Tickets belong
 * to no session, and are found by their tokens only.
 */
import { hashInRows, hashInSession } from "../index/chained-index.js";
import { RowIndex } from "../index/row-index.js";
import type { HoldRows } from "./hold-rows.js";
import type { Session } from "./session.js";

export class TokenIndex extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  /** 0: none. */
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

export class SequenceIndex extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  /** 0: none. */
  find(session: Session, sequence: number): number {
    const rows = this.#rows;
    const hash = hashInSession(session.id, sequence);
    let row = this.firstOf(hash);
    while (row !== 0 && (rows.sequenceOf(row) !== sequence || rows.sessionOf(row) !== session)) {
      row = this.nextWith(hash, row);
    }
    return row;
  }

  protected override hashOf(row: number): number {
    return hashInSession(this.#rows.sessionOf(row).id, this.#rows.sequenceOf(row));
  }

  protected override nextOf(row: number): number {
    return this.#rows.nextBySequence(row);
  }

  protected override setNext(row: number, pointer: number): void {
    this.#rows.setNextBySequence(row, pointer);
  }
}
