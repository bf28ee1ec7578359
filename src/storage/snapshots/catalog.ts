/**
 * All snapshots in the ordered store, complete or not. Each has a number, under which its chunks
 * are stored, and one record that says what it is: a manifest if it is complete, a draft while it
 * is written, received or removed. Record and chunks change in one batch, so that a chunk is never
 * without a record, whenever the process dies. A removal proceeds in bounded batches and is resumed
 * after an interruption.
 */
import { assert, HoldfastError } from "../../errors/index.js";
import { corruption } from "../corruption.js";
import type { OrderedStore, StoreOperation } from "../ordered-store.js";
import { chunkKey, KEY_PREFIX, rangeOf, snapshotIdOf, snapshotKey } from "../store-keys.js";
import {
  decodeSnapshotRecord,
  encodeSnapshotRecord,
  type SnapshotRecord,
} from "./snapshot-record.js";
import type { SnapshotManifest } from "./snapshot-store.js";

/** Chunks that one batch removes. */
const REMOVED_CHUNKS_MAX = 64;

/** The writer of a snapshot, which another one may replace. */
export interface CurrentWriter {
  /** Resolves when no call of it is under way any more. */
  supersede(): Promise<void>;
}

export class StoredSnapshot {
  readonly id: number;
  /** As it is when everything that was handed over to the store is durable. */
  record: SnapshotRecord;
  writer: CurrentWriter | undefined;
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

  /** Must have resolved before any other call. Fails with a corruption error. */
  load(): Promise<void> {
    this.#loading ??= this.#load();
    return this.#loading;
  }

  all(): StoredSnapshot[] {
    return [...this.#snapshots.values()];
  }

  /** The complete snapshot with this checksum or, failing that, the one that is being received. */
  find(checksum: string): StoredSnapshot | undefined {
    const same = this.all().filter(({ record }) => record.manifest.checksum === checksum);
    return (
      same.find(({ isComplete }) => isComplete) ??
      same.find(({ record }) => record.state === "received")
    );
  }

  /** A new snapshot without chunks. Nothing is written before its first chunk. */
  begin(state: "own" | "received", manifest: SnapshotManifest): StoredSnapshot {
    this.#lastId += 1;
    const snapshot = new StoredSnapshot(this.#lastId, { state, storedChunks: 0, manifest });
    this.#snapshots.set(snapshot.id, snapshot);
    return snapshot;
  }

  /** Resolves when the chunk is durable as the next one; it must not change until then. */
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
      // A batch that found no room had no effect; after any other failure nothing is written.
      snapshot.record = { ...snapshot.record, storedChunks: number };
      throw error;
    }
  }

  /** Fails with a corruption error if the chunk is missing or altered. */
  async readChunk({ id, record }: StoredSnapshot, number: number): Promise<Uint8Array> {
    const chunk = await this.#store.get(chunkKey(id, number));
    if (chunk === undefined) throw missing(record.manifest, `chunk ${number} of it is missing`);
    return chunk;
  }

  /** Completes the snapshot. */
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
    // Unless it was removed meanwhile: that removal takes effect after this.
    if (snapshot.removal === undefined) snapshot.record = record;
  }

  /** It is complete no more, and can be received again without any chunk being sent. */
  async demote(snapshot: StoredSnapshot): Promise<void> {
    snapshot.record = { ...snapshot.record, state: "received" };
    const key = snapshotKey(KEY_PREFIX.snapshotManifest, snapshot.id);
    await this.#store.write([{ type: "remove", key }, draftOf(snapshot)]);
  }

  /**
   * Resolves when nothing is left of it. Its writer cannot continue. To be called again after a
   * failure for lack of room.
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
          throw corruption(place, `the record of snapshot number ${id} cannot be read`);
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
    // First it ceases to be complete.
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

/** The corruption error for a snapshot that should exist. */
export function missing({ index }: { readonly index: number }, reason: string): HoldfastError {
  return corruption(
    { file: "store", offset: 0, index },
    `the snapshot of entry ${index}: ${reason}`,
  );
}
