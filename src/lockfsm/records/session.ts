/**
 * A session, the holds and requests that it has, and the owners inside it: records that know each
 * other. A session is alive while its lease is not due and it was not ended; standing in the table is
 * no proof. Nothing here knows the table: what grants, ends and finds claims is above.
 */
import { type AcquireOptions, END_REASON, type EndReason } from "../../protocol/index.js";
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import { unlink } from "../index/record-list.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import type { Claimant, Place } from "./key.js";
import { ReplyWindow, type Slot } from "./reply-window.js";
import { bytesOfPlaces, bytesOfSession } from "./sizes.js";
import type { Order } from "./waiting-queue.js";

/** Ends of holds that one session is told once more when it asks. */
export const LOSSES_MAX = 1_000;

/** How a hold ended that its session did not give up. */
export interface Loss {
  /** The newest that it had. */
  readonly token: number;
  readonly reason: EndReason;
}

/** The time at which an operator's wish ends a session by force. */
export class SessionEnd implements DueItem {
  readonly session: Session;
  readonly dueAt: number;
  readonly number: number;
  readonly reason: string;
  heapIndex = NOT_IN_HEAP;

  constructor(session: Session, dueAt: number, number: number, reason: string) {
    this.session = session;
    this.dueAt = dueAt;
    this.number = number;
    this.reason = reason;
  }
}

/** A client's lease, its stored replies, and the lists of what it holds and waits for. */
export class Session implements DueItem, Copied {
  readonly copies: CopyOnWrite;
  readonly id: number;
  /** Of the nonce that opened it and resumes it. */
  readonly nonceDigest: string;
  readonly name: string;
  readonly metadata: string;
  readonly ttlMs: number;
  /** When the lease ends. Only ever moved to later. */
  readonly dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** How often another process took it over. */
  readonly generation: number = 0;
  /** The process that did so last. */
  readonly taker: string = "";
  /** When that was, in cluster time. */
  readonly takenOverAt: number = 0;
  /** The one of this generation that attached last. */
  readonly attempt: number;
  /** Counts attachments; commands of any but the last have no effect. */
  readonly attachEpoch: number = 1;
  /** What that attempt was answered: repeated to its duplicates. */
  readonly attachedAt: number;
  readonly attachedSequence: number = 0;
  /** The largest sequence that was executed. */
  readonly highestSequence: number = 0;
  /** Set when it was ended; what it held and waited for may take further steps to go. */
  readonly endedBy: EndReason | undefined = undefined;
  /** An operator wants it to end. */
  readonly forcedEnd: SessionEnd | undefined = undefined;
  readonly replies: ReplyWindow<Request>;
  /** Not for its claims and stored replies, which have their own. */
  savedIn: number;
  /** The walk of this snapshot has come to all that it has, or need not. */
  walkedIn: number;
  /** Holds that it did not give up itself, until it has read how they ended: by sequence. */
  #losses: Map<number, Loss> | undefined = undefined;
  /** What it, its holds, its requests and the closings that it left take; see `sizes.ts`. */
  bytes: number;
  holdCount = 0;
  /** Of holds that it had: what of them keeps keys closed. */
  closingCount = 0;
  requestCount = 0;
  /** Rows, in the order of tokens; 0: none ("hold-rows.ts", which links them). */
  firstHold = 0;
  lastHold = 0;
  /** While it holds something: what stands for it in its rows. */
  rowNumber = 0;
  /** In the order of arrival. */
  firstRequest: Request | undefined = undefined;
  lastRequest: Request | undefined = undefined;

  constructor(
    copies: CopyOnWrite,
    id: number,
    nonceDigest: string,
    name: string,
    metadata: string,
    ttlMs: number,
    stamp: number,
    attempt: number,
  ) {
    this.copies = copies;
    this.id = id;
    this.nonceDigest = nonceDigest;
    this.name = name;
    this.metadata = metadata;
    this.ttlMs = ttlMs;
    this.dueAt = stamp + ttlMs;
    this.attempt = attempt;
    this.attachedAt = stamp;
    this.bytes = bytesOfSession(this);
    this.replies = new ReplyWindow(this);
    this.savedIn = copies.latest;
    this.walkedIn = copies.latest;
  }

  /** To whom holds belong that nobody has claimed. It never ends, and nothing is said to it. */
  static ofTickets(copies: CopyOnWrite): Session {
    const session = new Session(copies, 0, "", "", "", 0, 0, 0);
    session.change().dueAt = Number.POSITIVE_INFINITY;
    return session;
  }

  /** Gives out its own fields, and its mark, to be written. */
  change(): Changing<Session> {
    this.copies.copier?.copy(this);
    return this;
  }

  get losses(): ReadonlyMap<number, Loss> | undefined {
    return this.#losses;
  }

  /** Among due times; whatever is due draws from one counter. */
  get number(): number {
    return this.id;
  }

  get isEnded(): boolean {
    return this.endedBy !== undefined;
  }

  isAliveAt(stamp: number): boolean {
    if (this.endedBy !== undefined || this.dueAt <= stamp) return false;
    return this.forcedEnd === undefined || this.forcedEnd.dueAt > stamp;
  }

