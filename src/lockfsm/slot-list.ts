/**
 * Slots of stored replies in the order of their sequences, in one array: sequences arrive almost
 * sorted, a look-up is a guess or a binary search, and what is forgotten leaves a gap that is closed
 * when half of the array is gaps. A list never decides what is to be forgotten.
 */
import { assert } from "../assert.js";
import type { EndReason, Result } from "../protocol/index.js";
import type { Request } from "./request.js";
import { QUEUED } from "./results.js";

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
  /** What it granted was given up by a cancel, though its hold may live on. */
  isGivenUp = false;
  /** It is in this snapshot, or is not to be in it. */
  savedIn: number;

  constructor(sequence: number, stamp: number, state: SlotState, result: Result, epoch: number) {
    this.sequence = sequence;
    this.stamp = stamp;
    this.state = state;
    this.result = result;
    this.savedIn = epoch;
  }

  /** The token that was granted, or 0. */
  get token(): number {
    return "token" in this.result ? this.result.token : 0;
  }
}

const GAPS_MIN = 32;

export class SlotList {
  #slots: Slot[] = [];
  /** Index of the first slot that the mark has not passed. */
  #markIndex = 0;
  #gaps = 0;

  /** Gaps included. */
  get length(): number {
    return this.#slots.length;
  }

  /** Of all slots; 0 when there is none. */
  get lastSequence(): number {
    return this.#slots[this.#slots.length - 1]?.sequence ?? 0;
  }

  find(sequence: number): Slot | undefined {
    const slot = this.firstFrom(sequence);
    return slot !== undefined && slot.sequence === sequence && slot.state !== "gone"
      ? slot
      : undefined;
  }

  /** The first slot, one that is gone perhaps, whose sequence is not below `sequence`. */
  firstFrom(sequence: number): Slot | undefined {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    if (last === undefined || sequence > last.sequence) return undefined;
    const guess = slots.length - 1 - (last.sequence - sequence);
    const slot = slots[guess];
    return slot !== undefined && slot.sequence === sequence
      ? slot
      : slots[this.#positionOf(sequence)];
  }

  /** How many would have to move to let `sequence` in. */
  countBehind(sequence: number): number {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    if (last === undefined || last.sequence < sequence) return 0;
    return slots.length - this.#positionOf(sequence);
  }

  /** The mark must not have passed it, and its sequence must not be in the list. */
  insert(slot: Slot): void {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    if (last === undefined || last.sequence < slot.sequence) {
      slots.push(slot);
      return;
    }
    const position = this.#positionOf(slot.sequence);
    assert(position >= this.#markIndex, () => `${slot.sequence} was passed by the mark`);
    assert(slots[position]?.sequence !== slot.sequence, () => `${slot.sequence} stored twice`);
    slots.splice(position, 0, slot);
  }

  /** Adds a slot behind all others; the mark stands behind it if it `isPassed`. */
  append(slot: Slot, isPassed: boolean): void {
    const slots = this.#slots;
    const last = slots[slots.length - 1];
    assert(last === undefined || last.sequence < slot.sequence, () => `${slot.sequence} misplaced`);
    assert(!isPassed || this.#markIndex === slots.length, () => `mark at ${this.#markIndex}`);
    slots.push(slot);
    if (isPassed) this.#markIndex += 1;
  }

  /** The next slot that `mark` passes, each once; `undefined` when there is none left. */
  passNext(mark: number): Slot | undefined {
    const slot = this.#slots[this.#markIndex];
    if (slot === undefined || slot.sequence >= mark) return undefined;
    this.#markIndex += 1;
    return slot;
  }

  /** A slot of this list that the mark passed leaves a gap. */
  forget(slot: Slot): void {
    slot.state = "gone";
    slot.result = QUEUED;
    this.#gaps += 1;
  }

  closeGaps(): void {
    const { length } = this.#slots;
    if (this.#gaps < length && (this.#gaps < GAPS_MIN || this.#gaps * 2 < length)) return;
    this.#compact();
  }

  /** Takes over everything that is in `other`. Takes time proportional to both. */
  absorb(other: SlotList): void {
    this.#compact();
    other.#compact();
    const [left, right] = [this.#slots, other.#slots];
    const merged: Slot[] = [];
    let next = 0;
    for (const slot of left) {
      for (let late = right[next]; late !== undefined; late = right[next]) {
        if (late.sequence > slot.sequence) break;
        merged.push(late);
        next += 1;
      }
      merged.push(slot);
    }
    for (; next < right.length; next += 1) merged.push(right[next] as Slot);
    this.#slots = merged;
    this.#markIndex += other.#markIndex;
    other.#slots = [];
    other.#markIndex = 0;
  }

  /** In the order of sequences. */
  forEach(visit: (slot: Slot) => void): void {
    for (const slot of this.#slots) if (slot.state !== "gone") visit(slot);
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

  #compact(): void {
    if (this.#gaps === 0) return;
    const slots = this.#slots;
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
