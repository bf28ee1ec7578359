/**
 * What is remembered of every peer that was ever heard of: on which directory it came, and how often
 * that one was opened. A peer that comes back on another directory lost the one it had, and one that
 * was opened less often was given an old copy: neither may be taken for what it was.
 *
 * Of one peer, little-endian: incarnation (8), then the births of its directories (8 each).
 */
import { corruption } from "./corruption.js";
import type { NodeIdentity } from "./log-store.js";
import type { OrderedStore } from "./ordered-store.js";
import { readUint53, writeUint53 } from "./record-format.js";
import { KEY_PREFIX, peerIdOf, peerKey, rangeOf } from "./store-keys.js";

export interface KnownPeer {
  /** The highest that was met. */
  readonly incarnation: number;
  /** Of the directories on which it came, the newest last; never empty. */
  readonly births: readonly string[];
}

/** Older ones are forgotten: each of them was given up by an operator. */
const BIRTHS_MAX = 64;
const INCARNATION_BYTES = 8;
const BIRTH_BYTES = 8;

export class KnownPeers {
  readonly #store: OrderedStore;
  /** What is durable, once it was read. */
  #durable: Map<number, KnownPeer> | undefined;
  /** The calls so far, each behind the one before it. */
  #line: Promise<unknown> = Promise.resolve();

  constructor(store: OrderedStore) {
    this.#store = store;
  }

  /** By node id; a copy. */
  read(): Promise<Map<number, KnownPeer>> {
    return this.#inLine(async () => new Map(await this.#load()));
  }

  /** Resolves when it is durable that the peer came like this, or with a higher incarnation. */
  note({ nodeId, birth, incarnation }: NotedPeer): Promise<void> {
    return this.#inLine(async () => {
      const durable = await this.#load();
      const before = durable.get(nodeId);
      if (before !== undefined && before.incarnation >= incarnation) return;
      const former = before?.births ?? [];
      const births = former.at(-1) === birth ? former : [...former, birth].slice(-BIRTHS_MAX);
      const known = { incarnation, births };
      const value = encodeKnownPeer(known);
      await this.#store.write([{ type: "put", key: peerKey(nodeId), value }]);
      durable.set(nodeId, known);
    });
  }

  async #load(): Promise<Map<number, KnownPeer>> {
    if (this.#durable !== undefined) return this.#durable;
    const found = new Map<number, KnownPeer>();
    for await (const { key, value } of this.#store.iterate(rangeOf(KEY_PREFIX.knownPeer))) {
      const known = decodeKnownPeer(value);
      if (known === undefined) {
        const place = { file: "store", offset: 0, index: 0 };
        throw corruption(place, `what is known of node ${peerIdOf(key)} is cut short`);
      }
      found.set(peerIdOf(key), known);
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

/** What a hello says of the sender's directory. */
export type NotedPeer = Pick<NodeIdentity, "nodeId" | "birth" | "incarnation">;

function encodeKnownPeer({ incarnation, births }: KnownPeer): Buffer {
  const value = Buffer.alloc(INCARNATION_BYTES + births.length * BIRTH_BYTES);
  let at = writeUint53(value, incarnation, 0);
  for (const birth of births) at += value.write(birth, at, BIRTH_BYTES, "hex");
  return value;
}

function decodeKnownPeer(bytes: Uint8Array): KnownPeer | undefined {
  const value = Buffer.from(bytes);
  const births: string[] = [];
  for (let at = INCARNATION_BYTES; at + BIRTH_BYTES <= value.length; at += BIRTH_BYTES) {
    births.push(value.toString("hex", at, at + BIRTH_BYTES));
  }
  const isWhole = value.length === INCARNATION_BYTES + births.length * BIRTH_BYTES;
  if (births.length === 0 || !isWhole) return undefined;
  return { incarnation: readUint53(value, 0), births };
}
