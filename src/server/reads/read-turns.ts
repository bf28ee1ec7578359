/**
 * Reads that may be answered. Askers take turns: a client that asks for more than a node can answer
 * makes its own reads wait, and reads of others no longer than one of its turns takes. Reads of one
 * asker keep their order.
 */
import { Fifo } from "../../lockfsm/index.js";

interface Line<Read> {
  readonly reads: Fifo<Read>;
  /** What it may still spend in its turn. */
  left: number;
}

export class ReadTurns<Read> {
  readonly #costPerTurn: number;
  /** The first one has the turn. */
  readonly #lines = new Map<object, Line<Read>>();
  #length = 0;

  constructor(costPerTurn: number) {
    this.#costPerTurn = costPerTurn;
  }

  get length(): number {
    return this.#length;
  }

  push(asker: object, read: Read): void {
    let line = this.#lines.get(asker);
    if (line === undefined) {
      line = { reads: new Fifo(), left: this.#costPerTurn };
      this.#lines.set(asker, line);
    }
    line.reads.push(read);
    this.#length += 1;
  }

  /** Takes the next read and calls `costOf`, which answers it and returns what that cost. */
  take(costOf: (read: Read) => number): void {
    for (const [asker, line] of this.#lines) {
      const read = line.reads.shift();
      if (read === undefined) this.#lines.delete(asker);
      else {
        this.#length -= 1;
        line.left -= costOf(read);
        if (line.left <= 0) this.#endTurn(asker, line);
        return;
      }
    }
  }

  /** The others come before its next turn. */
  #endTurn(asker: object, line: Line<Read>): void {
    line.left = this.#costPerTurn;
    this.#lines.delete(asker);
    if (line.reads.length > 0) this.#lines.set(asker, line);
  }
}
