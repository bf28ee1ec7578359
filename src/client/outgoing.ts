/**
 * Everything a session sends over its connection: commands in the order of their sequences, the
 * same again after a reconnect or a refusal, keepalives and recalls. All of one turn leaves in one
 * frame. It decides nothing about leases, locks or connections.
 */
import { OP } from "../protocol/index.js";
import { type Call, NOTHING_ACKNOWLEDGED, type Refusal } from "./call.js";
import { CommandWindow } from "./command-window.js";
import { FrameWriter } from "./frame-writer.js";
import { Pulses } from "./pulses.js";
import { recallQuestions } from "./recall.js";

const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 1_000;

export class Outgoing {
  readonly frame: FrameWriter;
  readonly window = new CommandWindow();
  readonly pulses = new Pulses();
  readonly #random: () => number;
  /** No command is transmitted before this: the cluster is busy. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** Refusals since the cluster last executed something. */
  #refusals = 0;
  /** Calls in the window were refused and wait to be sent again. */
  #hasRefused = false;

  constructor(send: (frame: Uint8Array) => void, random: () => number) {
    this.frame = new FrameWriter(send);
    this.#random = random;
  }

  /** When transmission goes on after a refusal; `Infinity` when nothing was refused. */
  pausedUntilMs(nowMs: number): number {
    return this.#pausedUntilMs > nowMs ? this.#pausedUntilMs : Number.POSITIVE_INFINITY;
  }

  /** Whether `write` would transmit something for the first time. */
  canWrite(nowMs: number): boolean {
    return this.window.canSend && nowMs >= this.#pausedUntilMs;
  }

  /** When the oldest transmission on this connection that has no answer was made. */
  get oldestSentMs(): number {
    return Math.min(this.window.oldestSentMs, this.pulses.oldestSentMs);
  }

  /** Adds what waits to the frame of this turn. */
  write(nowMs: number): void {
    if (nowMs < this.#pausedUntilMs) return;
    if (this.#hasRefused) this.#writeRefused(nowMs);
    for (let call = this.window.next(); call !== undefined; call = this.window.next()) {
      call.firstSentMs = nowMs;
      call.acknowledged = this.window.takeAcknowledgements();
      this.#transmit(call, nowMs);
    }
  }

  keepalive(nowMs: number): void {
    const acknowledged = this.window.takeAcknowledgements();
    const number = this.pulses.begin(nowMs, acknowledged);
    this.frame.add({ op: OP.keepalive, number, mark: this.window.mark, acknowledged });
  }

  /**
   * A new attachment: everything unanswered again, in order, and questions for whatever the old
   * connection may have swallowed: the outcomes of `waiting` acquires, the fate of held `tokens`.
   * An acquire that is sent again needs no question, its answer says how it stands.
   */
  repeat(
    nowMs: number,
    highestSequence: number,
    waiting: readonly number[],
    tokens: readonly number[],
  ): void {
    this.served();
    for (const call of this.window.sent()) {
      // Commands of an older attachment have no effect any more: this one was never executed.
      if (call.sequence > highestSequence) call.copies = 0;
      else call.isRepeated = true;
      if (!this.#isDropped(call)) this.#transmit(call, nowMs);
    }
    this.#recall(nowMs, waiting, tokens, true);
  }

  /** Asks how granted tokens stand. */
  recallTokens(nowMs: number, tokens: readonly number[]): void {
    this.#recall(nowMs, [], tokens, false);
  }

  /** The cluster executed something. */
  served(): void {
    this.#refusals = 0;
  }

  /** A call was refused by a node; it is sent again later, unless it was for too long. */
  onRefused(call: Call, refusal: Refusal, nowMs: number, patienceMs: number): void {
    if (call.copies === 1) call.copies = 0;
    call.isRefused = true;
    call.refusal = refusal;
    call.refusedSinceMs = Math.min(call.refusedSinceMs, nowMs);
    const isEnough = nowMs - call.refusedSinceMs >= patienceMs;
    if (!this.#isDropped(call, isEnough)) this.#hasRefused = true;
    // A refused batch refuses many calls: one pause for all of them.
    if (nowMs >= this.#pausedUntilMs) this.#pausedUntilMs = nowMs + this.nextPauseMs();
  }

  /** Grows with every refusal in a row. */
  nextPauseMs(): number {
    const base = Math.min(PAUSE_MS_MIN * 2 ** Math.min(this.#refusals, 10), PAUSE_MS_MAX);
    this.#refusals += 1;
    return base * (0.5 + this.#random());
  }

  /** The connection is gone; the next node may have room. */
  disconnect(): void {
    this.#pausedUntilMs = Number.NEGATIVE_INFINITY;
    this.pulses.abandon(this.window);
    this.frame.begin(0);
  }

  #recall(
    nowMs: number,
    sequences: readonly number[],
    tokens: readonly number[],
    isCatchingUp: boolean,
  ): void {
    for (const question of recallQuestions(sequences, tokens)) {
      const number = this.pulses.begin(nowMs, NOTHING_ACKNOWLEDGED, isCatchingUp);
      const { mark } = this.window;
      this.frame.add({ ...question, number, mark, acknowledged: NOTHING_ACKNOWLEDGED });
    }
  }

  #transmit(call: Call, nowMs: number): void {
    call.sentMs = nowMs;
    call.copies += 1;
    call.isRefused = false;
    this.frame.add(call.command(this.window.mark, nowMs));
  }

  #writeRefused(nowMs: number): void {
    this.#hasRefused = false;
    for (const call of this.window.sent()) {
      if (call.isRefused && !this.#isDropped(call)) this.#transmit(call, nowMs);
    }
  }

  /**
   * Forgets a call that was certainly not executed and that nobody wants any more: its caller may
   * have been told that it did not happen. Some have to be done all the same.
   */
  #isDropped(call: Call, isEnough = call.isUnwanted): boolean {
    if (call.copies > 0 || !(call.isUnwanted || isEnough) || !call.giveUp()) return false;
    this.window.remove(call);
    this.window.returnAcknowledgements(call.acknowledged);
    return true;
  }
}