  /** Why it ends, if nothing renews its lease: what is due first counts. */
  get endReason(): EndReason {
    const isForced = this.forcedEnd !== undefined && this.forcedEnd.dueAt < this.dueAt;
    return isForced ? END_REASON.revoked : END_REASON.expired;
  }

  /** Outcomes and ends that it has not said to have read. */
  get unreadEnds(): number {
    return this.replies.unacknowledged + (this.losses?.size ?? 0);
  }

  /** The oldest is forgotten when there are too many: of it the reason will be unknown. */
  recordLoss(sequence: number, token: number, reason: EndReason): void {
    this.change();
    this.#losses ??= new Map();
    const losses = this.#losses;
    if (losses.size >= LOSSES_MAX) {
      for (const oldest of losses.keys()) {
        losses.delete(oldest);
        break;
      }
    }
    losses.set(sequence, { token, reason });
  }

  acknowledgeLoss(sequence: number): void {
    if (this.#losses?.has(sequence) !== true) return;
    this.change();
    this.#losses.delete(sequence);
    if (this.#losses.size === 0) this.#losses = undefined;
  }

  addRequest(request: Request): void {
    const last = this.lastRequest;
    this.requestCount += 1;
    this.bytes += request.bytes;
    request.previous = last;
    if (last === undefined) this.firstRequest = request;
    else last.next = request;
    this.lastRequest = request;
  }

  /** A request that leaves its queues, whatever for. */
  removeRequest(request: Request): void {
    request.change().hasEnded = true;
    this.requestCount -= 1;
    this.bytes -= request.bytes;
    if (this.firstRequest === request) this.firstRequest = request.next;
    if (this.lastRequest === request) this.lastRequest = request.previous;
    unlink(request);
  }
}

/** `dueAt` of a request that waits without a deadline; it is not in the heap then. */
export const NO_DEADLINE = -1;
/** Of upgrades: ahead of everybody else. */
export const UPGRADE_RANK = -(2 ** 52);

/**
 * A claim that waits: an acquire with one place in each of its keys, or the upgrade of a hold in one
 * of them. It is granted when nothing before it conflicts with it in any of them.
 */
export class Request implements DueItem, Order, Copied, Claimant {
  readonly session: Session;
  readonly sequence: number;
  /** Where its outcome goes; `undefined` until it is told to wait. */
  slot: Slot<Request> | undefined = undefined;
  /** It left its queues, whatever for. */
  readonly hasEnded: boolean = false;
  readonly owner: number;
  /** Its arrival. */
  readonly number: number;
  readonly rank: number;
  readonly enqueuedAt: number;
  readonly dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** `undefined`: the defaults. */
  readonly options: AcquireOptions | undefined;
  /** It may be refused where waiting would never end. */
  readonly detects: boolean;
  /** The hold that is to become exclusive in the one key of this request. */
  readonly upgrades: Hold | undefined = undefined;
  readonly firstPlace: Place | undefined = undefined;
  previous: Request | undefined = undefined;
  next: Request | undefined = undefined;
  /** No search has told yet whether it closes a cycle of waits: for earlier ones it is not there. */
  readonly isUnchecked: boolean = false;
  /** A later entry is to look at its owner. */
  isQueuedForSearch = false;
  /** In its queues it is among those that can be part of a cycle of waits. */
  isListed = false;
  nextByOwner: OwnerEntry | undefined = undefined;
  savedIn: number;

  constructor(
    session: Session,
    sequence: number,
    owner: number,
    order: Order,
    enqueuedAt: number,
    dueAt: number,
    options: AcquireOptions | undefined,
  ) {
    this.session = session;
    this.sequence = sequence;
    this.owner = owner;
    this.number = order.number;
    this.rank = order.rank;
    this.enqueuedAt = enqueuedAt;
    this.dueAt = dueAt;
    this.options = options;
    this.detects = options?.detect ?? true;
    this.savedIn = session.copies.latest;
  }

  /** Gives out its fields to be written. That it was reached, the rest says. */
  change(): Changing<Request> {
    this.session.copies.copier?.copy(this);
    return this;
  }

  /** What it takes of the table; see `sizes.ts`. */
  get bytes(): number {
    return bytesOfPlaces(this.firstPlace) + (this.options?.value.length ?? 0);
  }

  /** Nothing before it conflicts with it, in none of its keys. */
  get isEligible(): boolean {
    for (let place = this.firstPlace; place !== undefined; place = place.sibling) {
      if (!place.key.hasReached(place)) return false;
    }
    return true;
  }

  /** Whether it may not be granted any more at `stamp`, though it still stands in its queues. */
  isOverAt(stamp: number): boolean {
    return (this.dueAt !== NO_DEADLINE && this.dueAt <= stamp) || !this.session.isAliveAt(stamp);
  }
}

/** The request of a place in a queue. */
export function orderOf(place: Place): Request {
  return place.claimant as Request;
}

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

/**
 * A granted request: all its keys under one token. It is known by its session and the sequence of its
 * acquire or claim; the token is what it carries. Its places stand in the keys' lists
 * of holds. A hold that is one of many, of a lock that nobody else wants, is only a row
 * ("lone-holds.ts"); what few of the others have is kept apart.
 */
export class Hold implements Claimant {
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
