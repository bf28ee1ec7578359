/**
 * What a session's sequences came to, so that each is executed once and answered alike for ever.
 *
 * Sequences below the *mark* are answered and read, hence forgotten, with two exceptions: an
 * acquire that still waits, and an outcome that was not acknowledged. Everything is in one array in
 * the order of sequences: they arrive almost sorted, a look-up is a guess or a binary search, and
 * what is forgotten leaves a gap that is closed when half of the array is gaps.
 */
import { assert } from "../assert.js";
import type { EndReason, Result } from "../protocol/index.js";
import type { Request } from "./request.js";
import { QUEUED } from "./results.js";
import { hashNumber, ShardedMap } from "./sharded-map.js";

/**
 * `waiting`    an acquire in the queue;
 * `reply`      forgotten when the mark passes;
 * `outcome`    how an acquire ended that did not end in a refusal at once: kept until acknowledged;
 * `tombstone`  acknowledged, but not passed by the mark: still proves that it was executed;
 * `gone`       forgotten; not to be found any more.
 */
export type SlotState = "waiting" | "reply" | "outcome" | "tombstone" | "gone";

export class Slot {
  readonly sequence: number;
  /** Of the entry that executed the sequence. */
  readonly stamp: number;
  state: SlotState;
  result: Result;
  request: Request | undefined = undefined;
  /** Why the hold that `result` granted is no more, once it is no more. */
  endReason: EndReason | undefined = undefined;

  constructor(sequence: number, stamp: number, state: SlotState, result: Result) {
    this.sequence = sequence;
    this.stamp = stamp;
    this.state = state;
    this.result = result;
  }

  /** The token that was granted, or 0. */
  get token(): number {
    return "token" in this.result ? this.result.token : 0;
  }
}

const GAPS_MIN = 32;

export class ReplyWindow {
  readonly #slots: Slot[] = [];
  /** Index of the first slot that the mark has not passed. */
  #markIndex = 0;
  #gaps = 0;
  #mark = 1;
  #unread = 0;
  #settled = 0;
  #unacknowledged = 0;
  /** Slots of grants that ended before they were acknowledged, by token. */
  #ended: ShardedMap<number, Slot> | undefined = undefined;

  /** The lowest sequence whose reply the client may still need. Never falls. */
  get mark(): number {
    return this.#mark;
  }

  /** Replies from the mark on that are neither acknowledged nor those of waiting acquires. */
  get unread(): number {
    return this.#unread;
  }

  /** The same with tombstones. */
  get settled(): number {
    return this.#settled;
  }

