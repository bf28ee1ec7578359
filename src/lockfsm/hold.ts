/**
 * A granted request: all its keys under one token ("Records"). Its places stand in the keys' lists
 * of holds. A hold that is one of many, of a lock that nobody else wants, is only a row
 * ("lone-holds.ts"); what few of the others have is kept apart.
 */
import { type DueItem, NOT_IN_HEAP } from "./due-heap.js";
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

/** A token that was replaced by a newer one, and finds its hold for a while ("tokens.ts"). */
export class Alias {
  readonly token: number;
  readonly hold: Hold;
  /**
   * Of the upgrade that replaced it; 0: a takeover did. Of one that is outlived the upgrade that was
   * acknowledged, be it a later one.
   */
  sequence: number;

  constructor(token: number, hold: Hold, sequence: number) {
    this.token = token;
    this.hold = hold;
    this.sequence = sequence;
  }
}

export class HoldExtras {
  /** How often it is held. */
  count = 1;
  value = "";
  /** 0: none of them. */
  maxHoldMs = 0;
  minHoldMs = 0;
  lockDelayMs = 0;
  /** When a revoke ends it by force; 0: it was not revoked. */
  revokedAt = 0;
  revokeReason = "";
  ticket: Ticket | undefined = undefined;
  /** Tokens that it had before, as long as its client may know no newer one. */
  readonly aliases: Alias[] = [];
  /** Older ones, which an unread outcome names. In the order of tokens. */
  outlived: Set<Alias> | undefined = undefined;
  end: HoldEnd | undefined = undefined;
  /** Upgrades of it that wait. */
  readonly upgrades: Request[] = [];

  /** Of both sorts, in the order of tokens. */
  get allAliases(): readonly Alias[] {
    const { outlived, aliases } = this;
    return outlived === undefined ? aliases : [...outlived, ...aliases];
  }
}

export class Hold {
  token: number;
  session: Session;
  owner: number;
  /** Of the acquire or claim that it answers. */
  sequence: number;
  readonly grantedAt: number;
  /** Its holder was told that somebody waits. */
  isContended = false;
  extras: HoldExtras | undefined = undefined;
  firstPlace: Place | undefined = undefined;
  /** While it stands in the table: where its session and its token find it. */
  row = 0;
  nextByOwner: OwnerEntry | undefined = undefined;

  constructor(token: number, session: Session, owner: number, sequence: number, grantedAt: number) {
    this.token = token;
    this.session = session;
    this.owner = owner;
    this.sequence = sequence;
    this.grantedAt = grantedAt;
  }

  get count(): number {
    return this.extras?.count ?? 1;
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
