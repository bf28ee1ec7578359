/**
 * What each owner, a task inside a session, holds and waits for. Most owners have one claim, which
 * then stands here itself, as a row if it is a lone hold; a second one makes a record of both. Tickets
 * have no owner.
 */
import { ChainedIndex, hashInSession } from "../index/chained-index.js";
import { RowIndex } from "../index/row-index.js";
import { Hold } from "./hold.js";
import type { HoldRows } from "./hold-rows.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";

/** An owner with more holds than this one counts as one that waits, so that none is slow to begin to. */
const HOLDS_LISTED_MAX = 64;

/** Claims of one owner, while there are several. */
export class OwnerRecord {
  readonly session: Session;
  readonly owner: number;
  /** In the order of tokens. */
  readonly holds: Set<Hold> = new Set();
  /** In the order of arrival. */
  readonly requests: Set<Request> = new Set();
  nextByOwner: OwnerEntry | undefined = undefined;
  /** Its keys have its holds among those of owners that wait. */
  areHoldsListed = false;

  constructor(session: Session, owner: number) {
    this.session = session;
    this.owner = owner;
  }

  /** Whether its holds may be part of a cycle of waits. */
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

  /** The only claim that is left. */
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
