/**
 * The checksum of a snapshot: SHA-256 over its chunks, each after its length, and then over their
 * number and sizes in the manifest. Writer, sender and receiver of the same chunks compute the same
 * one.
 */
import { createHash } from "node:crypto";
import type { SnapshotPoint } from "../../raft/index.js";
import { writeUint53 } from "../disk-bytes.js";
import type { SnapshotManifest } from "./snapshot-store.js";

export class SnapshotDigest {
  readonly #hash = createHash("sha256").update("holdfast snapshot 1\n");
  readonly #length = Buffer.alloc(4);
  #chunkCount = 0;
  #byteLength = 0;

  get chunkCount(): number {
    return this.#chunkCount;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  add(chunk: Uint8Array): void {
    this.#length.writeUInt32LE(chunk.length);
    this.#hash.update(this.#length).update(chunk);
    this.#chunkCount += 1;
    this.#byteLength += chunk.length;
  }

  /** The whole manifest. May be called at any time, and repeatedly. */
  manifestOf(
    { index, term }: Pick<SnapshotPoint, "index" | "term">,
    configuration: Uint8Array,
  ): SnapshotManifest {
    const chunkCount = this.#chunkCount;
    const byteLength = this.#byteLength;
    const end = Buffer.alloc(32);
    let at = writeUint53(end, index, 0);
    at = writeUint53(end, term, at);
    at = end.writeUInt32LE(chunkCount, at);
    at = writeUint53(end, byteLength, at);
    end.writeUInt32LE(configuration.length, at);
    const checksum = this.#hash.copy().update(configuration).update(end).digest("hex");
    const copy = Uint8Array.from(configuration);
    return { index, term, checksum, chunkCount, byteLength, configuration: copy };
  }
}
