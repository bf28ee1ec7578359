/**
 * Messages that may leave only after a write is durable, in the order in which the core gave them.
 * Before a granted vote leaves, the durable mark is synced as well: whatever happens to the end of
 * the log, it must be able to show that it reached the point with which it voted. No message may
 * leave early.
 */

import { Fifo } from "../../lockfsm/index.js";
import type { DeferredMessage, Message } from "../../raft/index.js";

export class DeferredMessages {
  readonly #waiting = new Fifo<DeferredMessage>();
  readonly #syncMark: () => Promise<void>;
  readonly #onMarkSynced: () => void;
  readonly #onFailure: (error: unknown) => void;
  #mark: "idle" | "syncing" | "synced" = "idle";

  /** `onMarkSynced`: `release` should be called again soon. */
  constructor(
    syncMark: () => Promise<void>,
    onMarkSynced: () => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#syncMark = syncMark;
    this.#onMarkSynced = onMarkSynced;
    this.#onFailure = onFailure;
  }

  push(message: DeferredMessage): void {
    this.#waiting.push(message);
  }

  /** Sends the messages that may leave, given that everything up to `durableSeq` is durable. */
  release(durableSeq: number, send: (message: Message) => void): void {
    for (let first = this.#waiting.at(0); first !== undefined; first = this.#waiting.at(0)) {
      if (first.seq > durableSeq) return;
      if (first.message.type === "voteReply" && first.message.granted && !this.#isMarkSynced()) {
        return;
      }
      this.#waiting.shift();
      send(first.message);
    }
  }

  /** One sync per granted vote, because the mark moves with what is written in between. */
  #isMarkSynced(): boolean {
    if (this.#mark === "synced") {
      this.#mark = "idle";
      return true;
    }
    if (this.#mark === "idle") {
      this.#mark = "syncing";
      this.#syncMark().then(() => {
        this.#mark = "synced";
        this.#onMarkSynced();
      }, this.#onFailure);
    }
    return false;
  }
}
