/**
 * Sends everything of a session over its connection: commands in program order, keepalives and
 * recalls. All of one turn leaves in one frame. It decides nothing about leases, locks or
 * connections.
 *
 * After a refusal it pauses. Weak commands go on in the meantime, unless the refused command was
 * weak. Then one strong command is tried, and the rest follow when it is answered.
 */
import { ERROR_NUMBERS, type ErrorNumber, errorCodeOf } from "../../errors/index.js";
import { OP } from "../../protocol/index.js";
import type { ClientLog } from "../transport/client-log.js";
import { FrameWriter } from "../transport/frame-writer.js";
import { type Call, NOTHING_ACKNOWLEDGED } from "./call.js";
import { CommandWindow } from "./command-window.js";
import { Keepalives } from "./keepalives.js";

const PAUSE_MS_MIN = 20;
const PAUSE_MS_MAX = 1_000;
const LONG_AGO = Number.NEGATIVE_INFINITY;
/** Numbers in one recall, and unanswered recalls: both bound what a node has to send at once. */
const RECALL_NUMBERS = 250;
const RECALLS_MAX = 4;

export class Outgoing {
  readonly frame: FrameWriter;
  readonly window = new CommandWindow();
  readonly keepalives = new Keepalives();
  readonly #random: () => number;
  readonly #log: ClientLog;
  /** No strong command is sent before this time: the node has no room. */
  #strongPauseMs = LONG_AGO;
  /** No weak command either is sent before this time. */
  #weakPauseMs = LONG_AGO;
  /** Refusals since the cluster last executed something. */
  #refusals = 0;
  /** A strong command was refused, and none has been executed since. */
  #isProbing = false;
  /** Numbers to recall when earlier recalls are answered. */
  #toRecall: (readonly number[])[] = [];
  /** The strong command that is tried after a refusal. */
  #probe: Call | undefined;

  constructor(send: (frame: Uint8Array) => void, random: () => number, log: ClientLog) {
    this.#log = log;
    this.frame = new FrameWriter(send);
    this.#random = random;
  }

