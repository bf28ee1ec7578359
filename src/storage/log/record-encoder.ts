/**
 * Turns writes into the chunks of one record. Small data are copied into a scratch buffer that is
 * used again for the next record, large data are referenced. So the encoder serves one record at a
 * time, and the next one may begin only when the last is on the disk.
 *
 * Sections of a body: a tag byte, then
 *   base       see `SegmentBase`; only in the first record of a segment, and alone there
 *   hardState  term (8), vote (4)
 *   truncate   first index removed (8)
 *   snapshot   index (8), term (8), checksum (32), first index to keep (8), whether a reset (1)
 *   batch      first index (8), term (8), count (4), then count times kind (1), length (4), data
 * They take effect in their order in the body.
 */
import { crc32 } from "node:zlib";
import { assert } from "../../errors/index.js";
import { ENTRY_KINDS, type Entry, type Write, type WrittenSnapshot } from "../../raft/index.js";
import { writeUint53 } from "../disk-bytes.js";
import {
  countZeroSectors,
  FIRST_KIND,
  HEADER_BYTES,
  SECTION,
  TRAILER,
  TRAILER_BYTES,
  writeHeader,
} from "./record-format.js";
import {
  SEGMENT_BASE_BYTES,
  type SegmentBase,
  SNAPSHOT_POINT_BYTES,
  writeSegmentBase,
  writeSnapshotPoint,
} from "./segment-base.js";

const HARD_STATE_BYTES = 13;
const TRUNCATE_BYTES = 9;
const SNAPSHOT_BYTES = 1 + SNAPSHOT_POINT_BYTES + 9;
const BATCH_HEADER_BYTES = 21;
const ENTRY_HEADER_BYTES = 5;
/** Data of this size and more are written without a copy. */
const REFERENCED_BYTES_MIN = 16 << 10;
const SCRATCH_BYTES = 64 << 10;

/** The place of a record in the file and in the chain. */
export interface RecordPlace {
  readonly salt: Uint8Array;
  readonly seq: number;
  readonly previousCrc: number;
  /** The position of its first byte in the file. */
  readonly position: number;
}

export interface EncodedRecord {
  readonly chunks: readonly Uint8Array[];
  readonly byteLength: number;
  /** The CRC of the header. */
  readonly crc: number;
}

/** The bytes of a write in the body of a record. */
export function bodyBytesOf(write: Write): number {
  let bytes = write.hardState === undefined ? 0 : HARD_STATE_BYTES;
  if (write.truncateFrom !== undefined) bytes += TRUNCATE_BYTES;
  if (write.snapshot !== undefined) bytes += SNAPSHOT_BYTES;
  let term = -1;
  for (const entry of write.entries) {
    if (entry.term !== term) bytes += BATCH_HEADER_BYTES;
    term = entry.term;
    bytes += ENTRY_HEADER_BYTES + entry.data.length;
  }
  return bytes;
}

export class RecordEncoder {
  #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  /** The scratch buffer is filled up to here. */
  #at = 0;
  /** The part of the scratch buffer from here on is not in `#chunks` yet. */
  #chunkFrom = 0;
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  /** One record with all writes, in their order. They must not change until it is written. */
  encodeWrites(writes: readonly Write[], place: RecordPlace): EncodedRecord {
    let copiedBytes = 0;
    for (const write of writes) {
      copiedBytes += bodyBytesOf(write);
      for (const { data } of write.entries) {
        if (data.length >= REFERENCED_BYTES_MIN) copiedBytes -= data.length;
      }
    }
    this.#begin(copiedBytes);
    for (const write of writes) this.#write(write);
    return this.#finish(place);
  }

  encodeBase(base: SegmentBase, place: RecordPlace): EncodedRecord {
    this.#begin(1 + SEGMENT_BASE_BYTES);
    this.#tag(SECTION.base);
    this.#at = writeSegmentBase(this.#scratch, base, this.#at);
    return this.#finish(place);
  }

