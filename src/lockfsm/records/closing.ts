/**
 * What is left of a hold that ended but keeps its keys closed for a while: its places, with their
 * modes and slots. It belongs to nobody, but counts against the session that left it for as long as
 * that lives, as the hold did; against the table always. What of a session is counted follows from
 * the closings there are.
 */
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import type { Claimant, Place } from "./key.js";

export class Closing implements DueItem, Copied, Claimant {
  /** Of the hold that it was. */
  readonly token: number;
  /** Whose hold it was; 0: a ticket, or of the cluster that this one was restored from. */
  readonly session: number;
  readonly dueAt: number;
  readonly number: number;
  heapIndex = NOT_IN_HEAP;
  readonly firstPlace: Place | undefined = undefined;
  previous: Closing | undefined = undefined;
  next: Closing | undefined = undefined;
  savedIn: number;
  readonly #copies: CopyOnWrite;

  constructor(token: number, session: number, dueAt: number, number: number, copies: CopyOnWrite) {
    this.token = token;
    this.session = session;
    this.dueAt = dueAt;
    this.number = number;
    this.savedIn = copies.latest;
    this.#copies = copies;
  }

  /** Gives out its fields to be written. */
  change(): Changing<Closing> {
    this.#copies.copier?.copy(this);
    return this;
  }
}
