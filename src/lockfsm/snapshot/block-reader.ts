/**
 * Reassembles the blocks of a snapshot ("format.ts") from bytes in any slices. Only a block whose
 * checksum is right is passed on, and no memory is allocated by an announced length.
 */
import { BLOCK_HEAD_BYTES, BODY_BYTES_MAX, checksumOf, corruptSnapshot } from "./format.js";

export class BlockReader {
  /** The index of the snapshot, which the first block states. All further checksums include it. */
  index = 0;
  /** The beginning of a block whose rest has not arrived yet. */
  #slices: Uint8Array[] = [];
  #keptBytes = 0;
  /** How many of its bytes must be there before reading it is useful. */
  #wantedBytes = BLOCK_HEAD_BYTES;
  #ordinal = 0;

  /** Whether no block is unfinished. */
  get isAtEnd(): boolean {
    return this.#keptBytes === 0;
  }

  /**
   * Calls `read` with the body of each block that `slice` completes; a body may share memory with
   * `slice`.
   */
  add(slice: Uint8Array, read: (body: Uint8Array) => void): void {
    const bytes = this.#joined(slice);
    if (bytes === undefined) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    for (;;) {
      this.#wantedBytes = BLOCK_HEAD_BYTES;
      if (bytes.length - at < BLOCK_HEAD_BYTES) break;
      const length = view.getUint32(at);
      if (length > BODY_BYTES_MAX) throw corruptSnapshot(`a block of ${length} bytes`);
      this.#wantedBytes += length;
      if (bytes.length - at < this.#wantedBytes) break;
      const body = bytes.subarray(at + BLOCK_HEAD_BYTES, at + this.#wantedBytes);
      if (view.getUint32(at + 4) !== checksumOf(body, this.#ordinal, this.index)) {
        throw corruptSnapshot(`block ${this.#ordinal} is damaged or belongs to another snapshot`);
      }
      read(body);
      at += this.#wantedBytes;
      this.#ordinal += 1;
    }
    if (at < bytes.length) this.#keep(bytes.subarray(at));
  }

  /** The kept bytes and `slice`, in one piece, if they are enough. */
  #joined(slice: Uint8Array): Uint8Array | undefined {
    if (this.#keptBytes === 0) return slice;
    this.#keep(slice);
    if (this.#keptBytes < this.#wantedBytes) return undefined;
    const joined = new Uint8Array(this.#keptBytes);
    let at = 0;
    for (const kept of this.#slices) {
      joined.set(kept, at);
      at += kept.length;
    }
    this.#slices = [];
    this.#keptBytes = 0;
    return joined;
  }

  /** Keeps a copy, because the caller may reuse its memory. */
  #keep(slice: Uint8Array): void {
    this.#slices.push(slice.slice());
    this.#keptBytes += slice.length;
  }
}
