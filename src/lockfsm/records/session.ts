/**
 * A session: a client's lease, its stored replies, and the lists of what it holds and waits for.
 * It is alive while its lease is not due and it was not ended; standing in the table is no proof.
 */

import { END_REASON, type EndReason } from "../../protocol/index.js";
import { unlink } from "../index/chain.js";
import { type DueItem, NOT_IN_HEAP } from "../index/due-heap.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import { ReplyWindow } from "./reply-window.js";
import type { Request } from "./request.js";
import { bytesOfSession } from "./sizes.js";

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
  readonly replies: ReplyWindow;
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