  #begin(copiedBytes: number): void {
    const bytes = HEADER_BYTES + copiedBytes + TRAILER_BYTES;
    if (this.#scratch.length < bytes) this.#scratch = Buffer.allocUnsafeSlow(bytes);
    // A large buffer is not kept forever after one large record.
    else if (this.#scratch.length > SCRATCH_BYTES << 6 && bytes < SCRATCH_BYTES) {
      this.#scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
    }
    this.#at = HEADER_BYTES;
    this.#chunkFrom = 0;
    this.#chunks = [];
    this.#bytes = 0;
  }

  #write(write: Write): void {
    const { hardState, truncateFrom, snapshot, entries } = write;
    if (hardState !== undefined) {
      this.#tag(SECTION.hardState);
      this.#at = writeUint53(this.#scratch, hardState.term, this.#at);
      this.#at = this.#scratch.writeUInt32LE(hardState.vote, this.#at);
    }
    if (truncateFrom !== undefined) {
      this.#tag(SECTION.truncate);
      this.#at = writeUint53(this.#scratch, truncateFrom, this.#at);
    }
    if (snapshot !== undefined) this.#snapshot(snapshot);
    let countAt = 0;
    let count = 0;
    let term = -1;
    for (const entry of entries) {
      if (entry.term !== term) {
        if (count > 0) this.#scratch.writeUInt32LE(count, countAt);
        term = entry.term;
        count = 0;
        this.#tag(SECTION.batch);
        this.#at = writeUint53(this.#scratch, entry.index, this.#at);
        this.#at = writeUint53(this.#scratch, term, this.#at);
        countAt = this.#at;
        this.#at += 4;
      }
      count += 1;
      this.#entry(entry);
    }
    if (count > 0) this.#scratch.writeUInt32LE(count, countAt);
  }

  #snapshot(snapshot: WrittenSnapshot): void {
    this.#tag(SECTION.snapshot);
    this.#at = writeSnapshotPoint(this.#scratch, snapshot, this.#at);
    this.#at = writeUint53(this.#scratch, snapshot.keepFrom, this.#at);
    this.#at = this.#scratch.writeUInt8(snapshot.isReset ? 1 : 0, this.#at);
  }

  #entry({ kind, data }: Entry): void {
    this.#tag(ENTRY_KINDS.indexOf(kind) + FIRST_KIND);
    this.#at = this.#scratch.writeUInt32LE(data.length, this.#at);
    if (data.length < REFERENCED_BYTES_MIN) {
      this.#scratch.set(data, this.#at);
      this.#at += data.length;
      return;
    }
    this.#cut();
    this.#chunks.push(data);
    this.#bytes += data.length;
  }

  #tag(tag: number): void {
    this.#at = this.#scratch.writeUInt8(tag, this.#at);
  }

  #cut(): void {
    this.#chunks.push(this.#scratch.subarray(this.#chunkFrom, this.#at));
    this.#bytes += this.#at - this.#chunkFrom;
    this.#chunkFrom = this.#at;
  }

  #finish(place: RecordPlace): EncodedRecord {
    this.#tag(TRAILER);
    this.#cut();
    const chunks = this.#chunks;
    const byteLength = this.#bytes;
    const bodyBytes = byteLength - HEADER_BYTES - TRAILER_BYTES;
    assert(bodyBytes > 0, () => `an empty record, sequence ${place.seq}`);
    let bodyCrc = 0;
    let from = HEADER_BYTES;
    for (const [number, chunk] of chunks.entries()) {
      const to = chunk.length - (number === chunks.length - 1 ? TRAILER_BYTES : 0);
      bodyCrc = crc32(chunk.subarray(from, to), bodyCrc);
      from = 0;
    }
    // No sector with a part of the header is ever zero, because it contains the first byte of the
    // salt or the first tag of the body. So the zero sectors can be counted before the header is
    // complete.
    this.#scratch.set(place.salt, 0);
    const zeroSectors = countZeroSectors(chunks, place.position);
    const { seq, previousCrc } = place;
    const header = { seq, bodyBytes, previousCrc, zeroSectors, bodyCrc };
    const crc = writeHeader(this.#scratch, place.salt, header);
    return { chunks, byteLength, crc };
  }
}
