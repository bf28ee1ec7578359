/**
 * The sequenced commands of one session in program order: those that wait to be sent, and those
 * that were sent and have no answer, in a ring of slots by number. A command gets its number when
 * it is sent. If it was certainly not executed, the number is taken back, and the command is queued
 * again in the order of calls. This class also keeps what lets the table forget: the mark and the
 * acknowledgements.
 *
 * Strong and weak commands wait in separate queues. Within each kind, every sent command was called
 * before every waiting one, so a queue is a plain list. (`docs/internals/semantics.md`, 2.)
 *
 * The ring spans `mark` … the next number − 1 and never more than `IN_FLIGHT_MAX`, so what the
 * table has to keep for this session is bounded as well.
 */
import { assert } from "../../errors/index.js";
import { ACKNOWLEDGED_MAX, IN_FLIGHT_MAX } from "../../protocol/index.js";
import { type Call, NOTHING_ACKNOWLEDGED } from "./call.js";

const SLOT_MASK = IN_FLIGHT_MAX - 1;
assert((IN_FLIGHT_MAX & SLOT_MASK) === 0, () => `${IN_FLIGHT_MAX} slots are not a power of two`);

/** A shorter queue is not searched for calls that are no longer wanted. */
const COMPACT_LENGTH_MIN = 1_024;

/** Calls that wait to be sent, in the order in which they were made. */
class CallQueue {
  #calls: Call[] = [];
  #head = 0;
  /** At this length, calls that are no longer wanted are removed. */
  #compactAtLength = COMPACT_LENGTH_MIN;

  push(call: Call): void {
    // Without a connection nothing is taken out, and callers may come and go for hours.
    if (this.#calls.length >= this.#compactAtLength) {
      this.#calls = [...this].filter((each) => !isOver(each));
      this.#head = 0;
      this.#compactAtLength = Math.max(COMPACT_LENGTH_MIN, 2 * this.#calls.length);
    }
    this.#calls.push(call);
  }

  putBack(calls: readonly Call[]): void {
    if (calls.length === 0) return;
    this.#calls = [...calls, ...this];
    this.#head = 0;
  }

  /** The next call that is still wanted. */
  peek(): Call | undefined {
    for (;;) {
      const call = this.#calls[this.#head];
      if (call === undefined || !isOver(call)) return call;
      this.shift();
    }
  }

  shift(): void {
    this.#head += 1;
    if (this.#head === this.#calls.length) {
      this.#calls = [];
      this.#head = 0;
    } else if (this.#head >= COMPACT_LENGTH_MIN && this.#head * 2 >= this.#calls.length) {
      this.#calls = this.#calls.slice(this.#head);
      this.#head = 0;
    }
  }

  *[Symbol.iterator](): Generator<Call> {
    for (let i = this.#head; i < this.#calls.length; i++) yield this.#calls[i] as Call;
  }
}

function isOver(call: Call): boolean {
  return call.isGivenUp || call.isUnwanted;
}

export class CommandWindow {
  /** By slot `sequence & SLOT_MASK`; undefined once answered. */
  readonly #slots: (Call | undefined)[] = new Array(IN_FLIGHT_MAX).fill(undefined);
  #strong = new CallQueue();
  #weak = new CallQueue();
  #mark = 1;
  #nextSequence = 1;
  #unanswered = 0;
  #lastOrder = 0;
  /** The highest number that was executed before the last resume: answers up to it are recalled. */
  #resumedAt = 0;
  /** Ends of waits that were read and that no command in flight acknowledges yet. */
  #acknowledgements: number[] = [];

  /** The lowest number whose reply is still needed. */
  get mark(): number {
    return this.#mark;
  }

  /** Numbers up to this one were used on earlier connections. */
  get resumedAt(): number {
    return this.#resumedAt;
  }

  /** Whether there are ends that were read and that the table does not know of yet. */
  get hasAcknowledgements(): boolean {
    return this.#acknowledgements.length > 0;
  }

  /** The order of the newest call. */
  get lastOrder(): number {
    return this.#lastOrder;
  }

  get #isFull(): boolean {
    return this.#nextSequence - this.#mark >= IN_FLIGHT_MAX;
  }

