/**
 * What remains of a hold that has ended but keeps its keys closed for some time: its places, with
 * their modes and slots. It has no owner. It counts against the session of the hold, as the hold
 * did, while that session lives, and always against the table and the identity of the hold. The
 * counts in a session and in an identity follow from the cooldowns that exist.
 */
import { type DueItem, NOT_IN_HEAP } from "../structures/due-heap.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import type { Identity } from "./identity.js";
import type { Claimant, Place } from "./key.js";

export class Cooldown implements DueItem, Copied, Claimant {
  /** The token of the hold. */
  readonly token: number;
  /**
   * The session of the hold; 0 for a hold of an owner, or for a hold of the cluster from which this one was
   * restored.
   */
  readonly session: number;
  /** What the hold counted against; `undefined` for one of the cluster before this one. */
  readonly identity: Identity | undefined;
  readonly dueAt: number;
  readonly number: number;
  heapIndex = NOT_IN_HEAP;
  readonly firstPlace: Place | undefined = undefined;
  previous: Cooldown | undefined = undefined;
  next: Cooldown | undefined = undefined;
  savedIn: number;
  readonly #copies: CopyOnWrite;

  constructor(
    token: number,
    session: number,
    identity: Identity | undefined,
    dueAt: number,
    number: number,
    copies: CopyOnWrite,
  ) {
    this.token = token;
    this.session = session;
    this.identity = identity;
    this.dueAt = dueAt;
    this.number = number;
    this.savedIn = copies.latest;
    this.#copies = copies;
  }

  /** Gives write access to its fields. */
  change(): Changing<Cooldown> {
    this.#copies.copier?.copy(this);
    return this;
  }
}
