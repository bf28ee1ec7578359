/**
 * Messages that may leave only when a write is durable, in the order the core gave them. Before a
 * granted vote leaves, the durable mark is synced as well: the log must be able to tell, whatever
 * happens to its tail, that it reached what it voted with. Nothing here may leave early.
 */
import type { DeferredMessage, Message } from "../../raft/index.js";
import { Fifo } from "../fifo.js";

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

  /** Sends what may leave now that everything up to `durableSeq` is durable. */
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

  /** One sync per granted vote: the mark moves on with what was written in between. */
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