  /** When sending goes on after a refusal; `Infinity` if nothing waits for that. */
  pausedUntilMs(nowMs: number): number {
    let untilMs = Number.POSITIVE_INFINITY;
    if (nowMs < this.#weakPauseMs && this.window.canSend(false, true)) untilMs = this.#weakPauseMs;
    if (nowMs < this.#strongPauseMs && this.window.canSend(true, false)) {
      untilMs = Math.min(untilMs, this.#strongPauseMs);
    }
    return untilMs;
  }

  /** Whether `write` would send something. */
  canWrite(nowMs: number): boolean {
    return this.window.canSend(this.#maySendStrong(nowMs), nowMs >= this.#weakPauseMs);
  }

  /** When the oldest unanswered message was sent over this connection. */
  get oldestSentMs(): number {
    return Math.min(this.window.oldestSentMs, this.keepalives.oldestSentMs);
  }

  /** Adds what is due to the frame of this turn. */
  write(nowMs: number): void {
    const { window, frame } = this;
    const mayBeWeak = nowMs >= this.#weakPauseMs;
    for (;;) {
      const call = window.next(this.#maySendStrong(nowMs), mayBeWeak);
      if (call === undefined) return;
      if (call.isStrong && this.#isProbing) this.#probe = call;
      call.sentMs = nowMs;
      const { sequence, acknowledged } = call;
      frame.add(call.command({ sequence, mark: window.mark, acknowledged }, nowMs));
    }
  }

  #maySendStrong(nowMs: number): boolean {
    if (nowMs < this.#strongPauseMs) return false;
    return !this.#isProbing || this.#probe === undefined;
  }

  keepalive(nowMs: number): void {
    const acknowledged = this.window.takeAcknowledgements();
    const number = this.keepalives.begin(nowMs, acknowledged);
    this.frame.add({ op: OP.keepalive, number, mark: this.window.mark, acknowledged });
  }

  /**
   * This connection has the session: asks for what happened before, and for evidence of the lease.
   */
  attached(nowMs: number, highestSequence: number, known: readonly number[]): void {
    this.#goOn();
    this.#toRecall = [];
    this.recall(nowMs, [...this.window.resume(highestSequence), ...known]);
  }

  /**
   * Asks for the fate of these numbers. Until all answers have come, no other answer is believed.
   */
  recall(nowMs: number, sequences: readonly number[]): void {
    for (let from = 0; from < sequences.length; from += RECALL_NUMBERS) {
      this.#toRecall.push(sequences.slice(from, from + RECALL_NUMBERS));
    }
    this.recallMore(nowMs);
  }

  /** Sends the next recalls, up to the limit of unanswered ones. */
  recallMore(nowMs: number): void {
    const { keepalives, window } = this;
    while (keepalives.catchingUpCount < RECALLS_MAX) {
      const sequences = this.#toRecall.shift();
      if (sequences === undefined) return;
      const acknowledged = NOTHING_ACKNOWLEDGED;
      const number = keepalives.begin(nowMs, acknowledged, true);
      this.frame.add({ op: OP.recall, number, mark: window.mark, acknowledged, sequences });
    }
  }

  /** The table answered the call. */
  onAnswered(call: Call): void {
    this.window.remove(call);
    if (call === this.#probe) {
      this.#goOn();
    } else if (!call.isStrong && this.#weakPauseMs !== LONG_AGO) {
      this.#weakPauseMs = LONG_AGO;
      this.#refusals = 0;
    }
  }

  /**
   * The node admitted neither this number nor anything that was sent after it. Gives up strong
   * calls that have found no room for `patienceMs`.
   */
  onRefused(sequence: number, status: ErrorNumber, nowMs: number, patienceMs: number): void {
    const { window } = this;
    const refused = window.get(sequence);
    if (refused === undefined) return;
    window.takeBack(sequence);
    if (this.#probe?.sequence === 0) this.#probe = undefined;
    if (status !== ERROR_NUMBERS.BUSY && status !== ERROR_NUMBERS.DISK_FULL) {
      giveUp(refused, status);
      return;
    }
    for (const call of [...window.queued()]) {
      if (!call.isStrong) break;
      call.refusedSinceMs = Math.min(call.refusedSinceMs, nowMs);
      if (nowMs - call.refusedSinceMs >= patienceMs) giveUp(call, status);
    }
    const pauseMs = this.nextPauseMs();
    const fields = { code: errorCodeOf(status), pauseMs: Math.round(pauseMs) };
    // Once for each time without room; the rest is for debugging.
    this.#log[this.#isProbing ? "debug" : "warn"]("no room: tries again after a pause", fields);
    this.#isProbing = true;
    this.#strongPauseMs = nowMs + pauseMs;
    if (!refused.isStrong) this.#weakPauseMs = this.#strongPauseMs;
  }

  /** The pause grows with every refusal in a row. */
  nextPauseMs(): number {
    const base = Math.min(PAUSE_MS_MIN * 2 ** Math.min(this.#refusals, 10), PAUSE_MS_MAX);
    this.#refusals += 1;
    return base * (0.5 + this.#random());
  }

  /** The connection is gone; the next node may have room. */
  disconnect(): void {
    this.#strongPauseMs = LONG_AGO;
    this.#weakPauseMs = LONG_AGO;
    this.#toRecall = [];
    this.keepalives.abandon(this.window);
    this.window.disconnect();
    this.frame.begin(0);
  }

  #goOn(): void {
    if (this.#isProbing) this.#log.info("goes on after a refusal", { refusals: this.#refusals });
    this.#refusals = 0;
    this.#isProbing = false;
    this.#probe = undefined;
  }
}

/** The command was not executed and will not be sent again. */
function giveUp(call: Call, status: ErrorNumber): void {
  call.isGivenUp = true;
  call.onRefused(status);
}
