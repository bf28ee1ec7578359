/**
 * What one connection of a client, or one other node, has in the waiting line: its items in their
 * order, chained through the items themselves. The line serves its lanes in turns; a lane never
 * gives an item away before those that came earlier.
 */
import type { ForwardedChunk } from "./forwarded-chunk.js";
import type { KeptCommand } from "./kept-command.js";

export type WaitingItem = KeptCommand | ForwardedChunk;

export class Lane {
  first: WaitingItem | undefined = undefined;
  /** Bytes that it may still take in its present turn. Negative after an item that was larger. */
  credit = 0;
  /** The lane whose turn comes after this one. Meaningless while this one is empty. */
  next: Lane = this;
  #last: WaitingItem | undefined = undefined;

  get isEmpty(): boolean {
    return this.first === undefined;
  }

  /** Of one turn, in shares: one for each session whose commands come together. */
  get weight(): number {
    return this.first?.weight ?? 0;
  }

  push(item: WaitingItem): void {
    item.isInLine = true;
    if (this.#last === undefined) this.first = item;
    else this.#last.nextInLane = item;
    this.#last = item;
  }

  unshift(item: WaitingItem): void {
    item.isInLine = true;
    item.nextInLane = this.first;
    this.first = item;
    this.#last ??= item;
  }

  shift(): WaitingItem | undefined {
    const { first } = this;
    if (first === undefined) return undefined;
    this.first = first.nextInLane;
    if (this.first === undefined) this.#last = undefined;
    first.nextInLane = undefined;
    first.isInLine = false;
    return first;
  }
}
