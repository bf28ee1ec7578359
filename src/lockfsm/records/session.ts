/**
 * A session and its requests, which refer to each other. A session is alive while its lease is not
 * due and it has not been ended; that it is in the table is not enough. Nothing here may know the
 * table: the code that grants, ends and finds claims is above.
 */
import {
  type AcquireTerms,
  END_REASON,
  type EndReason,
  type Origin,
} from "../../protocol/index.js";
import { type DueItem, NOT_IN_HEAP } from "../structures/due-heap.js";
import { unlink } from "../structures/record-list.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import type { Credential } from "./identity.js";
import type { Claimant, Place } from "./key.js";
import type { LeaseWait } from "./lease.js";
import { ReplyWindow, type Slot } from "./reply-window.js";
import { bytesOfOwner, bytesOfPlaces, bytesOfSession } from "./sizes.js";
import type { QueueOrder } from "./waiting-queue.js";

/** Lost holds of one session that are remembered for a recall. */
export const LOSSES_MAX = 1_000;

export const UNKNOWN_ORIGIN: Origin = Object.freeze({ node: 0, address: "" });

/** How a hold ended that its session did not release. */
export interface Loss {
  /** The newest token that it had. */
  readonly token: number;
  readonly reason: EndReason;
}

/** The time at which a session that an operator ended is ended by force. */
export class SessionEnd implements DueItem {
  readonly session: Session;
  readonly dueAt: number;
  readonly number: number;
  readonly reason: string;
  /** The name of the identity that ordered it. */
  readonly orderedBy: string;
  heapIndex = NOT_IN_HEAP;

  constructor(session: Session, dueAt: number, number: number, reason: string, orderedBy: string) {
    this.session = session;
    this.dueAt = dueAt;
    this.number = number;
    this.reason = reason;
    this.orderedBy = orderedBy;
  }
}

