/**
 * One sequenced command from the caller's wish to the table's answer. A call gets its sequence when
 * it is first transmitted and keeps it for ever, so that the table applies it exactly once however
 * often it is sent. Subclasses say what is sent and what the answer means.
 */
import { OP, type Result, type SequencedCommand, STATUS } from "../protocol/index.js";
import { lossReasonOf } from "./failures.js";
import type { ReleaseResult } from "./types.js";

export const NOTHING_ACKNOWLEDGED: readonly number[] = Object.freeze([]);

export abstract class Call {
  /** 0 until the first transmission. */
  sequence = 0;
  /** Lease time before the first transmission: what its answer proves (`lease.ts`). */
  firstSentMs = 0;
  /** Lease time of the last transmission. */
  sentMs = 0;
  /** Transmissions whose fate is unknown. A refusal of the only one is definite. */
  copies = 0;
  /** Acquires acknowledged by this command: the same ones in every transmission. */
  acknowledged: readonly number[] = NOTHING_ACKNOWLEDGED;
  /** Refused, and to be sent again under the same sequence. */
  isRefused = false;
  /** When it was refused first. */
  refusedSinceMs = Number.POSITIVE_INFINITY;

  /** Nobody waits for it: it need not be sent if it was not. */
  get isUnwanted(): boolean {
    return false;
  }

  abstract command(mark: number, nowMs: number): SequencedCommand;
  /** The answer of the entry that executed it, or an outcome pushed or recalled later. */
  abstract onResult(result: Result): void;
  /** Refused for too long and definitely not executed. False: it must be tried for ever. */
  giveUp(): boolean {
    return false;
  }

  /** Its session is no more, so it will never be answered. */
  abstract onSessionLost(): void;
}

/** Who waits for the end of a release. */
export interface ReleaseWaiter {
  onReleased(result: ReleaseResult): void;
}

export class ReleaseCall extends Call {
  readonly token: number;
  readonly #waiter: ReleaseWaiter | undefined;

  constructor(token: number, waiter: ReleaseWaiter | undefined) {
    super();
    this.token = token;
    this.#waiter = waiter;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged, token } = this;
    return { op: OP.release, sequence, mark, acknowledged, token };
  }

  onResult(result: Result): void {
    if (this.#waiter === undefined) return;
    if (result.status === STATUS.released) this.#waiter.onReleased({ released: true });
    else if (result.status === STATUS.notReleased) {
      this.#waiter.onReleased({ released: false, reason: lossReasonOf(result.reason) });
    } else this.#waiter.onReleased({ released: false, reason: "unknown" });
  }

  onSessionLost(): void {
    // Once transmitted, either this release or the end of the session may have come first.
    const reason = this.sequence === 0 ? "expired" : "unknown";
    this.#waiter?.onReleased({ released: false, reason });
  }
}

/** Gives up a waiting acquire. Whatever comes of it is told by the acquire's own outcome. */
export class CancelCall extends Call {
  readonly target: number;

  constructor(target: number) {
    super();
    this.target = target;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged, target } = this;
    return { op: OP.cancel, sequence, mark, acknowledged, target };
  }

  onResult(): void {}

  onSessionLost(): void {}
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
