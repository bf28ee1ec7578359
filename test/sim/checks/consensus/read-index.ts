/**
 * The promise of a read index (thesis, 6.4), as one node gives it to another: it is not below
 * anything that was committed anywhere when it was asked for.
 */
import type { PeerMessage } from "../../../../src/net/index.js";
import type { Fail } from "../violation.js";

export class ReadIndexes {
  readonly #fail: Fail;
  readonly #committedIndex: () => number;
  /** What was committed when a node asked, by asker, question and whom it asked. */
  readonly #askedAt = new Map<string, number>();

  constructor(fail: Fail, committedIndex: () => number) {
    this.#fail = fail;
    this.#committedIndex = committedIndex;
  }

  onSend(from: number, to: number, message: PeerMessage): void {
    if (message.type === "readBarrier") {
      this.#askedAt.set(`${from}/${message.id}/${to}`, this.#committedIndex());
    } else if (message.type === "readIndex" && message.index !== 0) {
      const asked = this.#askedAt.get(`${to}/${message.id}/${from}`) ?? 0;
      if (message.index >= asked) return;
      const text = `node ${from} gives ${to} the index ${message.index}, asked for behind ${asked}`;
      this.#fail("read index", text);
    }
  }
}
