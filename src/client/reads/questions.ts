/**
 * Questions that a node answers and that never enter the log. They have no effect, so they are
 * simply asked again on another connection or after a refusal, until their time is over.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import { type Answer, STATUS } from "../../protocol/index.js";
import { AbortableCaller, type Deferred } from "../calls/abort-watch.js";
import { readFailure, unavailable } from "../failures.js";
import type { Question, SingleQuery } from "../options/view-options.js";
import type { FrameWriter } from "../transport/frame-writer.js";

class Read extends AbortableCaller<unknown> {
  readonly query: SingleQuery;
  readonly deadlineMs: number;
  /** Asked when all commands up to this one have been answered. */
  readonly afterOrder: number;
  /** When it may be asked (again); `Infinity` while it is in flight. */
  askAtMs: number;
  readonly #onLeft: () => void;

  constructor(
    query: SingleQuery,
    times: Pick<Read, "deadlineMs" | "afterOrder" | "askAtMs">,
    onLeft: () => void,
    signal: AbortSignal | undefined,
    caller: Deferred<unknown>,
  ) {
    super(signal, caller);
    this.query = query;
    this.deadlineMs = times.deadlineMs;
    this.afterOrder = times.afterOrder;
    this.askAtMs = times.askAtMs;
    this.#onLeft = onLeft;
  }

  onAbort(reason: unknown): void {
    this.reject(reason);
    this.#onLeft();
  }
}

/** For a question that need not wait for the answers of commands. */
export const AFTER_NO_COMMANDS = Number.NEGATIVE_INFINITY;

/** Pause before a refused question is asked again; jittered by half of it. */
const RETRY_MS = 100;

export class Questions {
  readonly #open = new Map<number, Read>();
  readonly #random: () => number;
  readonly #onEmpty: () => void;
  #lastId = 0;

  /** `onEmpty` runs when the caller of the last open question has given up. */
  constructor(random: () => number, onEmpty: () => void) {
    this.#random = random;
    this.#onEmpty = onEmpty;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The next number, for a question or anything else that is answered by number. */
  nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }

  ask(
    question: Question,
    nowMs: number,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    afterOrder: number,
  ): Promise<unknown> {
    const id = this.nextId();
    const query = { ...question, id } as SingleQuery;
    const times = { deadlineMs: nowMs + timeoutMs, afterOrder, askAtMs: nowMs };
    const onLeft = (): void => {
      this.#open.delete(id);
      if (this.#open.size === 0) this.#onEmpty();
    };
    return new Promise<unknown>((resolve, reject) => {
      this.#open.set(id, new Read(query, times, onLeft, signal, { resolve, reject }));
    });
  }

  /** Writes the questions that are due, if all commands up to `answeredUpTo` have been answered. */
  write(frame: FrameWriter, nowMs: number, answeredUpTo: number): void {
    for (const read of this.#open.values()) {
      if (read.askAtMs > nowMs || read.afterOrder > answeredUpTo) continue;
      read.askAtMs = Number.POSITIVE_INFINITY;
      frame.add(read.query);
    }
  }

  /** The connection is gone: everything is asked again on the next one. */
  restart(nowMs: number): void {
    for (const read of this.#open.values()) read.askAtMs = nowMs;
  }

  onAnswer(answer: Answer, nowMs: number): void {
    const read = this.#open.get(answer.id);
    if (read === undefined) return;
    if (answer.status === STATUS.ok) {
      this.#open.delete(answer.id);
      read.resolve(answer.payload);
    } else if (
      answer.status === ERROR_NUMBERS.BUSY ||
      answer.status === ERROR_NUMBERS.UNAVAILABLE
    ) {
      read.askAtMs = nowMs + RETRY_MS * (0.5 + this.#random());
    } else {
      this.#open.delete(answer.id);
      read.reject(readFailure(answer.status));
    }
  }

  onAlarm(nowMs: number, lastFailure: string): void {
    for (const [id, read] of this.#open) {
      if (nowMs < read.deadlineMs) continue;
      this.#open.delete(id);
      read.reject(unavailable("the read had no answer", lastFailure, false));
    }
  }

  /** When `onAlarm`, or `write` on a connection that serves, has something to do. */
  dueMs(canAsk: boolean, answeredUpTo: number): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const { deadlineMs, askAtMs, afterOrder } of this.#open.values()) {
      dueMs = Math.min(dueMs, deadlineMs);
      if (canAsk && afterOrder <= answeredUpTo) dueMs = Math.min(dueMs, askAtMs);
    }
    return dueMs;
  }

  /** The client ends. */
  rejectAll(error: unknown): void {
    const reads = [...this.#open.values()];
    this.#open.clear();
    for (const read of reads) read.reject(error);
  }
}
