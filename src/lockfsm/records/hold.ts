/**
 * A granted request: all its keys under one token. It is known by its session and the sequence of its
 * acquire or claim; the token is what it carries. Its places stand in the keys' lists
 * of holds. A hold that is one of many, of a lock that nobody else wants, is only a row
 * ("lone-holds.ts"); what few of the others have is kept apart.
 */
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import type { OwnerEntry } from "./owner-index.js";
import type { Place } from "./place.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";

/** The time at which a hold ends by itself, for whichever of its reasons comes first. */
export class HoldEnd implements DueItem {
  readonly hold: Hold;
  dueAt: number;
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
  value = "";
  /** 0: none of them. */
  maxHoldMs = 0;
  minHoldMs = 0;
  lockDelayMs = 0;
  /** When a revoke ends it by force; 0: it was not revoked. */
  revokedAt = 0;
  revokeReason = "";
  ticket: Ticket | undefined = undefined;
  end: HoldEnd | undefined = undefined;
  /** While it waits. */
  upgrade: Request | undefined = undefined;
}

export class Hold {
  token: number;
  session: Session;
  owner: number;
  /** Of the acquire or claim that brought it. */
  sequence: number;
  readonly grantedAt: number;
  /** Its holder was told that somebody waits. */
  isContended = false;
  extras: HoldExtras | undefined = undefined;
  firstPlace: Place | undefined = undefined;
  /** While it stands in the table: where its session, its sequence and its token find it. */
  row = 0;
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

  /** Made when the first of them is needed. */
  obtainExtras(): HoldExtras {
    this.extras ??= new HoldExtras();
    return this.extras;
  }
}
