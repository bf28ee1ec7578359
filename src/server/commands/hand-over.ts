/**
 * When this node gives its leadership away by itself: it is being stopped, or its disk has no room
 * for more. It asks the core to transfer, and again after a while if that did not come about; who
 * waits for the end of it is told when the node does not lead any more or there is nobody to take
 * over.
 */
import type { Raft } from "../../raft/index.js";

/**
 * Each hand-over because the disk is full doubles the pause before the next one, up to so many
 * times the first, until one was not needed for as long again. Where every disk is full, leadership
 * must not go round and round: each new term takes of what room is left.
 */
const PAUSE_GROWTH_MAX = 64;

/** The core's number for a transfer of our own; operators' are negative, proposals positive. */
export const HAND_OVER_ID = 0;

export class HandOver {
  readonly #retryAfterMs: number;
  #isStopping = false;
  #isDiskFull = false;
  #nextTryMs = 0;
  /** When the transfer was asked for that is under way; `undefined` without one. */
  #askedAtMs: number | undefined;
  /** Leadership is not given away again because the disk is full before this … */
  #notBeforeMs = 0;
  /** … which is so long after it was the last time. */
  #pauseMs: number;
  #stopped: Promise<void> | undefined;
  #resolveStop: (() => void) | undefined;

  /** `retryAfterMs`: the pause after a transfer that did not come about. */
  constructor(retryAfterMs: number) {
    this.#retryAfterMs = retryAfterMs;
    this.#pauseMs = retryAfterMs;
  }

  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /** When `isDue` may become true by itself. */
  get nextDeadlineMs(): number {
    if (this.#isStopping) return this.#nextTryMs;
    if (!this.#isDiskFull) return Number.POSITIVE_INFINITY;
    return Math.max(this.#nextTryMs, this.#notBeforeMs);
  }

  onSpace(isFull: boolean): void {
    this.#isDiskFull = isFull;
  }

  /** The node is about to stop. Resolves when it does not lead, or one attempt has failed. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#nextTryMs = 0;
    this.#stopped ??= new Promise((resolve) => {
      this.#resolveStop = resolve;
    });
    return this.#stopped;
  }

  /** Leader, once a turn: whether a transfer is to be asked for now. */
  isDue(raft: Raft, nowMs: number): boolean {
    if (raft.isTransferring || nowMs < this.nextDeadlineMs) return false;
    this.#nextTryMs = nowMs + this.#retryAfterMs;
    this.#askedAtMs = nowMs;
    return true;
  }

  /** At the end of a turn. */
  onTurn(isLeading: boolean): void {
    if (isLeading) return;
    if (this.#askedAtMs !== undefined) this.#onHandedOver(this.#askedAtMs);
    this.#endStop();
  }

  /** The core refused the transfer or gave it up. */
  onFailed(): void {
    this.#askedAtMs = undefined;
    this.#endStop();
  }

  #onHandedOver(atMs: number): void {
    this.#askedAtMs = undefined;
    const isSoonAgain = atMs < this.#notBeforeMs + this.#pauseMs;
    const grownMs = Math.min(2 * this.#pauseMs, PAUSE_GROWTH_MAX * this.#retryAfterMs);
    this.#pauseMs = isSoonAgain ? grownMs : this.#retryAfterMs;
    this.#notBeforeMs = atMs + this.#pauseMs;
  }

  #endStop(): void {
    this.#resolveStop?.();
    this.#resolveStop = undefined;
  }
}
