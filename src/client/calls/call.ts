/**
 * One sequenced command from its call to the table's answer. It has a number only while it is sent.
 * If a node refuses it, or a resume finds it unexecuted, the number is given back, and the command
 * is sent again under another one. So the table executes it at most once. Subclasses define what is
 * sent and what the answer means.
 */
import type { ErrorNumber } from "../../errors/index.js";
import {
  type EndReason,
  OP,
  type RecalledHold,
  type Result,
  type SequencedCommand,
} from "../../protocol/index.js";
import type { LossReason } from "../failures.js";

export const NOTHING_ACKNOWLEDGED: readonly number[] = Object.freeze([]);

/** The fields that every command begins with, filled in when it is sent. */
export interface CommandHead {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

export abstract class Call {
  /** Its place among all calls of the client, in the order in which they were made. */
  order = 0;
  /** 0 while it is not sent. */
  sequence = 0;
  /** Lease time before it was sent: what its answer proves (`session-lease.ts`). */
  sentMs = 0;
  /** The acknowledgements that this transmission carries. */
  acknowledged: readonly number[] = NOTHING_ACKNOWLEDGED;
  /** When a node first had no room for it. */
  refusedSinceMs = Number.POSITIVE_INFINITY;
  /**
   * The connection that sent it broke: only a recall can show whether it was executed, or, if it
   * waits in the table, whether it still does.
   */
  isUncertain = false;
  /** It was refused finally, and is not sent again. */
  isGivenUp = false;

  /**
   * Where a node has little room, strong calls wait; weak ones, which give something back, may pass
   * them.
   */
  abstract readonly isStrong: boolean;

  /** It gives something back, so a client that ends waits for its answer. */
  get givesBack(): boolean {
    return !this.isStrong;
  }

  /** No caller waits for it, so if it was not sent, it need not be. */
  get isUnwanted(): boolean {
    return false;
  }

  /** It can be sent in the next session too, if it was not executed in this one. */
  get outlivesSession(): boolean {
    return false;
  }

  /**
   * The answer may be `queued`. Then the table keeps the end of the wait until it is acknowledged.
   */
  get mayWait(): boolean {
    return false;
  }

  /** It may have been executed. */
  get mayBeExecuted(): boolean {
    return this.sequence !== 0 || this.isUncertain;
  }

  abstract command(head: CommandHead, nowMs: number): SequencedCommand;

  /** It waits in the table since that stamp, or since an earlier one. */
  onQueued(_stamp: number): void {}

  /** `stamp`: of the entry that decided it. */
  abstract onResult(result: Result, stamp: number): void;

  /** A recall found the hold that it was granted. */
  onHeld(_told: RecalledHold): void {}

  /** A recall found that the hold that it was granted has ended. */
  onEnded(_token: number, _reason: EndReason): void {}

  /** A recall found nothing: a later command of this client ended its hold. */
  onForgotten(): void {}

  /** It was not executed, and will not be. */
  onRefused(_status: ErrorNumber): void {}

  /** It is weak, and is sent before strong calls that were made earlier. */
  onPassing(): void {}

  /** Its session ended for this reason, so it will never be answered. */
  abstract onSessionLost(reason: LossReason): void;
}

/** Ends the session: as soon as possible, or after all strong calls (`isStrong`). */
export class CloseCall extends Call {
  readonly isStrong: boolean;
  readonly #onEnd: () => void;

  constructor(isStrong: boolean, onEnd: () => void) {
    super();
    this.isStrong = isStrong;
    this.#onEnd = onEnd;
  }

  command(head: CommandHead): SequencedCommand {
    return { op: OP.close, ...head };
  }

  onResult(): void {
    this.#onEnd();
  }

  onSessionLost(): void {
    this.#onEnd();
  }
}
