/**
 * All snapshots in the ordered store, complete or not. Each has a number of its own, under which its
 * chunks lie, and one record that says what it is: a manifest when it exists, a draft while it is
 * written, received or removed. Record and chunks change in one batch, so that no chunk is ever
 * without a record, whenever the process dies; a removal goes by bounded batches and is taken up
 * again where it was cut short.
 */
import { assert } from "../../assert.js";
import { HoldfastError } from "../../errors.js";
import { corruption } from "../corruption.js";
import type { OrderedStore, StoreOperation } from "../ordered-store.js";
import { chunkKey, KEY_PREFIX, rangeOf, snapshotIdOf, snapshotKey } from "../store-keys.js";
import { decodeSnapshotRecord, encodeSnapshotRecord, type SnapshotRecord } from "./record.js";
import type { SnapshotManifest } from "./store.js";

/** Chunks removed by one batch. */
const REMOVED_CHUNKS_MAX = 64;

/** What writes a snapshot, and how it is told that another one goes on in its place. */
export interface SnapshotOwner {
  /** Resolves when nothing of it is under way any more. */
  supersede(): Promise<void>;
}

export class StoredSnapshot {
  readonly id: number;
  /** As it is when everything that was handed over to the store is durable. */
  record: SnapshotRecord;
  owner: SnapshotOwner | undefined;
  removal: Promise<void> | undefined;

  constructor(id: number, record: SnapshotRecord) {
    this.id = id;
    this.record = record;
  }

  get isComplete(): boolean {
    return this.record.state === "complete";
  }
}

export class SnapshotCatalog {
  readonly #store: OrderedStore;
  readonly #snapshots = new Map<number, StoredSnapshot>();
  #loading: Promise<void> | undefined;
  #lastId = 0;

  constructor(store: OrderedStore) {
    this.#store = store;
  }

  /** Must have resolved before anything else is asked. Fails with a corruption error. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  all(): StoredSnapshot[] {
    return [...this.#snapshots.values()];
  }

  /** The one with this checksum that exists or, failing that, that is being received. */
  find(checksum: string): StoredSnapshot | undefined {
    const same = this.all().filter(({ record }) => record.manifest.checksum === checksum);
    return (
      same.find(({ isComplete }) => isComplete) ??
      same.find(({ record }) => record.state === "received")
    );
  }

  /** A new one without any chunk. Nothing is written before its first. */
  begin(state: "own" | "received", manifest: SnapshotManifest): StoredSnapshot {
    this.#lastId += 1;
    const snapshot = new StoredSnapshot(this.#lastId, { state, storedChunks: 0, manifest });
    this.#snapshots.set(snapshot.id, snapshot);
    return snapshot;
  }

  /** Resolves when the chunk, which must not change until then, is durable as the next one. */
  async addChunk(snapshot: StoredSnapshot, chunk: Uint8Array): Promise<void> {
    demandPresent(snapshot);
    const number = snapshot.record.storedChunks;
    snapshot.record = { ...snapshot.record, storedChunks: number + 1 };
    try {
      await this.#store.write([
        { type: "put", key: chunkKey(snapshot.id, number), value: chunk },
        draftOf(snapshot),
      ]);
    } catch (error) {
      // A batch that found no room took no effect; behind any other failure nothing is written.
      snapshot.record = { ...snapshot.record, storedChunks: number };
      throw error;
    }
  }

  /** Fails with a corruption error when it is missing or altered. */
  async readChunk({ id, record }: StoredSnapshot, number: number): Promise<Uint8Array> {
    const chunk = await this.#store.get(chunkKey(id, number));
    if (chunk === undefined) throw missing(record.manifest, `chunk ${number} of it is missing`);
    return chunk;
  }

  /** From here on it exists. */
  async complete(snapshot: StoredSnapshot, manifest: SnapshotManifest): Promise<void> {
    demandPresent(snapshot);
    const { storedChunks } = snapshot.record;
    assert(storedChunks === manifest.chunkCount, () => `${storedChunks} chunks are stored`);
    const record: SnapshotRecord = { state: "complete", storedChunks, manifest };
    const { id } = snapshot;
    await this.#store.write([
      {
        type: "put",
        key: snapshotKey(KEY_PREFIX.snapshotManifest, id),
        value: encodeSnapshotRecord(record),
      },
      { type: "remove", key: snapshotKey(KEY_PREFIX.snapshotDraft, id) },
    ]);
    // Unless its removal was handed over meanwhile, which then took effect behind this.
    if (snapshot.removal === undefined) snapshot.record = record;
  }

  /** It exists no more, and can be received again without any chunk being sent. */
  async demote(snapshot: StoredSnapshot): Promise<void> {
    snapshot.record = { ...snapshot.record, state: "received" };
    const key = snapshotKey(KEY_PREFIX.snapshotManifest, snapshot.id);
    await this.#store.write([{ type: "remove", key }, draftOf(snapshot)]);
  }

  /**
   * Resolves when nothing is left of it. Whoever writes it cannot go on. After a failure for want of
   * room it is to be called again.
   */
  remove(snapshot: StoredSnapshot): Promise<void> {
    snapshot.removal ??= this.#remove(snapshot).catch((error: unknown) => {
      snapshot.removal = undefined;
      throw error;
    });
    return snapshot.removal;
  }

  async #load(): Promise<void> {
    for (const prefix of [KEY_PREFIX.snapshotManifest, KEY_PREFIX.snapshotDraft] as const) {
      for await (const { key, value } of this.#store.iterate(rangeOf(prefix))) {
        const id = snapshotIdOf(key);
        const record = decodeSnapshotRecord(value);
        if (record === undefined) {
          const place = { file: "store", offset: 0, index: 0 };
          throw corruption(place, `the record of snapshot number ${id} makes no sense`);
        }
        this.#snapshots.set(id, new StoredSnapshot(id, record));
        this.#lastId = Math.max(this.#lastId, id);
      }
    }
  }

  async #remove(snapshot: StoredSnapshot): Promise<void> {
    const { id } = snapshot;
    let left = snapshot.record.storedChunks;
    snapshot.record = { ...snapshot.record, state: "removed" };
    // First it stops to exist.
    const operations: StoreOperation[] = [
      { type: "remove", key: snapshotKey(KEY_PREFIX.snapshotManifest, id) },
      draftOf(snapshot),
    ];
    while (left > 0) {
      await this.#store.write(operations);
      operations.length = 0;
      const from = Math.max(0, left - REMOVED_CHUNKS_MAX);
      for (; left > from; left -= 1) {
        operations.push({ type: "remove", key: chunkKey(id, left - 1) });
      }
    }
    operations.push({ type: "remove", key: snapshotKey(KEY_PREFIX.snapshotDraft, id) });
    await this.#store.write(operations);
    this.#snapshots.delete(id);
  }
}

function draftOf({ id, record }: StoredSnapshot): StoreOperation {
  const key = snapshotKey(KEY_PREFIX.snapshotDraft, id);
  return { type: "put", key, value: encodeSnapshotRecord(record) };
}

function demandPresent({ record }: StoredSnapshot): void {
  if (record.state !== "removed") return;
  throw new HoldfastError("CANCELLED", `the snapshot of ${record.manifest.index} was removed`);
}

/** The corruption error for a snapshot that ought to be there. */
export function missing({ index }: { readonly index: number }, reason: string): HoldfastError {
  return corruption(
    { file: "store", offset: 0, index },
    `the snapshot of entry ${index}: ${reason}`,
  );
}
