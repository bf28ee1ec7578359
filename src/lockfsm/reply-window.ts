/**
 * What a session's sequences came to, so that each is executed once and answered alike for ever.
 *
 * Sequences below the *mark* are answered and read, hence forgotten, with two exceptions: an
 * acquire that still waits, and an outcome that was not acknowledged. A sequence that arrives long
 * after many larger ones is put aside at first: no client can make the table move more than a few
 * slots for one command.
 */
import { assert } from "../assert.js";
import { type EndReason, type Result, STATUS } from "../protocol/index.js";
import { QUEUED } from "./results.js";
import type { Session } from "./session.js";
import { hashNumber, ShardedMap } from "./sharded-map.js";
import { Slot, SlotList } from "./slot-list.js";

/**
 * A slot that more others would have to make room for is put aside. When more than so many are, all
 * of them are put in at once.
 */
const LATE_MAX = 1_024;

export class ReplyWindow {
  readonly #session: Session;
  readonly #lateMax: number;
  readonly #slots = new SlotList();
  /** What was put aside. A slot is in one of the two lists. */
  #late: SlotList | undefined = undefined;
  #mark = 1;
  #unread = 0;
  #settled = 0;
  #unacknowledged = 0;
  /** Slots of grants that ended before they were acknowledged, by token. */
  #ended: ShardedMap<number, Slot> | undefined = undefined;
  /**
   * How many outcomes that were not acknowledged count up or upgraded the hold of a token: those
   * that name a token beside the one that brought the hold. Nearly always there are none.
   */
  #namings: ShardedMap<number, number> | undefined = undefined;

  /** `lateMax` changes the time that things take, and nothing else. */
  constructor(session: Session, lateMax = LATE_MAX) {
    this.#session = session;
    this.#lateMax = lateMax;
  }

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

