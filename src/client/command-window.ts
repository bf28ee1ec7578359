/**
 * The sequenced commands of one session: those that wait for their first transmission, in order,
 * and those that were sent and are unanswered, in a ring of slots by sequence. It also keeps the
 * two numbers by which the table forgets: the mark and the acknowledged acquires ("Stored
 * replies").
 *
 * The ring spans `mark` … `nextSequence` − 1 and never more than the table's limit on unanswered
 * commands, so what the table has to keep for this session is bounded as well.
 */
import { assert } from "../assert.js";
import { ACKNOWLEDGED_MAX, IN_FLIGHT_MAX } from "../protocol/index.js";
import { type Call, NOTHING_ACKNOWLEDGED } from "./call.js";

/** A queue shorter than this is not searched for what nobody wants any more. */
const COMPACT_LENGTH_MIN = 1_024;

const SLOT_MASK = IN_FLIGHT_MAX - 1;
assert((IN_FLIGHT_MAX & SLOT_MASK) === 0, () => `${IN_FLIGHT_MAX} slots are no power of two`);

export class CommandWindow {
  /** Slot `sequence & SLOT_MASK`; undefined once answered. */
  readonly #slots: (Call | undefined)[] = new Array(IN_FLIGHT_MAX).fill(undefined);
  /** Not transmitted yet; `#queue[#queueHead]` is next. */
  #queue: Call[] = [];
  #queueHead = 0;
  /** At this length of `#queue` it is freed of what nobody wants any more. */
  #compactAtLength = COMPACT_LENGTH_MIN;
  #mark = 1;
  #nextSequence = 1;
  #unanswered = 0;
  #lastEnqueued = 0;
  /** Acquires and losses that were read and that no command on its way names yet. */
  #acknowledgements: number[] = [];

  /** The lowest sequence whose reply is still needed. */
  get mark(): number {
    return this.#mark;
  }

  /** Sent and not answered. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** Whether `next` has one. */
  get canSend(): boolean {
    return this.#queueHead < this.#queue.length && !this.#isFull;
  }

