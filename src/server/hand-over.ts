/**
 * When this node gives its leadership away by itself: it is being stopped, or its disk has no room
 * for more. It asks the core to transfer, and again after a while if that did not come about; who
 * waits for the end of it is told when the node does not lead any more or there is nobody to take
 * over.
 */
import type { Raft } from "../raft/index.js";

/** The core's number for a transfer of our own; operators' are negative, proposals positive. */
export const HAND_OVER_ID = 0;

export class HandOver {
  readonly #retryAfterMs: number;
  #isStopping = false;
  #isDiskFull = false;
  #nextTryMs = 0;
  #resolveStop: (() => void) | undefined;

  /** `retryAfterMs`: the pause after a transfer that did not come about. */
  constructor(retryAfterMs: number) {
    this.#retryAfterMs = retryAfterMs;
  }

  get isDiskFull(): boolean {
    return this.#isDiskFull;
  }

  /** When `isDue` may become true by itself. */
  get nextDeadlineMs(): number {
    const isWanted = this.#isStopping || this.#isDiskFull;
    return isWanted ? this.#nextTryMs : Number.POSITIVE_INFINITY;
  }

  onSpace(isFull: boolean): void {
    this.#isDiskFull = isFull;
    this.#nextTryMs = 0;
  }

  /** The node is about to stop. Resolves when it does not lead, or one attempt has failed. */
  stop(): Promise<void> {
    this.#isStopping = true;
    this.#nextTryMs = 0;
    return new Promise((resolve) => {
      this.#resolveStop = resolve;
    });
  }

  /** Leader, once a turn: whether a transfer is to be asked for now. */
  isDue(raft: Raft, nowMs: number): boolean {
    if (!(this.#isStopping || this.#isDiskFull) || raft.isTransferring) return false;
    if (nowMs < this.#nextTryMs) return false;
    this.#nextTryMs = nowMs + this.#retryAfterMs;
    return true;
  }

  /** At the end of a turn. */
  onTurn(isLeading: boolean): void {
    if (!isLeading) this.#endStop();
  }

  /** The core refused the transfer or gave it up. */
  onFailed(): void {
    this.#endStop();
  }

  #endStop(): void {
    this.#resolveStop?.();
    this.#resolveStop = undefined;
  }
}