  /** The largest sequence of any slot; 0 when there is none. */
  get lastSequence(): number {
    return Math.max(this.#slots.lastSequence, this.#late?.lastSequence ?? 0);
  }

  find(sequence: number): Slot | undefined {
    return this.#slots.find(sequence) ?? this.#late?.find(sequence);
  }

  /** As `firstFrom` of a list, over everything. */
  firstFrom(sequence: number): Slot | undefined {
    const slot = this.#slots.firstFrom(sequence);
    const late = this.#late?.firstFrom(sequence);
    if (late === undefined) return slot;
    return slot === undefined || late.sequence < slot.sequence ? late : slot;
  }

  /** Stores the answer to a sequence that was not seen before and is not below the mark. */
  add(sequence: number, stamp: number, state: "reply" | "outcome", result: Result): void {
    this.#insert(new Slot(sequence, stamp, state, result, this.#session.saving.epoch));
    this.#unread += 1;
    this.#settled += 1;
    if (state === "outcome") this.#unacknowledged += 1;
  }

  /** The slot of an acquire that begins to wait. */
  addWaiting(sequence: number, stamp: number): Slot {
    const slot = new Slot(sequence, stamp, "waiting", QUEUED, this.#session.saving.epoch);
    this.#insert(slot);
    return slot;
  }

  /** The wait of a slot ended with `result`. */
  settle(slot: Slot, result: Result): void {
    assert(slot.state === "waiting", () => `sequence ${slot.sequence} is ${slot.state}`);
    this.#keep(slot);
    slot.state = "outcome";
    slot.result = result;
    slot.request = undefined;
    this.#unacknowledged += 1;
    if (slot.sequence < this.#mark) return;
    this.#unread += 1;
    this.#settled += 1;
  }

  /** The outcome that is stored next counts up the hold of the token, or upgraded it. */
  noteNaming(token: number): void {
    this.#namings ??= new ShardedMap<number, number>(hashNumber);
    this.#namings.set(token, (this.#namings.get(token) ?? 0) + 1);
  }

  /**
   * Whether an outcome that was not acknowledged names the token of a hold. `sequence`: of the one
   * that brought the hold.
   */
  isNamed(token: number, sequence: number): boolean {
    if (this.#namings?.get(token) !== undefined) return true;
    const slot = this.find(sequence);
    return slot?.state === "outcome" && slot.token === token;
  }

  /** An acquire that was about to wait does not: its answer is stored instead. */
  settleAtOnce(slot: Slot, state: "reply" | "outcome", result: Result): void {
    this.settle(slot, result);
    if (state === "outcome") return;
    slot.state = "reply";
    this.#unacknowledged -= 1;
  }

  /** What the slot granted was given up. */
  giveUp(slot: Slot): void {
    this.#keep(slot);
    slot.isGivenUp = true;
  }

  /** The client has read how `sequence` ended. Without effect on one that still waits. */
  acknowledge(sequence: number): void {
    const slot = this.find(sequence);
    if (slot === undefined || slot.state === "waiting" || slot.state === "tombstone") return;
    this.#keep(slot);
    if (slot.state === "outcome") {
      this.#unacknowledged -= 1;
      if (this.#namings !== undefined && isNaming(slot.result)) this.#forgetNaming(slot.token);
    }
    if (slot.endReason !== undefined) this.#forgetEnd(slot);
    if (slot.sequence < this.#mark) {
      const list = this.#listOf(slot);
      list.forget(slot);
      list.closeGaps();
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
    this.#pass(this.#slots);
    if (this.#late !== undefined) this.#pass(this.#late);
  }

  /**
   * Remembers why a hold ended, for as long as the outcome that brought its token, or an older one
   * of it, is not acknowledged.
   */
  recordEnd(sequence: number, reason: EndReason): void {
    if (this.#unacknowledged === 0) return;
    const slot = this.find(sequence);
    if (slot === undefined || slot.state !== "outcome") return;
    assert(slot.token > 0, () => `sequence ${sequence} granted nothing`);
    this.#keep(slot);
    slot.endReason = reason;
    this.#noteEnd(slot);
  }

  /** Why the hold of `token` ended, or `undefined` when that is not remembered. */
  endReasonOf(token: number): EndReason | undefined {
    return this.#ended?.get(token)?.endReason;
  }

  /** The mark of a window that is empty. */
  restoreMark(mark: number): void {
    assert(this.#mark === 1 && this.#slots.length === 0, () => `the mark was ${this.#mark}`);
    this.#mark = mark;
  }

  /** Puts back a slot of a snapshot; in the order of sequences, and after the mark. */
  restore(slot: Slot): void {
    const { sequence, state, endReason } = slot;
    const isPassed = sequence < this.#mark;
    assert(
      !isPassed || state === "waiting" || state === "outcome",
      () => `${state} of ${sequence} below the mark ${this.#mark}`,
    );
    this.#slots.append(slot, isPassed);
    if (state === "outcome") {
      this.#unacknowledged += 1;
      if (isNaming(slot.result)) this.noteNaming(slot.token);
    }
    if (endReason !== undefined) this.#noteEnd(slot);
    if (isPassed || state === "waiting") return;
    this.#settled += 1;
    if (state !== "tombstone") this.#unread += 1;
  }

  /** In the order of sequences. */
  forEach(visit: (slot: Slot) => void): void {
    this.#takeLate();
    this.#slots.forEach(visit);
  }

  #insert(slot: Slot): void {
    const { sequence } = slot;
    assert(sequence >= this.#mark, () => `${sequence} below the mark ${this.#mark}`);
    if (this.#slots.countBehind(sequence) <= this.#lateMax) {
      this.#slots.insert(slot);
      return;
    }
    this.#late ??= new SlotList();
    this.#late.insert(slot);
    if (this.#late.length > this.#lateMax) this.#takeLate();
  }

  #listOf(slot: Slot): SlotList {
    const late = this.#late;
    return late?.find(slot.sequence) === slot ? late : this.#slots;
  }

  #takeLate(): void {
    if (this.#late === undefined) return;
    this.#slots.absorb(this.#late);
    this.#late = undefined;
  }

  #pass(list: SlotList): void {
    for (let slot = list.passNext(this.#mark); slot !== undefined; ) {
      if (slot.state !== "waiting") {
        this.#settled -= 1;
        if (slot.state !== "tombstone") this.#unread -= 1;
        if (slot.state !== "outcome") {
          this.#keep(slot);
          list.forget(slot);
        }
      }
      slot = list.passNext(this.#mark);
    }
    list.closeGaps();
  }

  /** A snapshot that is under way gets the slot as it is before it changes. */
  #keep(slot: Slot): void {
    this.#session.saving.keepSlot(this.#session, slot);
  }

  #forgetNaming(token: number): void {
    const namings = this.#namings;
    const count = namings?.get(token);
    assert(namings !== undefined && count !== undefined, () => `nothing names ${token}`);
    if (count > 1) namings.set(token, count - 1);
    else namings.delete(token);
    if (namings.size === 0) this.#namings = undefined;
  }

  #noteEnd(slot: Slot): void {
    this.#ended ??= new ShardedMap<number, Slot>(hashNumber);
    this.#ended.set(slot.token, slot);
  }

  #forgetEnd(slot: Slot): void {
    this.#ended?.delete(slot.token);
    if (this.#ended?.size === 0) this.#ended = undefined;
    slot.endReason = undefined;
  }
}

/** Whether the hold of the token was there before the outcome. */
function isNaming(result: Result): boolean {
  if (result.status === STATUS.upgraded) return true;
  return result.status === STATUS.granted && (result.count ?? 1) > 1;
}
