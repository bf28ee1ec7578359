/**
 * One sequenced command from the wish to the table's answer. A call gets its sequence when it is
 * first transmitted and keeps it for ever, so that the table applies it exactly once however often
 * it is sent. Subclasses say what is sent and what the answer means.
 */
import { ERROR_NUMBERS } from "../errors.js";
import { OP, type Result, type SequencedCommand } from "../protocol/index.js";
import type { LossReason } from "./lock-types.js";

export const NOTHING_ACKNOWLEDGED: readonly number[] = Object.freeze([]);

/** What a node says that has no room for a command, or the leader behind it. */
export type Refusal = typeof ERROR_NUMBERS.BUSY | typeof ERROR_NUMBERS.DISK_FULL;

export abstract class Call {
  /** Its number among all calls of the client, by which `command-window.ts` orders reads too. */
  enqueuedAs = 0;
  /** 0 until the first transmission. */
  sequence = 0;
  /** Lease time before the first transmission: what its answer proves (`lease.ts`). */
  firstSentMs = 0;
  /** Lease time of the last transmission. */
  sentMs = 0;
  /** Transmissions whose fate is unknown. A refusal of the only one is definite. */
  copies = 0;
  /** Acquires and losses acknowledged by this command: the same ones in every transmission. */
  acknowledged: readonly number[] = NOTHING_ACKNOWLEDGED;
  /** Refused, and to be sent again under the same sequence. */
  isRefused = false;
  /** Why it was refused last. */
  refusal: Refusal = ERROR_NUMBERS.BUSY;
  /** When it was refused first. */
  refusedSinceMs = Number.POSITIVE_INFINITY;
  /** Sent over an earlier connection too: its answer may tell of a time long past. */
  isRepeated = false;

  /** Nobody waits for it: it need not be sent if it was not. */
  get isUnwanted(): boolean {
    return false;
  }

  /** It means as much in the next session, as long as it was not executed in this one. */
  get outlivesSession(): boolean {
    return false;
  }

  /** As if it had never been sent: for another session, when this one certainly did not do it. */
  startAnew(): void {
    this.sequence = 0;
    this.firstSentMs = 0;
    this.sentMs = 0;
    this.copies = 0;
    this.acknowledged = NOTHING_ACKNOWLEDGED;
    this.isRefused = false;
    this.refusedSinceMs = Number.POSITIVE_INFINITY;
    this.isRepeated = false;
  }

  abstract command(mark: number, nowMs: number): SequencedCommand;
  /**
   * The answer of the entry that executed it, or an outcome pushed or recalled later. `stamp` is
   * that of the entry which decided it, or 0 where the answer may be an old one.
   */
  abstract onResult(result: Result, stamp: number): void;
  /** Refused for too long and definitely not executed. False: it must be tried for ever. */
  giveUp(): boolean {
    return false;
  }

  /** Its session is no more, for that reason, so it will never be answered. */
  abstract onSessionLost(reason: LossReason): void;
}

/** Ends the session. */
export class CloseCall extends Call {
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    super();
    this.#onEnd = onEnd;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    return { op: OP.close, sequence, mark, acknowledged };
  }

  onResult(): void {
    this.#onEnd();
  }

  onSessionLost(): void {
    this.#onEnd();
  }
}