/** A client's lease, its stored replies, and the lists of its holds and requests. */
export class Session implements DueItem, Copied {
  readonly copies: CopyOnWrite;
  readonly id: number;
  /** The digest of the nonce with which it is opened and resumed. */
  readonly nonceDigest: string;
  readonly name: string;
  readonly metadata: string;
  readonly ttlMs: number;
  /** What its newest attachment came with; the session is of that credential's identity. */
  readonly credential: Credential;
  /** From where that came; node 0 if it is not known. */
  readonly origin: Origin = UNKNOWN_ORIGIN;
  /** When the lease ends, in cluster time. It only ever moves to later. */
  readonly dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** The attempt that attached last. */
  readonly attempt: number;
  /** Counts attachments; commands of any attachment but the last have no effect. */
  readonly attachEpoch: number = 1;
  /** The answer to that attempt, repeated to its duplicates. */
  readonly attachedAt: number;
  readonly attachedSequence: number = 0;
  /** The largest sequence that has been executed. */
  readonly highestSequence: number = 0;
  /** Set when it was ended; its claims may take further steps to end. */
  readonly endedBy: EndReason | undefined = undefined;
  /** The name of the identity that ended it by an order; "" if it ended otherwise. */
  readonly orderedBy: string = "";
  /** Set when an operator has ordered its end. */
  readonly forcedEnd: SessionEnd | undefined = undefined;
  readonly replies: ReplyWindow<Request>;
  /** Covers the session's own fields; claims and stored replies have their own. */
  savedIn: number;
  /** The last snapshot whose walk has handled all its claims, or need not. */
  walkedIn: number;
  /** Lost holds, by sequence, until it has read how they ended. */
  #losses: Map<number, Loss> | undefined = undefined;
  /** The size of it, its holds, its requests and its cooldowns; see `sizes.ts`. */
  bytes: number;
  holdCount = 0;
  /** Cooldowns of holds that it had. */
  cooldownCount = 0;
  /** Their size. They do not count against another identity when it adopts the session. */
  cooldownBytes = 0;
  requestCount = 0;
  /** Rows in the order of tokens, linked by "hold-rows.ts"; 0 if there is none. */
  firstHold = 0;
  lastHold = 0;
  /** The number that identifies it in its rows, while it holds something. */
  rowNumber = 0;
  /** In the order in which they joined it. */
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
    credential: Credential,
  ) {
    this.copies = copies;
    this.id = id;
    this.nonceDigest = nonceDigest;
    this.name = name;
    this.metadata = metadata;
    this.ttlMs = ttlMs;
    this.credential = credential;
    this.dueAt = stamp + ttlMs;
    this.attempt = attempt;
    this.attachedAt = stamp;
    this.bytes = bytesOfSession(this);
    this.replies = new ReplyWindow(this);
    this.savedIn = copies.latest;
    this.walkedIn = copies.latest;
  }

  /** The session of the holds of owners. It never ends, and nothing is sent to it. */
  static ofOwners(copies: CopyOnWrite, credential: Credential): Session {
    const session = new Session(copies, 0, "", "", "", 0, 0, 0, credential);
    session.change().dueAt = Number.POSITIVE_INFINITY;
    return session;
  }

  /** Gives write access to its own fields and its mark. */
  change(): Changing<Session> {
    this.copies.copier?.copy(this);
    return this;
  }

  get losses(): ReadonlyMap<number, Loss> | undefined {
    return this.#losses;
  }

  /** Its number among due items, all of which draw from one counter. */
  get number(): number {
    return this.id;
  }

  /** "" for the session of owners. */
  get identityName(): string {
    return this.id === 0 ? "" : this.credential.identity.name;
  }

  get isEnded(): boolean {
    return this.endedBy !== undefined;
  }

  isAliveAt(stamp: number): boolean {
    if (this.endedBy !== undefined || this.dueAt <= stamp) return false;
    if (this.credential.identity.isRemoved) return false;
    return this.forcedEnd === undefined || this.forcedEnd.dueAt > stamp;
  }

  /** Why it ends if nothing renews its lease: the cause that is due first. */
  get endReason(): EndReason {
    const isForced = this.forcedEnd !== undefined && this.forcedEnd.dueAt < this.dueAt;
    return isForced ? END_REASON.revoked : END_REASON.expired;
  }

  /** The number of outcomes and losses that it has not acknowledged. */
  get unreadEnds(): number {
    return this.replies.unacknowledged + (this.losses?.size ?? 0);
  }

  /**
   * Records how a hold was lost. If there are too many losses, the oldest is forgotten, whose
   * reason will then be unknown.
   */
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

  /** Returns its size. */
  addRequest(request: Request): number {
    const last = this.lastRequest;
    const { bytes } = request;
    const { identity } = this.credential;
    this.requestCount += 1;
    this.bytes += bytes;
    identity.waitCount += 1;
    identity.bytes += bytes;
    request.previous = last;
    if (last === undefined) this.firstRequest = request;
    else last.next = request;
    this.lastRequest = request;
    return bytes;
  }

  /** Removes a request that leaves its queues, for any reason. Returns its size. */
  removeRequest(request: Request): number {
    request.change().hasEnded = true;
    const { bytes } = request;
    const { identity } = this.credential;
    this.requestCount -= 1;
    this.bytes -= bytes;
    identity.waitCount -= 1;
    identity.bytes -= bytes;
    if (this.firstRequest === request) this.firstRequest = request.next;
    if (this.lastRequest === request) this.lastRequest = request.previous;
    unlink(request);
    return bytes;
  }
}

/** A claim, or several of one task, in the index of tasks ("claim-indexes.ts"). */
export interface TaskLink {
  readonly session: Session;
  readonly task: number;
  nextByTask: TaskLink | undefined;
}

/** `dueAt` of a request that waits without a deadline, and is therefore not in the heap. */
export const NO_DEADLINE = -1;
/** The rank of upgrades: before all other requests. */
export const UPGRADE_RANK = -(2 ** 52);

