/**
 * The highest incarnation of every peer that was ever heard of, kept durably: a peer that comes back
 * with a lower one lost its disk or was given an old one, and must not be taken for what it was.
 */
import { corruption } from "./corruption.js";
import type { OrderedStore } from "./ordered-store.js";
import { readUint53, writeUint53 } from "./record-format.js";
import { KEY_PREFIX, peerIdOf, peerKey, rangeOf } from "./store-keys.js";

const VALUE_BYTES = 8;

export class PeerIncarnations {
  readonly #store: OrderedStore;
  /** What is durable, once it was read. */
  #durable: Map<number, number> | undefined;
  /** The calls so far, each behind the one before it. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(store: OrderedStore) {
    this.#store = store;
  }

  /** By node id; a copy. */
  read(): Promise<Map<number, number>> {
    return this.#inLine(async () => new Map(await this.#load()));
  }

  /** Resolves when `incarnation`, or a higher one heard of before, is durable. */
  note(nodeId: number, incarnation: number): Promise<void> {
    return this.#inLine(async () => {
      const durable = await this.#load();
      if ((durable.get(nodeId) ?? 0) >= incarnation) return;
      const value = Buffer.alloc(VALUE_BYTES);
      writeUint53(value, incarnation, 0);
      await this.#store.write([{ type: "put", key: peerKey(nodeId), value }]);
      durable.set(nodeId, incarnation);
    });
  }

  async #load(): Promise<Map<number, number>> {
    if (this.#durable !== undefined) return this.#durable;
    const found = new Map<number, number>();
    for await (const { key, value } of this.#store.iterate(rangeOf(KEY_PREFIX.peerIncarnation))) {
      if (value.length !== VALUE_BYTES) {
        const place = { file: "store", offset: 0, index: 0 };
        throw corruption(place, `the incarnation of node ${peerIdOf(key)} is no number`);
      }
      found.set(peerIdOf(key), readUint53(Buffer.from(value), 0));
    }
    this.#durable = found;
    return found;
  }

  #inLine<Result>(call: () => Promise<Result>): Promise<Result> {
    const done = this.#line.then(call);
    // The caller has `done`; the next call goes on behind a failed one.
    this.#line = done.catch(() => {});
    return done;
  }
}
