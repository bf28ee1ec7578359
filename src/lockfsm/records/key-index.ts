/**
 * All keys in use. Names are kept in blocks, each of which is a range of the byte order, unsorted
 * inside. A look-up is a short binary search and one Map access, and a page of names in order sorts
 * one or two blocks; the cost of neither grows with the table. A small table is one block.
 */
import { assert } from "../../errors/index.js";
import { compareByteOrder } from "../structures/byte-order.js";
import type { KeyRange } from "./identity.js";
import { Key, type KeyBlock, type KeyEntry } from "./key.js";

export interface NamedKey {
  readonly name: string;
  readonly entry: KeyEntry;
}

/** A block with more names is split. Sorting this many must not delay the loop noticeably. */
const BLOCK_NAMES_MAX = 8_192;
/**
 * The size of the sample whose median splits a block: near enough to the middle, and found quickly.
 */
const SPLIT_SAMPLE_NAMES = 128;

function blockFrom(lowest: string): KeyBlock {
  return { lowest, keys: new Map() };
}

export class KeyIndex {
  readonly #blocks: KeyBlock[] = [blockFrom("")];
  #size = 0;
  /**
   * The name that was looked up last, and the position of its block. A name is looked up more than
   * once, and the next one is often near it.
   */
  #recentName = "";
  #recentAt = 0;

  get size(): number {
    return this.#size;
  }

  get(name: string): KeyEntry | undefined {
    return this.#blockOf(name).keys.get(name);
  }

  /** Adds a key of that name, which replaces a row if there is one. */
  add(name: string): Key {
    const block = this.#blockOf(name);
    const key = new Key(name, block);
    this.#set(block, name, key);
    return key;
  }

  /** Adds the row of a lone hold whose key was not in use. */
  addRow(name: string, row: number): void {
    this.#set(this.#blockOf(name), name, row);
  }

  /** Forgets a key that has become idle. */
  drop(key: Key): void {
    assert(key.isIdle, () => `${key.name}: ${key.holdCount} holds, ${key.waiterCount} waiters`);
    const { block } = key;
    assert(block !== undefined, () => `${key.name} was forgotten`);
    key.block = undefined;
    this.#delete(block, key.name);
  }

  dropRow(name: string): void {
    this.#delete(this.#blockOf(name), name);
  }

  /** At most `limit` keys with the prefix, in byte order, after `after`. */
  page(prefix: string, after: string | undefined, limit: number): NamedKey[] {
    const start = after !== undefined && compareByteOrder(after, prefix) > 0 ? after : prefix;
    const found: NamedKey[] = [];
    for (let at = this.#positionOf(start); at < this.#blocks.length; at += 1) {
      const block = this.#blocks[at] as KeyBlock;
      if (found.length >= limit || comesAfter(block.lowest, prefix)) break;
      const names = [...block.keys.keys()].filter(
        (name) =>
          name.startsWith(prefix) && (after === undefined || compareByteOrder(name, after) > 0),
      );
      for (const name of names.sort(compareByteOrder).slice(0, limit - found.length)) {
        found.push({ name, entry: block.keys.get(name) as KeyEntry });
      }
    }
    return found;
  }

  /** As `page`, for the keys in these ranges, which are in byte order and apart from each other. */
  pageOfRanges(
    ranges: readonly KeyRange[],
    prefix: string,
    after: string | undefined,
    limit: number,
  ): NamedKey[] {
    const found: NamedKey[] = [];
    for (const { key, isPrefix } of ranges) {
      if (found.length >= limit) break;
      if (!key.startsWith(prefix) || (after !== undefined && isOver(key, isPrefix, after)))
        continue;
      if (isPrefix) found.push(...this.page(key, after, limit - found.length));
      else {
        const entry = this.get(key);
        if (entry !== undefined) found.push({ name: key, entry });
      }
    }
    return found;
  }

  /** Visits the entries in no particular order. */
  forEach(visit: (entry: KeyEntry) => void): void {
    for (const block of this.#blocks) for (const entry of block.keys.values()) visit(entry);
  }

  #set(block: KeyBlock, name: string, entry: KeyEntry): void {
    const { size } = block.keys;
    block.keys.set(name, entry);
    this.#size += block.keys.size - size;
    if (block.keys.size > BLOCK_NAMES_MAX) this.#split(block);
  }

  #delete(block: KeyBlock, name: string): void {
    const deleted = block.keys.delete(name);
    assert(deleted, () => `${name} is not in its block`);
    this.#size -= 1;
    if (block.keys.size === 0 && this.#blocks.length > 1) this.#removeBlock(block);
  }

  #blockOf(name: string): KeyBlock {
    const blocks = this.#blocks;
    if (blocks.length === 1) return blocks[0] as KeyBlock;
    if (name !== this.#recentName) {
      this.#recentName = name;
      if (!this.#isIn(this.#recentAt, name)) this.#recentAt = this.#positionOf(name);
    }
    return blocks[this.#recentAt] as KeyBlock;
  }

  /** Whether the block at that position is the one of `name`. */
  #isIn(position: number, name: string): boolean {
    const blocks = this.#blocks;
    if (compareByteOrder((blocks[position] as KeyBlock).lowest, name) > 0) return false;
    const next = blocks[position + 1];
    return next === undefined || compareByteOrder(name, next.lowest) < 0;
  }

  /**
   * Must be called when positions have changed. The empty name, which is not a key, would be in the
   * first block.
   */
  #forgetRecent(): void {
    this.#recentName = "";
    this.#recentAt = 0;
  }

  /** The position of the last block that begins at or before `name`. */
  #positionOf(name: string): number {
    let low = 0;
    let high = this.#blocks.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const isAtOrBefore = compareByteOrder((this.#blocks[middle] as KeyBlock).lowest, name) <= 0;
      if (isAtOrBefore) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #split(block: KeyBlock): void {
    const upper = blockFrom(roughMedian([...block.keys.keys()]));
    for (const [name, entry] of block.keys) {
      if (compareByteOrder(name, upper.lowest) < 0) continue;
      block.keys.delete(name);
      upper.keys.set(name, entry);
      if (typeof entry !== "number") entry.block = upper;
    }
    this.#blocks.splice(this.#positionOf(block.lowest) + 1, 0, upper);
    this.#forgetRecent();
  }

  #removeBlock(block: KeyBlock): void {
    const position = this.#positionOf(block.lowest);
    assert(this.#blocks[position] === block, () => `block at ${position} is not its own`);
    this.#blocks.splice(position, 1);
    this.#forgetRecent();
    (this.#blocks[0] as KeyBlock).lowest = "";
  }
}

/** The median of a sample: roughly in the middle, and above at least one other name. */
function roughMedian(names: readonly string[]): string {
  const step = Math.max(1, Math.floor(names.length / SPLIT_SAMPLE_NAMES));
  const sample = names.filter((_, at) => at % step === 0).sort(compareByteOrder);
  return sample[sample.length >> 1] as string;
}

/** Whether a range has nothing after `after`. */
function isOver(key: string, isPrefix: boolean, after: string): boolean {
  return compareByteOrder(after, key) >= 0 && !(isPrefix && after.startsWith(key));
}

/** Whether all names from `lowest` on come after those that begin with `prefix`. */
function comesAfter(lowest: string, prefix: string): boolean {
  return compareByteOrder(lowest, prefix) > 0 && !lowest.startsWith(prefix);
}
