/**
 * The decoded commands of entries that this node proposed itself, from the proposal until they are
 * applied, so that the leader decodes nothing twice. An entry is recognised by the identity of its
 * bytes: an entry of another leader at the same index has another array.
 */
import { Fifo, type TableCommand } from "../../lockfsm/index.js";

interface CachedEntry {
  readonly index: number;
  readonly data: Uint8Array;
  readonly commands: readonly TableCommand[];
}

export class EntryCache {
  readonly #entries = new Fifo<CachedEntry>();

  /** Indexes rise, except after a change of leader, which makes the older entries useless. */
  add(index: number, data: Uint8Array, commands: readonly TableCommand[]): void {
    this.#entries.push({ index, data, commands });
  }

  /** The commands of the entry at `index`, if this node proposed it. Indexes must rise. */
  take(index: number, data: Uint8Array): readonly TableCommand[] | undefined {
    for (let first = this.#entries.at(0); first !== undefined; first = this.#entries.at(0)) {
      if (first.data === data) {
        this.#entries.shift();
        return first.commands;
      }
      // Another leader has replaced the entry at this index.
      if (first.index > index) return undefined;
      this.#entries.shift();
    }
    return undefined;
  }

  /**
   * On ceasing to lead and on leading again. Entries not committed yet are decoded when applied.
   */
  clear(): void {
    this.#entries.clear();
  }
}