/**
 * A waiting claim: an acquire with one place in each of its keys, or the upgrade of a hold in one
 * of them. It is granted when nothing before it conflicts with it in any of them.
 */
export class Request implements DueItem, QueueOrder, Copied, Claimant {
  readonly session: Session;
  readonly sequence: number;
  /** The slot for its outcome; `undefined` until it has been told to wait. */
  slot: Slot<Request> | undefined = undefined;
  /** Whether it has left its queues, for any reason. */
  readonly hasEnded: boolean = false;
  readonly task: number;
  /** Its number in the order of arrival. */
  readonly number: number;
  readonly rank: number;
  /**
   * Its number in the list of its session: its number in the order, unless a repeated take has
   * moved it here later.
   */
  readonly joined: number;
  readonly enqueuedAt: number;
  readonly dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** `undefined` means the defaults. */
  readonly options: AcquireTerms | undefined;
  /** Whether it may be refused if it would otherwise wait forever. */
  readonly detects: boolean;
  /** The hold that is to become exclusive in the one key of this request ("hold.ts"). */
  readonly upgrades: Claimant | undefined = undefined;
  /** What a take waits for; `undefined` for any other request. */
  readonly lease: LeaseWait | undefined = undefined;
  readonly firstPlace: Place | undefined = undefined;
  previous: Request | undefined = undefined;
  next: Request | undefined = undefined;
  /**
   * Whether no search has decided yet if it closes a cycle of waits. Searches for earlier requests
   * ignore it.
   */
  readonly isUnchecked: boolean = false;
  /** Whether a later entry is to search from its task. */
  isQueuedForSearch = false;
  /** Whether its queues list it among the requests that can be part of a cycle of waits. */
  isListed = false;
  nextByTask: TaskLink | undefined = undefined;
  savedIn: number;

  constructor(
    session: Session,
    sequence: number,
    task: number,
    order: QueueOrder,
    enqueuedAt: number,
    dueAt: number,
    options: AcquireTerms | undefined,
  ) {
    this.session = session;
    this.sequence = sequence;
    this.task = task;
    this.number = order.number;
    this.rank = order.rank;
    this.joined = order.number;
    this.enqueuedAt = enqueuedAt;
    this.dueAt = dueAt;
    this.options = options;
    this.detects = options?.detect ?? true;
    this.savedIn = session.copies.latest;
  }

  /** Makes it the wait for a lease, before it is in any queue. */
  become(lease: LeaseWait, joined: number): void {
    const changed = this.change();
    changed.lease = lease;
    changed.joined = joined;
    changed.detects = false;
  }

  /** What others see of who waits. */
  get holderName(): string {
    return this.lease?.name ?? this.session.name;
  }

  get identityName(): string {
    return this.lease?.identity.name ?? this.session.identityName;
  }

  /** Gives write access to its fields. Whether it was reached follows from the rest. */
  change(): Changing<Request> {
    this.session.copies.copier?.copy(this);
    return this;
  }

  /** Its size in the table; see `sizes.ts`. */
  get bytes(): number {
    return (
      bytesOfPlaces(this.firstPlace) + (this.options?.value.length ?? 0) + bytesOfOwner(this.lease)
    );
  }

  /** Whether nothing before it conflicts with it in any of its keys. */
  get isEligible(): boolean {
    for (let place = this.firstPlace; place !== undefined; place = place.sibling) {
      if (!place.key.hasReached(place)) return false;
    }
    return true;
  }

  /** Whether it can no longer be granted at `stamp`, although it is still in its queues. */
  isOverAt(stamp: number): boolean {
    return (this.dueAt !== NO_DEADLINE && this.dueAt <= stamp) || !this.session.isAliveAt(stamp);
  }
}

/** The request of a place in a queue. */
export function orderOf(place: Place): Request {
  return place.claimant as Request;
}
