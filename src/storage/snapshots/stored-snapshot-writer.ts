/**
 * Writes one snapshot into the ordered store, chunk by chunk: one of this node, or one that another
 * node offers and whose manifest is known from the beginning.
 */
import { assert, HoldfastError } from "../../errors/index.js";
import type { CurrentWriter, SnapshotCatalog, StoredSnapshot } from "./catalog.js";
import { SnapshotDigest } from "./digest.js";
import type { SnapshotManifest, SnapshotWriter } from "./snapshot-store.js";

/** The largest chunk, which one batch of the store and one message between nodes carry easily. */
export const SNAPSHOT_CHUNK_BYTES_MAX = 1 << 20;

export class StoredSnapshotWriter implements SnapshotWriter, CurrentWriter {
  readonly #catalog: SnapshotCatalog;
  readonly #snapshot: StoredSnapshot;
  /** The manifest it must match; `undefined` for a snapshot of this node. */
  readonly #offered: SnapshotManifest | undefined;
  /** Over the durable chunks. */
  readonly #digest = new SnapshotDigest();
  #call: Promise<unknown> | undefined;
  #isOver = false;

  constructor(
    catalog: SnapshotCatalog,
    snapshot: StoredSnapshot,
    offered: SnapshotManifest | undefined,
  ) {
    this.#catalog = catalog;
    this.#snapshot = snapshot;
    this.#offered = offered;
  }

  get chunkCount(): number {
    return this.#digest.chunkCount;
  }

  append(chunk: Uint8Array): Promise<void> {
    return this.#exclusively(async () => {
      this.#demandFit(chunk);
      await this.#catalog.addChunk(this.#snapshot, chunk);
      this.#digest.add(chunk);
    });
  }

  read(number: number): Promise<Uint8Array> {
    return this.#exclusively(() => this.#catalog.readChunk(this.#snapshot, number));
  }

  finish(configuration: Uint8Array): Promise<SnapshotManifest> {
    return this.#exclusively(async () => {
      const manifest = this.#digest.manifestOf(this.#snapshot.record.manifest, configuration);
      if (this.#offered !== undefined) demandSame(manifest, this.#offered);
      if (this.#snapshot.isComplete) return manifest;
      if (this.#catalog.find(manifest.checksum)?.isComplete === true) {
        // The same snapshot exists already, so this one is not needed.
        await this.#catalog.remove(this.#snapshot);
      } else {
        await this.#catalog.complete(this.#snapshot, manifest);
      }
      this.#end();
      return manifest;
    });
  }

  async abandon(): Promise<void> {
    const isCurrent = this.#snapshot.writer === this;
    await this.supersede();
    // Another writer may have taken it over, or it is complete.
    if (isCurrent && !this.#snapshot.isComplete) await this.#catalog.remove(this.#snapshot);
  }

  /** Reads the chunks that are stored already into the digest. */
  resume(): Promise<void> {
    return this.#exclusively(async () => {
      const { storedChunks } = this.#snapshot.record;
      for (let number = 0; number < storedChunks; number += 1) {
        this.#digest.add(await this.#catalog.readChunk(this.#snapshot, number));
      }
    });
  }

  async supersede(): Promise<void> {
    this.#end();
    await this.#call?.catch(() => {});
  }

  #end(): void {
    this.#isOver = true;
    if (this.#snapshot.writer === this) this.#snapshot.writer = undefined;
  }

  #demandFit(chunk: Uint8Array): void {
    const { length } = chunk;
    if (length < 1 || length > SNAPSHOT_CHUNK_BYTES_MAX) {
      const message = `a chunk of ${length} bytes is not 1 … ${SNAPSHOT_CHUNK_BYTES_MAX}`;
      throw new HoldfastError("INVALID_ARGUMENT", message);
    }
    if (this.#offered === undefined) return;
    const { chunkCount, byteLength } = this.#offered;
    const isWithin =
      this.#digest.chunkCount < chunkCount && this.#digest.byteLength + length <= byteLength;
    if (!isWithin) throw mismatch(`it has more than ${chunkCount} chunks, ${byteLength} bytes`);
  }

  /** One call at a time, and none after the end. */
  #exclusively<Result>(call: () => Promise<Result>): Promise<Result> {
    assert(this.#call === undefined, () => "two calls of a snapshot's writer at the same time");
    if (this.#isOver) {
      const message = "this writer of a snapshot has ended";
      return Promise.reject(new HoldfastError("CANCELLED", message));
    }
    const done = call().finally(() => {
      this.#call = undefined;
    });
    this.#call = done;
    return done;
  }
}

function mismatch(reason: string): HoldfastError {
  return new HoldfastError("INTERNAL", `a received snapshot is not what was offered: ${reason}`);
}

function demandSame(found: SnapshotManifest, offered: SnapshotManifest): void {
  for (const name of ["chunkCount", "byteLength", "checksum"] as const) {
    if (found[name] !== offered[name]) {
      throw mismatch(`${name} is ${found[name]} instead of ${offered[name]}`);
    }
  }
}
