/**
 * The decoded commands of entries that this node proposed itself, from the proposal until they are
 * applied, so that nothing is decoded twice on the leader. An entry is recognised by its bytes being
 * the very same object: an entry of another leader that took the place has others.
 */
import type { TableCommand } from "../../lockfsm/index.js";
import { Fifo } from "../fifo.js";

interface CachedEntry {
  readonly index: number;
  readonly data: Uint8Array;
  readonly commands: readonly TableCommand[];
}

export class EntryCache {
  readonly #entries = new Fifo<CachedEntry>();

  /** Indexes rise, except after a change of leaders, which makes the older ones at fault useless. */
  add(index: number, data: Uint8Array, commands: readonly TableCommand[]): void {
    this.#entries.push({ index, data, commands });
  }

  /** The commands of the entry at `index`, if this node proposed it. Asked for in rising order. */
  take(index: number, data: Uint8Array): readonly TableCommand[] | undefined {
    for (let first = this.#entries.at(0); first !== undefined; first = this.#entries.at(0)) {
      if (first.data === data) {
        this.#entries.shift();
        return first.commands;
      }
      // Overtaken: what stood at this index was replaced.
      if (first.index > index) return undefined;
      this.#entries.shift();
    }
    return undefined;
  }

  /** On ceasing to lead and on leading again. Entries still to commit are decoded when applied. */
  clear(): void {
    this.#entries.clear();
  }
}
