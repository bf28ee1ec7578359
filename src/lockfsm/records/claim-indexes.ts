/**
 * Finds claims: holds, as rows, by token and by session and sequence; and the holds and requests of
 * each task of a session. Holds of named owners belong to no session and to no task; their tokens
 * find them, and the index of leases. Most tasks have one claim, which is then itself the entry, as a
 * row if it is a lone hold; a second claim makes a record of both.
 */
import { ChainedIndex, hashInRows, hashInSession } from "../structures/chained-index.js";
import { RowIndex } from "../structures/row-index.js";
import { Hold } from "./hold.js";
import { BY, type HoldRows, type IndexedBy } from "./hold-rows.js";
import type { Request, Session, TaskLink } from "./session.js";

/** Finds rows by one of the numbers in them. */
abstract class HoldIndex extends RowIndex {
  protected readonly rows: HoldRows;
  protected readonly by: IndexedBy;

  constructor(rows: HoldRows, by: IndexedBy) {
    super();
    this.rows = rows;
    this.by = by;
  }

  protected override nextOf(row: number): number {
    return this.rows.pointerOf(row, this.by);
  }

  protected override setNext(row: number, pointer: number): void {
    this.rows.setPointer(row, this.by, pointer);
  }
}

export class TokenIndex extends HoldIndex {
  constructor(rows: HoldRows) {
    super(rows, BY.token);
  }

  /** The row of the hold with the token; 0 if there is none. */
  find(token: number): number {
    const hash = hashInRows(token, 0);
    let row = this.firstOf(hash);
    while (row !== 0 && this.rows.tokenOf(row) !== token) row = this.nextWith(hash, row);
    return row;
  }

  protected override hashOf(row: number): number {
    return hashInRows(this.rows.tokenOf(row), 0);
  }
}

/** Finds rows by a number that is unique only in their session. */
export class InSessionIndex extends HoldIndex {
  /** The row that has the number; 0 if there is none. */
  find(session: Session, number: number): number {
    const { rows, by } = this;
    const hash = hashInSession(session.id, number);
    let row = this.firstOf(hash);
    while (row !== 0 && (rows.numberOf(row, by) !== number || rows.sessionOf(row) !== session)) {
      row = this.nextWith(hash, row);
    }
    return row;
  }

  protected override hashOf(row: number): number {
    return hashInSession(this.rows.sessionOf(row).id, this.rows.numberOf(row, this.by));
  }
}

/**
 * A task with more holds than this counts as one that waits, because listing more holds at once,
 * when it begins to wait, would take too long.
 */
const HOLDS_LISTED_MAX = 64;

/** The claims of one task that has several. */
export class TaskRecord implements TaskLink {
  readonly session: Session;
  readonly task: number;
  /** In the order of tokens. */
  readonly holds: Set<Hold> = new Set();
  /** In the order of arrival. */
  readonly requests: Set<Request> = new Set();
  nextByTask: TaskLink | undefined = undefined;
  /** Whether its holds are in the lists of their keys as holds of a waiting task. */
  areHoldsListed = false;

  constructor(session: Session, task: number) {
    this.session = session;
    this.task = task;
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

export type TaskEntry = Hold | Request | TaskRecord;

export class TaskIndex extends ChainedIndex<TaskEntry> {
  find(session: Session, task: number): TaskEntry | undefined {
    let entry = this.firstOf(hashInSession(session.id, task));
    while (entry !== undefined && (entry.task !== task || entry.session !== session)) {
      entry = this.nextOf(entry);
    }
    return entry;
  }

  protected override hashOf(entry: TaskEntry): number {
    return hashInSession(entry.session.id, entry.task);
  }

  /** Only entries are in the chains. */
  protected override nextOf(entry: TaskEntry): TaskEntry | undefined {
    return entry.nextByTask as TaskEntry | undefined;
  }

  protected override setNext(entry: TaskEntry, next: TaskEntry | undefined): void {
    entry.nextByTask = next;
  }
}
