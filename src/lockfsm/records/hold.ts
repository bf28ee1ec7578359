/**
 * A granted request: all its keys under one token. It is known by its session and the sequence of its
 * acquire or claim; the token is what it carries. Its places stand in the keys' lists
 * of holds. A hold that is one of many, of a lock that nobody else wants, is only a row
 * ("lone-holds.ts"); what few of the others have is kept apart.
 */
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import type { Changing } from "./copy-on-write.js";
import type { OwnerEntry } from "./owner-index.js";
import type { Place } from "./place.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";

/** The time at which a hold ends by itself, for whichever of its reasons comes first. */
export class HoldEnd implements DueItem {
  readonly hold: Hold;
  readonly dueAt: number;
  readonly number: number;
  heapIndex = NOT_IN_HEAP;

  constructor(hold: Hold, dueAt: number, number: number) {
    this.hold = hold;
    this.dueAt = dueAt;
    this.number = number;
  }
}

/** A hold that its session left for another to claim. */
export interface Ticket {
  readonly secretDigest: string;
  readonly endsAt: number;
}

export class HoldExtras {
  readonly value: string = "";
  /** 0: none of them. */
  readonly maxHoldMs: number = 0;
  readonly minHoldMs: number = 0;
  readonly lockDelayMs: number = 0;
  /** When a revoke ends it by force; 0: it was not revoked. */
  readonly revokedAt: number = 0;
  readonly revokeReason: string = "";
  readonly ticket: Ticket | undefined = undefined;
  readonly end: HoldEnd | undefined = undefined;
  /** While it waits, which says itself what it is of. */
  upgrade: Request | undefined = undefined;
}

export class Hold {
  readonly token: number;
  readonly session: Session;
  readonly owner: number;
  /** Of the acquire or claim that brought it. */
  readonly sequence: number;
  readonly grantedAt: number;
  /** Its holder was told that somebody waits. */
  readonly isContended: boolean = false;
  readonly extras: HoldExtras | undefined = undefined;
  readonly firstPlace: Place | undefined = undefined;
  /** While it stands in the table: where its session, its sequence and its token find it. */
  readonly row: number = 0;
  nextByOwner: OwnerEntry | undefined = undefined;

  constructor(token: number, session: Session, owner: number, sequence: number, grantedAt: number) {
    this.token = token;
    this.session = session;
    this.owner = owner;
    this.sequence = sequence;
    this.grantedAt = grantedAt;
  }

  get value(): string {
    return this.extras?.value ?? "";
  }

  get isTicket(): boolean {
    return this.extras?.ticket !== undefined;
  }

  /** Gives out its own fields to be written. */
  change(): Changing<Hold> {
    this.session.copies.copier?.copyRow(this.row);
    return this;
  }

  /** The same of its extras, which are made when the first of them is needed. */
  changeExtras(): Changing<HoldExtras> {
    const hold = this.change();
    hold.extras ??= new HoldExtras();
    return hold.extras;
  }
}
