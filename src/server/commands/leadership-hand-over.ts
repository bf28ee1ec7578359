/**
 * When this node gives its leadership away by itself: it is being stopped, or its disk has no room
 * for more. It asks the core for a transfer, and asks again after a pause if the transfer failed. A
 * caller of `stop` is answered when the node no longer leads or no other node can take over.
 */
import type { Raft } from "../../raft/index.js";

/**
 * Each hand-over because of a full disk doubles the pause before the next one, up to this many
 * times the first, until none was needed for as long again. If every disk is full, leadership must
 * not go round and round, because each new term uses some of the remaining room.
 */
const PAUSE_GROWTH_MAX = 64;

/**
 * The core's number for a transfer of our own. Operators' numbers are negative, proposals'
 * positive.
 */
export const HAND_OVER_ID = 0;

export class LeadershipHandOver {
  readonly #retryAfterMs: number;
  #isStopping = false;
  #isDiskFull = false;
  #nextTryMs = 0;
  /** When the transfer under way was asked for; `undefined` without one. */
  #askedAtMs: number | undefined;
  /** Leadership is not given away again because of a full disk before this … */
  #notBeforeMs = 0;
  /** … which is this long after the last time. */
  #pauseMs: number;
  #stopped: Promise<void> | undefined;
  #resolveStop: (() => void) | undefined;

  /** `retryAfterMs`: the pause after a transfer that failed. */
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

  /** Called on a leader once a turn: whether to ask for a transfer now. */
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
