/**
 * Items that end by themselves, such as leases of sessions and deadlines of requests, ordered by
 * (due time, number). It is a binary heap in which each item knows its own index, so that moving or
 * removing one costs O(log n). The order is total, so the result never depends on how the heap was
 * built.
 */
import { assert } from "../../errors/index.js";

/** `heapIndex` of an item that is not in the heap. */
export const NOT_IN_HEAP = -1;

export interface DueItem {
  /**
   * The cluster time, in milliseconds, from which on the item is over. It may only be moved to
   * later.
   */
  readonly dueAt: number;
  /** Unique among all items. */
  readonly number: number;
  heapIndex: number;
}

export class DueHeap<T extends DueItem> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  /** The earliest item; `undefined` if the heap is empty. */
  get first(): T | undefined {
    return this.#items[0];
  }

  add(item: T): void {
    assert(item.heapIndex === NOT_IN_HEAP, () => `${item.number} is already at ${item.heapIndex}`);
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  /**
   * Must be called when an item of the heap was due at `before` and is now due later. A due time
   * may never become earlier.
   */
  postponed(item: T, before: number): void {
    assert(item.dueAt >= before, () => `${item.number}: due ${before} moved to ${item.dueAt}`);
    this.#sink(item, item.heapIndex);
  }

  remove(item: T): void {
    const index = item.heapIndex;
    assert(this.#items[index] === item, () => `${item.number} is not at ${index} of the heap`);
    const last = this.#items.pop() as T;
    item.heapIndex = NOT_IN_HEAP;
    if (last === item) return;
    this.#rise(last, index);
    this.#sink(last, last.heapIndex);
  }

  #rise(item: T, from: number): void {
    const items = this.#items;
    let index = from;
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = items[parentIndex] as T;
      if (!isBefore(item, parent)) break;
      items[index] = parent;
      parent.heapIndex = index;
      index = parentIndex;
    }
    items[index] = item;
    item.heapIndex = index;
  }

  #sink(item: T, from: number): void {
    const items = this.#items;
    const size = items.length;
    let index = from;
    for (;;) {
      let childIndex = 2 * index + 1;
      if (childIndex >= size) break;
      let child = items[childIndex] as T;
      if (childIndex + 1 < size) {
        const right = items[childIndex + 1] as T;
        if (isBefore(right, child)) {
          child = right;
          childIndex += 1;
        }
      }
      if (!isBefore(child, item)) break;
      items[index] = child;
      child.heapIndex = index;
      index = childIndex;
    }
    items[index] = item;
    item.heapIndex = index;
  }
}

function isBefore(left: DueItem, right: DueItem): boolean {
  return left.dueAt < right.dueAt || (left.dueAt === right.dueAt && left.number < right.number);
}
