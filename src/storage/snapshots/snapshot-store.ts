/**
 * The port between the driver and stored snapshots. A snapshot is a sequence of chunks and a
 * manifest, which is written last: a snapshot without its manifest does not exist. Chunks are
 * opaque here. The log alone decides which snapshot counts; the others are garbage.
 */
import type { SnapshotPoint } from "../../raft/index.js";

export interface SnapshotManifest extends SnapshotPoint {
  readonly chunkCount: number;
  /** The bytes of all chunks together. */
  readonly byteLength: number;
  /** The configuration in force at `index`, encoded by the core's `encodeConfiguration`. */
  readonly configuration: Uint8Array;
}

/**
 * A snapshot that is being written or received. One call at a time, except `abandon`. Fails with
 * `CANCELLED` once another writer has taken it over or it was removed.
 */
export interface SnapshotWriter {
  /** Chunks that are durable. */
  readonly chunkCount: number;
  /**
   * Resolves when the chunk of 1 … 2^20 bytes is durable; it must not change until then. Fails with
   * `INVALID_ARGUMENT` for another size, and with `INTERNAL` if it is more than was offered.
   */
  append(chunk: Uint8Array): Promise<void>;
  /** A chunk that is durable. Fails with a corruption error if it is missing or altered. */
  read(number: number): Promise<Uint8Array>;
  /** Computes the checksum and writes the manifest, with which the snapshot exists. */
  finish(configuration: Uint8Array): Promise<SnapshotManifest>;
  /** Removes what was written, unless the snapshot exists or another writer has taken it over. */
  abandon(): Promise<void>;
}

export interface SnapshotStore {
  /**
   * The manifests of all complete snapshots, by rising index. Fails with a corruption error if a
   * manifest or a draft is altered.
   */
  list(): Promise<readonly SnapshotManifest[]>;
  /** A new snapshot of this node. */
  create(point: Pick<SnapshotPoint, "index" | "term">): Promise<SnapshotWriter>;
  /**
   * A snapshot that another node offers: continues after the chunks that are stored already, from
   * before a lost connection or a restart. `finish` fails with `INTERNAL` if count, length or
   * checksum differ from the manifest, and then only `abandon` may be called. An earlier writer of
   * it ends.
   */
  receive(manifest: SnapshotManifest): Promise<SnapshotWriter>;
  /** Fails with a corruption error (`details.corrupt`) if the chunk is missing or altered. */
  readChunk(manifest: SnapshotManifest, number: number): Promise<Uint8Array>;
  /**
   * Removes every snapshot, complete or not, except those with these checksums and this node's own
   * that are being written. What is removed must not be being read.
   */
  removeExcept(checksums: readonly string[]): Promise<void>;
}