  enqueue(call: Call): void {
    this.#lastOrder += 1;
    call.order = this.#lastOrder;
    (call.isStrong ? this.#strong : this.#weak).push(call);
  }

  /** Whether `next` would return a call. */
  canSend(mayBeStrong: boolean, mayBeWeak: boolean): boolean {
    return !this.#isFull && this.#peek(mayBeStrong, mayBeWeak) !== undefined;
  }

  /**
   * The next call to send, with its number; `undefined` if none may be sent or the window is full.
   */
  next(mayBeStrong: boolean, mayBeWeak: boolean): Call | undefined {
    const call = this.#peek(mayBeStrong, mayBeWeak);
    if (call === undefined || this.#isFull) return undefined;
    (call.isStrong ? this.#strong : this.#weak).shift();
    if (!call.isStrong && (this.#strong.peek()?.order ?? call.order) < call.order) call.onPassing();
    call.sequence = this.#nextSequence;
    this.#slots[call.sequence & SLOT_MASK] = call;
    this.#nextSequence += 1;
    this.#unanswered += 1;
    call.acknowledged = this.takeAcknowledgements();
    return call;
  }

  #peek(mayBeStrong: boolean, mayBeWeak: boolean): Call | undefined {
    const strong = mayBeStrong ? this.#strong.peek() : undefined;
    const weak = mayBeWeak ? this.#weak.peek() : undefined;
    if (strong === undefined || weak === undefined) return strong ?? weak;
    return strong.order < weak.order ? strong : weak;
  }

  /** The unanswered call with this number. */
  get(sequence: number): Call | undefined {
    const call = this.#slots[sequence & SLOT_MASK];
    return call?.sequence === sequence ? call : undefined;
  }

  /** The call was answered: its reply is not needed any more. It keeps its number. */
  remove(call: Call): void {
    const slot = call.sequence & SLOT_MASK;
    assert(this.#slots[slot] === call, () => `sequence ${call.sequence} is not in the window`);
    this.#slots[slot] = undefined;
    this.#unanswered -= 1;
    call.isUncertain = false;
    while (this.#mark < this.#nextSequence && this.#slots[this.#mark & SLOT_MASK] === undefined) {
      this.#mark += 1;
    }
  }

  /** The calls with this number and higher ones were not executed, and will be sent again. */
  takeBack(sequence: number): void {
    const strong: Call[] = [];
    const weak: Call[] = [];
    for (let each = Math.max(sequence, this.#mark); each < this.#nextSequence; each++) {
      const call = this.#slots[each & SLOT_MASK];
      if (call === undefined) continue;
      this.#slots[each & SLOT_MASK] = undefined;
      this.#unanswered -= 1;
      this.#withdraw(call);
      (call.isStrong ? strong : weak).push(call);
    }
    this.#nextSequence = sequence;
    if (this.#unanswered === 0) this.#mark = sequence;
    this.#strong.putBack(strong);
    this.#weak.putBack(weak);
  }

  #withdraw(call: Call): void {
    call.sequence = 0;
    call.isUncertain = false;
    this.returnAcknowledgements(call.acknowledged);
    call.acknowledged = NOTHING_ACKNOWLEDGED;
  }

  /** The connection is gone, with everything that was in flight on it. */
  disconnect(): void {
    for (const call of this.sent()) call.isUncertain = true;
  }

  /**
   * Another connection has the session: everything up to `highest` was executed, and nothing above
   * it will be. Returns the numbers of unanswered calls.
   */
  resume(highest: number): number[] {
    this.takeBack(highest + 1);
    this.#resumedAt = highest;
    return [...this.sent()].map(({ sequence }) => sequence);
  }

  /** All unanswered calls, in the order of their numbers. */
  *sent(from = this.#mark): Generator<Call> {
    for (let sequence = Math.max(from, this.#mark); sequence < this.#nextSequence; sequence++) {
      const call = this.#slots[sequence & SLOT_MASK];
      if (call !== undefined) yield call;
    }
  }

  /** The calls that wait to be sent, strong ones first. */
  *queued(): Generator<Call> {
    yield* this.#strong;
    yield* this.#weak;
  }

  /** All calls up to this order were answered, or given up before they were sent. */
  get answeredUpTo(): number {
    let first = this.#lastOrder + 1;
    for (const { order } of this.sent()) first = Math.min(first, order);
    for (const queue of [this.#strong, this.#weak]) {
      first = Math.min(first, queue.peek()?.order ?? first);
    }
    return first - 1;
  }

  /** When the oldest unanswered call was sent over this connection; `Infinity` if there is none. */
  get oldestSentMs(): number {
    if (this.#unanswered === 0) return Number.POSITIVE_INFINITY;
    for (const { sentMs } of this.sent(this.#resumedAt + 1)) return sentMs;
    return Number.POSITIVE_INFINITY;
  }

  /** The end of the wait with this number was read. */
  acknowledge(sequence: number): void {
    this.#acknowledgements.push(sequence);
  }

  /** What the next command has to acknowledge. */
  takeAcknowledgements(): readonly number[] {
    const all = this.#acknowledgements;
    if (all.length === 0) return NOTHING_ACKNOWLEDGED;
    this.#acknowledgements = all.length > ACKNOWLEDGED_MAX ? all.splice(ACKNOWLEDGED_MAX) : [];
    return all;
  }

  /** The command that carried these acknowledgements may not have been executed. */
  returnAcknowledgements(sequences: readonly number[]): void {
    for (const sequence of sequences) this.#acknowledgements.push(sequence);
  }

  /**
   * The session is gone. Returns the calls that ended with it, and numbers begin again at 1. Calls
   * that can be sent in the next session too and were certainly not executed are queued for it, in
   * order.
   */
  reset(): Call[] {
    // What was unanswered when the last connection ended was not executed before the session's end.
    const all = [...this.sent(), ...this.queued()].sort((one, other) => one.order - other.order);
    const lost: Call[] = [];
    this.#slots.fill(undefined);
    this.#strong = new CallQueue();
    this.#weak = new CallQueue();
    for (const call of all) {
      const isKept = !call.isUncertain && call.outlivesSession && !isOver(call);
      // For lost calls too: in the next session the number belongs to another command.
      call.sequence = 0;
      call.acknowledged = NOTHING_ACKNOWLEDGED;
      if (isKept) (call.isStrong ? this.#strong : this.#weak).push(call);
      else lost.push(call);
    }
    this.#mark = 1;
    this.#nextSequence = 1;
    this.#unanswered = 0;
    this.#resumedAt = 0;
    this.#acknowledgements = [];
    return lost;
  }
}
