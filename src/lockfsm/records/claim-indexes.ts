/**
 * Finds claims: holds, as rows, by token and by session and sequence; and the holds and requests of
 * each owner, which is a task inside a session. Holds of named owners belong to no session and to no
 * task; their tokens find them, and the index of leases. Most owners have one claim, which is then
 * itself the entry, as a row if it is a lone hold; a second claim makes a record of both.
 */
import { ChainedIndex, hashInRows, hashInSession } from "../structures/chained-index.js";
import { RowIndex } from "../structures/row-index.js";
import { Hold } from "./hold.js";
import type { HoldRows } from "./hold-rows.js";
import type { OwnerLink, Request, Session } from "./session.js";

export class TokenIndex extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  /** The row of the hold with the token; 0 if there is none. */
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

  /** The row of the hold with the sequence; 0 if there is none. */
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

/**
 * An owner with more holds than this counts as one that waits, because listing more holds at once,
 * when it begins to wait, would take too long.
 */
const HOLDS_LISTED_MAX = 64;

/** The claims of one owner that has several. */
export class OwnerRecord implements OwnerLink {
  readonly session: Session;
  readonly owner: number;
  /** In the order of tokens. */
  readonly holds: Set<Hold> = new Set();
  /** In the order of arrival. */
  readonly requests: Set<Request> = new Set();
  nextByOwner: OwnerLink | undefined = undefined;
  /** Whether its holds are in the lists of their keys as holds of a waiting owner. */
  areHoldsListed = false;

  constructor(session: Session, owner: number) {
    this.session = session;
    this.owner = owner;
  }

  /**
   * Whether its holds could be part of a cycle of waits, or must be listed because of their number.
   */
  get needsHoldsListed(): boolean {
    return this.requests.size > 0 || this.holds.size > HOLDS_LISTED_MAX;
  }

  get size(): number {
    return this.holds.size + this.requests.size;
  }

  add(claim: Hold | Request): void {
    if (claim instanceof Hold) this.holds.add(claim);
    else this.requests.add(claim);
  }

  delete(claim: Hold | Request): void {
    if (claim instanceof Hold) this.holds.delete(claim);
    else this.requests.delete(claim);
  }

  /** The only remaining claim. */
  get last(): Hold | Request | undefined {
    for (const hold of this.holds) return hold;
    for (const request of this.requests) return request;
    return undefined;
  }
}

export type OwnerEntry = Hold | Request | OwnerRecord;

export class OwnerIndex extends ChainedIndex<OwnerEntry> {
  find(session: Session, owner: number): OwnerEntry | undefined {
    let entry = this.firstOf(hashInSession(session.id, owner));
    while (entry !== undefined && (entry.owner !== owner || entry.session !== session)) {
      entry = this.nextOf(entry);
    }
    return entry;
  }

  protected override hashOf(entry: OwnerEntry): number {
    return hashInSession(entry.session.id, entry.owner);
  }

  /** Only entries are in the chains. */
  protected override nextOf(entry: OwnerEntry): OwnerEntry | undefined {
    return entry.nextByOwner as OwnerEntry | undefined;
  }

  protected override setNext(entry: OwnerEntry, next: OwnerEntry | undefined): void {
    entry.nextByOwner = next;
  }
}

/** Rows of lone holds by owner. An owner is in this index or in the other, never in both. */
export class LoneOwnerIndex extends RowIndex {
  readonly #rows: HoldRows;

  constructor(rows: HoldRows) {
    super();
    this.#rows = rows;
  }

  /** The row of the owner's lone hold; 0 if there is none. */
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
