/**
 * Finds claims: holds, as rows, by their tokens and by session and sequence; and
 * what each owner, a task inside a session, holds and waits for. Tickets belong to no session and have
 * no owner, and are found by their tokens only. Most owners have one claim, which then stands here
 * itself, as a row if it is a lone hold; a second one makes a record of both.
 */
import { ChainedIndex, hashInRows, hashInSession } from "../index/chained-index.js";
import { RowIndex } from "../index/row-index.js";
import type { HoldRows } from "./hold-rows.js";
import type { OwnerEntry, Session } from "./session.js";

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

export class OwnerIndex extends ChainedIndex<OwnerEntry> {
  find(session: Session, owner: number): OwnerEntry | undefined {
    let entry = this.firstOf(hashInSession(session.id, owner));
    while (entry !== undefined && (entry.owner !== owner || entry.session !== session)) {
      entry = entry.nextByOwner;
    }
    return entry;
  }

  protected override hashOf(entry: OwnerEntry): number {
    return hashInSession(entry.session.id, entry.owner);
  }

  protected override nextOf(entry: OwnerEntry): OwnerEntry | undefined {
    return entry.nextByOwner;
  }

  protected override setNext(entry: OwnerEntry, next: OwnerEntry | undefined): void {
    entry.nextByOwner = next;
  }
}

/** Rows of lone holds. An owner is here or in the other index. */
export class LoneOwnerIndex extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  /** 0: none. */
  find(session: Session, owner: number): number {
    const rows = this.#rows;
    const hash = hashInSession(session.id, owner);
    let row = this.firstOf(hash);
    while (row !== 0 && (rows.ownerOf(row) !== owner || rows.sessionOf(row) !== session)) {
      row = this.nextWith(hash, row);
    }
    return row;
  }

  protected override hashOf(row: number): number {
    return hashInSession(this.#rows.sessionOf(row).id, this.#rows.ownerOf(row));
  }

  protected override nextOf(row: number): number {
    return this.#rows.nextByOwner(row);
  }

  protected override setNext(row: number, pointer: number): void {
    this.#rows.setNextByOwner(row, pointer);
  }
}
