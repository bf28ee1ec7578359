/**
 * A session: a client's lease, its stored replies, and the lists of what it holds and waits for.
 * It is alive while its lease is not due and it was not ended; standing in the table is no proof.
 */

import { assert } from "../assert.js";
import { unlink } from "./chain.js";
import { type DueItem, NOT_IN_HEAP } from "./due-heap.js";
import type { Hold } from "./hold.js";
import { ReplyWindow } from "./reply-window.js";
import type { Request } from "./request.js";
import type { Saving } from "./saving.js";

export class Session implements DueItem {
  readonly saving: Saving;
  readonly id: number;
  readonly nonce: string;
  readonly name: string;
  readonly metadata: string;
  readonly ttlMs: number;
  /** When the lease ends. Only ever moved to later. */
  dueAt: number;
  heapIndex = NOT_IN_HEAP;
  /** The attempt that attached last; commands of any other have no effect. */
  attachEpoch: number;
  /** What that attempt was answered: repeated to its duplicates. */
  attachedAt: number;
  attachedSequence = 0;
  /** The largest sequence that was executed. */
  highestSequence = 0;
  /** Set when it was ended; what it held and waited for may take further steps to go. */
  isEnded = false;
  readonly replies: ReplyWindow;
  /** Its own fields are in this snapshot, or are not to be in it. */
  savedIn: number;
  /** The walk of this snapshot has come to all that it has, or need not. */
  walkedIn: number;
  /** In the order of tokens. */
  firstHold: Hold | undefined = undefined;
  lastHold: Hold | undefined = undefined;
  /** In the order of arrival. */
  firstRequest: Request | undefined = undefined;
  lastRequest: Request | undefined = undefined;

  constructor(
    saving: Saving,
    id: number,
    nonce: string,
    name: string,
    metadata: string,
    ttlMs: number,
    stamp: number,
    attempt: number,
  ) {
    this.saving = saving;
    this.id = id;
    this.nonce = nonce;
    this.name = name;
    this.metadata = metadata;
    this.ttlMs = ttlMs;
    this.dueAt = stamp + ttlMs;
    this.attachEpoch = attempt;
    this.attachedAt = stamp;
    this.replies = new ReplyWindow(this);
    this.savedIn = saving.epoch;
    this.walkedIn = saving.epoch;
  }

  /** Among due times; sessions and requests draw from one counter. */
  get number(): number {
    return this.id;
  }

  isAliveAt(stamp: number): boolean {
    return !this.isEnded && this.dueAt > stamp;
  }

  addHold(hold: Hold): void {
    const last = this.lastHold;
    assert(
      last === undefined || last.token < hold.token,
      () => `session ${this.id}: token ${hold.token} behind ${last?.token}`,
    );
    hold.previous = last;
    if (last === undefined) this.firstHold = hold;
    else last.next = hold;
    this.lastHold = hold;
  }

  removeHold(hold: Hold): void {
    if (this.firstHold === hold) this.firstHold = hold.next;
    if (this.lastHold === hold) this.lastHold = hold.previous;
    unlink(hold);
  }

  addRequest(request: Request): void {
    const last = this.lastRequest;
    request.previous = last;
    if (last === undefined) this.firstRequest = request;
    else last.next = request;
    this.lastRequest = request;
  }

  removeRequest(request: Request): void {
    if (this.firstRequest === request) this.firstRequest = request.next;
    if (this.lastRequest === request) this.lastRequest = request.previous;
    unlink(request);
  }
}
