/**
 * The port between the driver and stored snapshots. A snapshot is a row of chunks under an ordered
 * key and a manifest that is written last: without its manifest it does not exist. Chunks are opaque
 * here. Which snapshot counts is decided by the log alone; the others are garbage.
 */
import type { SnapshotPoint } from "../../raft/index.js";

export interface SnapshotManifest extends SnapshotPoint {
  readonly chunkCount: number;
  /** Of all chunks together. */
  readonly byteLength: number;
  /** The configuration in force at `index`, encoded by the core's `encodeConfiguration`. */
  readonly configuration: Uint8Array;
}

/**
 * A snapshot that is being written or received. One call under way at a time, `abandon` excepted.
 * Fails with `CANCELLED` once another writer goes on with it or it was removed.
 */
export interface SnapshotWriter {
  /** Chunks that are durable. */
  readonly chunkCount: number;
  /**
   * Resolves when the chunk of 1 … 2^20 bytes, which must not change until then, is durable. Fails
   * with `INVALID_ARGUMENT` for another size, and with `INTERNAL` when it is more than was offered.
   */
  append(chunk: Uint8Array): Promise<void>;
  /** Computes the checksum, writes the manifest, and thereby makes the snapshot exist. */
  finish(configuration: Uint8Array): Promise<SnapshotManifest>;
  /** Removes what was written, unless it exists or another writer goes on with it. */
  abandon(): Promise<void>;
}

export interface SnapshotStore {
  /**
   * Of every complete snapshot, by rising index. Fails with a corruption error when a manifest or a
   * draft is altered.
   */
  list(): Promise<readonly SnapshotManifest[]>;
  /** A new one of this node's own. */
  create(point: Pick<SnapshotPoint, "index" | "term">): Promise<SnapshotWriter>;
  /**
   * One that another node offers: goes on behind the chunks that are stored already, from before a
   * lost connection or a restart. `finish` fails with `INTERNAL` when count, length or checksum are
   * not those of the manifest, after which only `abandon` helps. A former writer of it ends.
   */
  receive(manifest: SnapshotManifest): Promise<SnapshotWriter>;
  /** Fails with a corruption error (`details.corrupt`) when the chunk is missing or altered. */
  readChunk(manifest: SnapshotManifest, number: number): Promise<Uint8Array>;
  /**
   * Removes every snapshot, complete or not, except those with these checksums and those of this
   * node's own that are being written. Nobody may be reading from what is removed.
   */
  removeExcept(checksums: readonly string[]): Promise<void>;
}
