/**
 * What a key has while it is a semaphore: its limit and its free slots. A hold gets the lowest free
 * slots of 0 … limit − 1. After the limit was lowered, holds may have higher slots until they end,
 * and these count as well.
 */
import { assert } from "../../errors/index.js";
import type { Changing, Copied, CopyOnWrite } from "./copy-on-write.js";
import type { QueueOrder } from "./waiting-queue.js";

export class Semaphore implements Copied {
  /** The name of its key. */
  readonly name: string;
  readonly limit: number;
  /** Whether an operator set the limit, so that it stays; otherwise its users named it. */
  readonly isSet: boolean;
  /** Permits held, including permits of cooldowns. */
  held = 0;
  /**
   * Set after the limit was lowered: waiting requests from here on may want more permits than there
   * are.
   */
  evictFrom: QueueOrder | undefined = undefined;
  /** A binary heap of free slots below `#next`, the smallest first. */
  #free: number[] = [];
  /** The lowest slot that has never been taken since there were last no holds. */
  #next = 0;
  savedIn: number;
  readonly #copies: CopyOnWrite;
  previous: Semaphore | undefined = undefined;
  next: Semaphore | undefined = undefined;

  constructor(name: string, limit: number, isSet: boolean, copies: CopyOnWrite) {
    this.name = name;
    this.limit = limit;
    this.isSet = isSet;
    this.savedIn = copies.latest;
    this.#copies = copies;
  }

  /** Gives write access to its limit. The held permits follow from the holds. */
  change(): Changing<Semaphore> {
    this.#copies.copier?.copy(this);
    return this;
  }

  /** Takes the lowest free slots, ascending. There must be enough. */
  take(count: number): number[] {
    assert(this.held + count <= this.limit, () => `${this.held} of ${this.limit}, ${count} more`);
    const slots: number[] = [];
    for (let left = count; left > 0; left -= 1) slots.push(this.#takeOne());
    this.held += count;
    return slots;
  }

  give(slots: readonly number[]): void {
    this.held -= slots.length;
    if (this.held === 0) {
      this.#free = [];
      this.#next = 0;
      return;
    }
    for (const slot of slots) this.#giveOne(slot);
  }

  /** Takes all the slots of a snapshot at once. Returns whether none was named twice. */
  restore(slots: readonly number[]): boolean {
    const taken = new Set(slots);
    this.held = slots.length;
    this.#next = slots.reduce((most, slot) => Math.max(most, slot + 1), 0);
    this.#free = [];
    for (let slot = 0; slot < this.#next; slot += 1) if (!taken.has(slot)) this.#free.push(slot);
    return taken.size === slots.length;
  }

  #takeOne(): number {
    const free = this.#free;
    const lowest = free[0];
    if (lowest === undefined) {
      this.#next += 1;
      return this.#next - 1;
    }
    const last = free.pop() as number;
    if (free.length > 0) this.#sink(last);
    return lowest;
  }

  #giveOne(slot: number): void {
    const free = this.#free;
    let at = free.length;
    free.push(slot);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((free[parent] as number) <= slot) break;
      free[at] = free[parent] as number;
      at = parent;
    }
    free[at] = slot;
  }

  /** Replaces the first slot of the heap with `slot`. */
  #sink(slot: number): void {
    const free = this.#free;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= free.length) break;
      if (child + 1 < free.length && (free[child + 1] as number) < (free[child] as number)) {
        child += 1;
      }
      if (slot <= (free[child] as number)) break;
      free[at] = free[child] as number;
      at = child;
    }
    free[at] = slot;
  }
}
