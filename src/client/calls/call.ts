/**
 * One sequenced command from the wish to the table's answer. It has a number only while it is sent: a
 * node that refuses it, or a resume that finds it unexecuted, gives the number back, and it is sent
 * again under another one. So the table executes it at most once. Subclasses say what is sent and
 * what the answer means.
 */
import type { ErrorNumber } from "../../errors.js";
import {
  type EndReason,
  OP,
  type RecalledHold,
  type Result,
  type SequencedCommand,
} from "../../protocol/index.js";
import type { LossReason } from "../failures.js";

export const NOTHING_ACKNOWLEDGED: readonly number[] = Object.freeze([]);

/** What every command begins with, filled in when it is sent. */
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
  /** Lease time before it was sent: what its answer proves (`lease.ts`). */
  sentMs = 0;
  /** What this transmission acknowledges. */
  acknowledged: readonly number[] = NOTHING_ACKNOWLEDGED;
  /** When a node had no room for it first. */
  refusedSinceMs = Number.POSITIVE_INFINITY;
  /** The connection over which it was sent broke: only a recall tells whether it was executed. */
  isUncertain = false;
  /** It was refused for good. */
  isGivenUp = false;

  /** Strong calls wait where a node has little room; weak ones, which give back, may pass them. */
  abstract readonly isStrong: boolean;

  /** Nobody waits for it: it need not be sent if it was not. */
  get isUnwanted(): boolean {
    return false;
  }

  /** It means as much in the next session, as long as it was not executed in this one. */
  get outlivesSession(): boolean {
    return false;
  }

  /** The answer may be `queued`; how the wait ended is then kept until it is acknowledged. */
  get mayWait(): boolean {
    return false;
  }

  /** Nobody can say that it was not executed. */
  get mayBeExecuted(): boolean {
    return this.sequence !== 0 || this.isUncertain;
  }

  abstract command(head: CommandHead, nowMs: number): SequencedCommand;

  /** `stamp`: of the entry that decided it. */
  abstract onResult(result: Result, stamp: number): void;

  /** A recall found what it was granted. */
  onHeld(_told: RecalledHold): void {}

  /** A recall found that what it was granted ended. */
  onEnded(_token: number, _reason: EndReason): void {}

  /** A recall found nothing: a later command of this client ended it. */
  onForgotten(): void {}

  /** It was certainly not executed, and will not be. */
  onRefused(_status: ErrorNumber): void {}

  /** Weak, and sent before strong ones that were called earlier. */
  onPassing(): void {}

  /** Its session is no more, for that reason, so it will never be answered. */
  abstract onSessionLost(reason: LossReason): void;
}

/** Ends the session. */
export class CloseCall extends Call {
  readonly isStrong = false;
  readonly #onEnd: () => void;

  constructor(onEnd: () => void) {
    super();
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