  /** Outcomes anywhere that were not acknowledged. */
  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  find(sequence: number): Slot | undefined {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    if (last === undefined || sequence > last.sequence) return undefined;
    const guess = slots[slots.length - 1 - (last.sequence - sequence)];
    const slot =
      guess !== undefined && guess.sequence === sequence
        ? guess
        : slots[this.#positionOf(sequence)];
    return slot !== undefined && slot.sequence === sequence && slot.state !== "gone"
      ? slot
      : undefined;
  }

  /** Stores the answer to a sequence that was not seen before and is not below the mark. */
  add(sequence: number, stamp: number, state: "reply" | "outcome", result: Result): void {
    this.#insert(new Slot(sequence, stamp, state, result));
    this.#unread += 1;
    this.#settled += 1;
    if (state === "outcome") this.#unacknowledged += 1;
  }

  /** The slot of an acquire that begins to wait. */
  addWaiting(sequence: number, stamp: number): Slot {
    const slot = new Slot(sequence, stamp, "waiting", QUEUED);
    this.#insert(slot);
    return slot;
  }

  /** The wait of a slot ended with `result`. */
  settle(slot: Slot, result: Result): void {
    assert(slot.state === "waiting", () => `sequence ${slot.sequence} is ${slot.state}`);
    slot.state = "outcome";
    slot.result = result;
    slot.request = undefined;
    this.#unacknowledged += 1;
    if (slot.sequence < this.#mark) return;
    this.#unread += 1;
    this.#settled += 1;
  }

  /** The client has read how `sequence` ended. Without effect on one that still waits. */
  acknowledge(sequence: number): void {
    const slot = this.find(sequence);
    if (slot === undefined || slot.state === "waiting" || slot.state === "tombstone") return;
    if (slot.state === "outcome") this.#unacknowledged -= 1;
    if (slot.endReason !== undefined) this.#forgetEnd(slot);
    if (slot.sequence < this.#mark) {
      this.#forget(slot);
      this.#closeGaps();
      return;
    }
    this.#unread -= 1;
    slot.state = "tombstone";
    slot.result = QUEUED;
  }

  /** The client has read everything below `mark`. */
  raiseMark(mark: number): void {
    if (mark <= this.#mark) return;
    this.#mark = mark;
    const slots = this.#slots;
    while (this.#markIndex < slots.length) {
      const slot = slots[this.#markIndex] as Slot;
      if (slot.sequence >= mark) break;
      this.#markIndex += 1;
      if (slot.state === "waiting") continue;
      this.#settled -= 1;
      if (slot.state !== "tombstone") this.#unread -= 1;
      if (slot.state !== "outcome") this.#forget(slot);
    }
    this.#closeGaps();
  }

  /** Remembers why a hold ended, for as long as its grant is not acknowledged. */
  recordEnd(sequence: number, token: number, reason: EndReason): void {
    if (this.#unacknowledged === 0) return;
    const slot = this.find(sequence);
    if (slot === undefined || slot.state !== "outcome") return;
    assert(slot.token === token, () => `sequence ${sequence}: ${slot.token} is not ${token}`);
    slot.endReason = reason;
    this.#ended ??= new ShardedMap<number, Slot>(hashNumber);
    this.#ended.set(token, slot);
  }

  /** Why the hold of `token` ended, or `undefined` when that is not remembered. */
  endReasonOf(token: number): EndReason | undefined {
    return this.#ended?.get(token)?.endReason;
  }

  /** In the order of sequences. */
  forEach(visit: (slot: Slot) => void): void {
    for (const slot of this.#slots) if (slot.state !== "gone") visit(slot);
  }

  #insert(slot: Slot): void {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    if (last === undefined || last.sequence < slot.sequence) {
      slots.push(slot);
      return;
    }
    assert(slot.sequence >= this.#mark, () => `${slot.sequence} below the mark ${this.#mark}`);
    const position = this.#positionOf(slot.sequence);
    assert(slots[position]?.sequence !== slot.sequence, () => `${slot.sequence} stored twice`);
    slots.splice(position, 0, slot);
  }

  /** Index of the first slot that is not before `sequence`. */
  #positionOf(sequence: number): number {
    let low = 0;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#slots[middle] as Slot).sequence < sequence) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #forget(slot: Slot): void {
    slot.state = "gone";
    slot.result = QUEUED;
    this.#gaps += 1;
  }

  #forgetEnd(slot: Slot): void {
    this.#ended?.delete(slot.token);
    if (this.#ended?.size === 0) this.#ended = undefined;
    slot.endReason = undefined;
  }

  #closeGaps(): void {
    const slots = this.#slots;
    if (this.#gaps < slots.length && (this.#gaps < GAPS_MIN || this.#gaps * 2 < slots.length)) {
      return;
    }
    let kept = 0;
    let keptBelowMark = 0;
    for (let at = 0; at < slots.length; at += 1) {
      const slot = slots[at] as Slot;
      if (slot.state === "gone") continue;
      slots[kept] = slot;
      kept += 1;
      if (at < this.#markIndex) keptBelowMark += 1;
    }
    slots.length = kept;
    this.#markIndex = keptBelowMark;
    this.#gaps = 0;
  }
}
