/**
 * The stored results of a session's commands, apart from its holds: a *reply* until the mark passes
 * it, a request that is *waiting* until it ends, an *outcome* until it is acknowledged. A grant is
 * stored by the hold that it made. Commands are executed in the order of their sequences, so a slot
 * is always added after all others. A forgotten slot leaves a gap, and gaps are closed when half of
 * the list is gaps.
 */
import { assert } from "../../errors/index.js";
import type { Result } from "../../protocol/index.js";
import { QUEUED } from "../results.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";

/** `gone`: forgotten, and no longer found. */
export type SlotState = "reply" | "waiting" | "outcome" | "gone";

/**
 * May be changed only by its window. `Request` is the type of waiting requests, which this file
 * need not know.
 */
export class Slot<Request extends object> implements Copied {
  readonly sequence: number;
  /** The stamp of the entry that answered the command, or ended the wait. */
  readonly stamp: number;
  readonly state: SlotState;
  readonly result: Result;
  /** Set while it waits. */
  readonly request: Request | undefined;
  savedIn: number;

  constructor(
    sequence: number,
    stamp: number,
    state: SlotState,
    content: Result | Request,
    savedIn: number,
  ) {
    this.sequence = sequence;
    this.stamp = stamp;
    this.state = state;
    this.result = "status" in content ? content : QUEUED;
    this.request = "status" in content ? undefined : content;
    this.savedIn = savedIn;
  }
}

const GAPS_MIN = 32;

/** The session whose replies are stored. */
export interface Replied extends Copied {
  readonly copies: CopyOnWrite;
  change(): unknown;
}

export class ReplyWindow<Request extends object> {
  readonly #session: Replied;
  /** In the order of their sequences. */
  readonly #slots: Slot<Request>[] = [];
  #gaps = 0;
  #mark = 1;
  /** Index of the first slot that the mark has not passed. */
  #markIndex = 0;
  #unacknowledged = 0;

  constructor(session: Replied) {
    this.#session = session;
  }

  /** The lowest sequence whose reply the client may still need. Never falls. */
  get mark(): number {
    return this.#mark;
  }

  /** The number of stored outcomes. */
  get unacknowledged(): number {
    return this.#unacknowledged;
  }

  /** The largest sequence of any slot; 0 if there is none. */
  get lastSequence(): number {
    return this.#slots.at(-1)?.sequence ?? 0;
  }

  find(sequence: number): Slot<Request> | undefined {
    const slot = this.firstFrom(sequence);
    return slot?.sequence === sequence && slot.state !== "gone" ? slot : undefined;
  }

  /** The first slot whose sequence is at least `sequence`; it may be gone. */
  firstFrom(sequence: number): Slot<Request> | undefined {
    const slots = this.#slots;
    let low = 0;
    let high = slots.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((slots[middle] as Slot<Request>).sequence < sequence) low = middle + 1;
      else high = middle;
    }
    return slots[low];
  }

  /** Adds a slot after all others. Also restores the slots of a snapshot, after the mark. */
  add(slot: Slot<Request>): void {
    const { sequence, state } = slot;
    assert(sequence > this.lastSequence, () => `${sequence} after ${this.lastSequence}`);
    const isPassed = sequence < this.#mark;
    assert(!isPassed || state !== "reply", () => `${sequence} below the mark ${this.#mark}`);
    if (isPassed) this.#markIndex += 1;
    if (state === "outcome") this.#unacknowledged += 1;
    this.#slots.push(slot);
  }

  /** Ends the wait of a slot with `result`, which is kept until it is acknowledged. */
  settle(slot: Slot<Request>, stamp: number, result: Result): void {
    assert(slot.state === "waiting", () => `sequence ${slot.sequence} is ${slot.state}`);
    const settled = this.#change(slot);
    settled.state = "outcome";
    settled.stamp = stamp;
    settled.result = result;
    settled.request = undefined;
    this.#unacknowledged += 1;
  }

  /** Forgets a slot that is no longer needed. */
  forget(slot: Slot<Request>): void {
    this.#drop(slot);
    this.#closeGaps();
  }

  /** The client has read how `sequence` ended. This has no effect on waits and replies. */
  acknowledge(sequence: number): void {
    const slot = this.find(sequence);
    if (slot?.state === "outcome") this.forget(slot);
  }

  /** The client has read all replies below `mark`. */
  raiseMark(mark: number): void {
    if (mark <= this.#mark) return;
    this.#session.change();
    this.#mark = mark;
    for (let slot = this.#slots[this.#markIndex]; slot !== undefined && slot.sequence < mark; ) {
      if (slot.state === "reply") this.#drop(slot);
      this.#markIndex += 1;
      slot = this.#slots[this.#markIndex];
    }
    this.#closeGaps();
  }

  /** Restores the mark of an empty window. */
  restoreMark(mark: number): void {
    assert(this.#mark === 1 && this.#slots.length === 0, () => `the mark was ${this.#mark}`);
    this.#mark = mark;
  }

  /** Visits the slots in the order of sequences. */
  forEach(visit: (slot: Slot<Request>) => void): void {
    for (const slot of this.#slots) if (slot.state !== "gone") visit(slot);
  }

  #drop(slot: Slot<Request>): void {
    if (slot.state === "outcome") this.#unacknowledged -= 1;
    const forgotten = this.#change(slot);
    forgotten.state = "gone";
    forgotten.result = QUEUED;
    forgotten.request = undefined;
    this.#gaps += 1;
  }

  #closeGaps(): void {
    const slots = this.#slots;
    const { length } = slots;
    if (this.#gaps < length && (this.#gaps < GAPS_MIN || this.#gaps * 2 < length)) return;
    let kept = 0;
    let keptBelowMark = 0;
    for (let at = 0; at < length && this.#gaps < length; at += 1) {
      const slot = slots[at] as Slot<Request>;
      if (slot.state === "gone") continue;
      slots[kept] = slot;
      kept += 1;
      if (at < this.#markIndex) keptBelowMark = kept;
    }
    slots.length = kept;
    this.#markIndex = keptBelowMark;
    this.#gaps = 0;
  }

  #change(slot: Slot<Request>): Changing<Slot<Request>> {
    this.#session.copies.copier?.copy(slot, this.#session);
    return slot;
  }
}