  get #isFull(): boolean {
    return this.#nextSequence - this.#mark >= IN_FLIGHT_MAX;
  }

  enqueue(call: Call): void {
    // While there is no connection nothing is taken out, and callers may come and go for hours.
    if (this.#queue.length >= this.#compactAtLength) this.#compact();
    this.#lastEnqueued += 1;
    call.enqueuedAs = this.#lastEnqueued;
    this.#queue.push(call);
  }

  /** The number of the newest call. */
  get lastEnqueued(): number {
    return this.#lastEnqueued;
  }

  /** All calls up to this number were answered, or given up before they were sent. */
  get answeredUpTo(): number {
    const first =
      this.#unanswered > 0 ? this.#slots[this.#mark & SLOT_MASK] : this.#queue[this.#queueHead];
    return first === undefined ? this.#lastEnqueued : first.enqueuedAs - 1;
  }

  /**
   * The next call to transmit for the first time, with its sequence; `undefined` when none waits or
   * the window is full.
   */
  next(): Call | undefined {
    while (this.#queueHead < this.#queue.length) {
      const call = this.#queue[this.#queueHead] as Call;
      if (!call.isUnwanted && this.#isFull) return undefined;
      this.#queueHead += 1;
      if (this.#queueHead === this.#queue.length) {
        this.#queue = [];
        this.#queueHead = 0;
      } else if (
        this.#queueHead >= COMPACT_LENGTH_MIN &&
        this.#queueHead * 2 >= this.#queue.length
      ) {
        this.#queue = this.#queue.slice(this.#queueHead);
        this.#queueHead = 0;
      }
      if (call.isUnwanted) continue;
      call.sequence = this.#nextSequence;
      this.#slots[call.sequence & SLOT_MASK] = call;
      this.#nextSequence += 1;
      this.#unanswered += 1;
      return call;
    }
    return undefined;
  }

  #compact(): void {
    this.#queue = this.#queue.slice(this.#queueHead).filter((call) => !call.isUnwanted);
    this.#queueHead = 0;
    this.#compactAtLength = Math.max(COMPACT_LENGTH_MIN, 2 * this.#queue.length);
  }

  /** The unanswered call of this sequence. */
  get(sequence: number): Call | undefined {
    const call = this.#slots[sequence & SLOT_MASK];
    return call?.sequence === sequence ? call : undefined;
  }

  /** The call was answered (or never will be): its reply is not needed any more. */
  remove(call: Call): void {
    const slot = call.sequence & SLOT_MASK;
    assert(this.#slots[slot] === call, () => `sequence ${call.sequence} is not in the window`);
    this.#slots[slot] = undefined;
    this.#unanswered -= 1;
    while (this.#mark < this.#nextSequence && this.#slots[this.#mark & SLOT_MASK] === undefined) {
      this.#mark += 1;
    }
  }

  /** All unanswered calls in the order of their sequences. */
  *sent(): Generator<Call> {
    for (let sequence = this.#mark; sequence < this.#nextSequence; sequence++) {
      const call = this.#slots[sequence & SLOT_MASK];
      if (call !== undefined) yield call;
    }
  }

  *queued(): Generator<Call> {
    for (let i = this.#queueHead; i < this.#queue.length; i++) yield this.#queue[i] as Call;
  }

  /** When the oldest transmission without an answer was made; `Infinity` when there is none. */
  get oldestSentMs(): number {
    if (this.#unanswered === 0) return Number.POSITIVE_INFINITY;
    const oldest = this.#slots[this.#mark & SLOT_MASK] as Call;
    return oldest.isRefused ? Number.POSITIVE_INFINITY : oldest.sentMs;
  }

  /** The outcome of a sequence, or the loss of a token, was read. */
  acknowledge(number: number): void {
    this.#acknowledgements.push(number);
  }

  /** What was read and no command on its way tells. */
  get acknowledgements(): readonly number[] {
    return this.#acknowledgements;
  }

  get nextSequence(): number {
    return this.#nextSequence;
  }

  /** Goes on where another process stopped: `sent` are its unanswered calls, in order. */
  restore(nextSequence: number, sent: readonly Call[], acknowledgements: readonly number[]): void {
    assert(this.#nextSequence === 1, () => `the window was used up to ${this.#nextSequence}`);
    this.#nextSequence = nextSequence;
    this.#mark = sent[0]?.sequence ?? nextSequence;
    for (const call of sent) this.#slots[call.sequence & SLOT_MASK] = call;
    this.#unanswered = sent.length;
    this.#acknowledgements = [...acknowledgements];
  }

  /**
   * What the next command is to acknowledge; the caller keeps it until that command is answered.
   */
  takeAcknowledgements(): readonly number[] {
    const all = this.#acknowledgements;
    if (all.length === 0) return NOTHING_ACKNOWLEDGED;
    this.#acknowledgements = all.length > ACKNOWLEDGED_MAX ? all.splice(ACKNOWLEDGED_MAX) : [];
    return all;
  }

  /** The command that carried them was not executed. */
  returnAcknowledgements(sequences: readonly number[]): void {
    for (const sequence of sequences) this.#acknowledgements.push(sequence);
  }

  /**
   * The session ended on the connection over which all of this was sent. Answers come in the order
   * of the log: what has none by now was not executed before the end, and will not be behind it.
   */
  endedInOrder(): void {
    for (const call of this.sent()) if (call.copies === 1) call.copies = 0;
  }

  /**
   * The session is gone: gives all calls that belonged to it, sent and queued, and starts again at
   * sequence 1. Calls for which `survives` holds, and that were certainly not executed, are queued
   * for the next session, in their order.
   */
  reset(survives: (call: Call) => boolean): Call[] {
    const lost: Call[] = [];
    const kept: Call[] = [];
    for (const call of [...this.sent(), ...this.queued()]) {
      const isKept = call.copies === 0 && survives(call);
      (isKept ? kept : lost).push(call);
      if (isKept) call.startAnew();
    }
    this.#slots.fill(undefined);
    this.#queue = kept;
    this.#queueHead = 0;
    this.#mark = 1;
    this.#nextSequence = 1;
    this.#unanswered = 0;
    this.#acknowledgements = [];
    return lost;
  }
}
