/**
 * Holds that end by themselves, the earliest first. The order is that of cluster times, which no
 * newer evidence changes; what they mean by the local clock is the lease's to say.
 */
import { assert } from "../../assert.js";
import type { Hold } from "./hold.js";

export class EndsHeap {
  readonly #holds: Hold[] = [];

  get first(): Hold | undefined {
    return this.#holds[0];
  }

  /** After `endsAt` of the hold was set or changed; Infinity takes it out. */
  place(hold: Hold): void {
    if (hold.endsAt === Number.POSITIVE_INFINITY) {
      this.remove(hold);
      return;
    }
    if (hold.heapIndex === -1) {
      this.#holds.push(hold);
      hold.heapIndex = this.#holds.length - 1;
    }
    this.#down(this.#up(hold.heapIndex));
  }

  remove(hold: Hold): void {
    const at = hold.heapIndex;
    if (at === -1) return;
    assert(this.#holds[at] === hold, () => `token ${hold.token} is not at ${at}`);
    hold.heapIndex = -1;
    const last = this.#holds.pop() as Hold;
    if (last === hold) return;
    this.#put(at, last);
    this.#down(this.#up(at));
  }

  clear(): void {
    for (const hold of this.#holds) hold.heapIndex = -1;
    this.#holds.length = 0;
  }

  #up(from: number): number {
    let at = from;
    const hold = this.#holds[at] as Hold;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = this.#holds[parentAt] as Hold;
      if (parent.endsAt <= hold.endsAt) break;
      this.#put(at, parent);
      at = parentAt;
    }
    this.#put(at, hold);
    return at;
  }

  #down(from: number): void {
    let at = from;
    const hold = this.#holds[at] as Hold;
    for (;;) {
      let childAt = 2 * at + 1;
      let child = this.#holds[childAt];
      const right = this.#holds[childAt + 1];
      if (child !== undefined && right !== undefined && right.endsAt < child.endsAt) {
        child = right;
        childAt += 1;
      }
      if (child === undefined || child.endsAt >= hold.endsAt) break;
      this.#put(at, child);
      at = childAt;
    }
    this.#put(at, hold);
  }

  #put(at: number, hold: Hold): void {
    this.#holds[at] = hold;
    hold.heapIndex = at;
  }
}
