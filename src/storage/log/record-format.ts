/**
 * The format of a record of the log on disk, little-endian throughout:
 *
 *   header   0 salt of the segment (8)    8 sequence (8)      16 bytes of the body (4)
 *           20 CRC of the previous record's header (4)        24 all-zero sectors (4)
 *           28 CRC of the body (4)       32 CRC of bytes 0 – 31 (4)
 *   body    sections, see `record-encoder.ts`
 *   trailer one byte that is not zero
 *
 * Unwritten space is zero, so a zero trailer, or more all-zero sectors than the header announces,
 * distinguish an interrupted write from a byte that changed later. The CRC of the header covers the
 * CRC of the body, so the chain of headers covers everything before it.
 */
import { crc32 } from "node:zlib";
import { readUint53, SECTOR_BYTES, writeUint53 } from "../disk-bytes.js";

export const SALT_BYTES = 8;
export const HEADER_BYTES = 36;
export const TRAILER_BYTES = 1;
export const TRAILER = 0xa5;

/** Numbers of the sections of a body. Never reused. */
export const SECTION = { base: 1, hardState: 2, truncate: 3, batch: 4, snapshot: 5 } as const;

/** The number of the first kind of entries; the others follow. */
export const FIRST_KIND = 1;

export interface RecordHeader {
  readonly seq: number;
  readonly bodyBytes: number;
  readonly previousCrc: number;
  readonly zeroSectors: number;
  readonly bodyCrc: number;
  /** The header's own CRC, which the next record repeats as `previousCrc`. */
  readonly crc: number;
}

/** The bytes of a whole record around a body of `bodyBytes`. */
export function recordBytesOf(bodyBytes: number): number {
  return HEADER_BYTES + bodyBytes + TRAILER_BYTES;
}

/** Writes a header at the start of `target`; returns its CRC. */
export function writeHeader(
  target: Buffer,
  salt: Uint8Array,
  header: Omit<RecordHeader, "crc">,
): number {
  target.set(salt, 0);
  writeUint53(target, header.seq, 8);
  target.writeUInt32LE(header.bodyBytes, 16);
  target.writeUInt32LE(header.previousCrc, 20);
  target.writeUInt32LE(header.zeroSectors, 24);
  target.writeUInt32LE(header.bodyCrc, 28);
  const crc = crc32(target.subarray(0, 32));
  target.writeUInt32LE(crc, 32);
  return crc;
}

/** The header at `at`, or `undefined` if it is not inside `source` or its CRC is wrong. */
export function readHeader(source: Buffer, at: number): RecordHeader | undefined {
  if (at + HEADER_BYTES > source.length) return undefined;
  const crc = source.readUInt32LE(at + 32);
  if (crc32(source.subarray(at, at + 32)) !== crc) return undefined;
  return {
    seq: readUint53(source, at + 8),
    bodyBytes: source.readUInt32LE(at + 16),
    previousCrc: source.readUInt32LE(at + 20),
    zeroSectors: source.readUInt32LE(at + 24),
    bodyCrc: source.readUInt32LE(at + 28),
    crc,
  };
}

/**
 * The number of sectors of the file in which these chunks, written one after the other from
 * `position` on, are all zero. Only the written part of the first and the last sector counts.
 */
export function countZeroSectors(chunks: readonly Uint8Array[], position: number): number {
  let count = 0;
  let sectorLeft = SECTOR_BYTES - (position % SECTOR_BYTES);
  let onlyZeros = true;
  let seen = false;
  for (const chunk of chunks) {
    let at = 0;
    while (at < chunk.length) {
      const end = Math.min(chunk.length, at + sectorLeft);
      if (onlyZeros) onlyZeros = isZero(chunk, at, end);
      sectorLeft -= end - at;
      at = end;
      seen = true;
      if (sectorLeft > 0) continue;
      if (onlyZeros) count += 1;
      sectorLeft = SECTOR_BYTES;
      onlyZeros = true;
      seen = false;
    }
  }
  return seen && onlyZeros ? count + 1 : count;
}

/** Whether every byte from `from` to before `to` is zero. */
export function isZero(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (bytes[at] !== 0) return false;
  return true;
}

const ZEROS = Buffer.alloc(64 << 10);

/** `isZero` for long stretches. */
export function isZeroToEnd(bytes: Buffer, from: number): boolean {
  for (let at = from; at < bytes.length; at += ZEROS.length) {
    const end = Math.min(bytes.length, at + ZEROS.length);
    if (bytes.compare(ZEROS, 0, end - at, at, end) !== 0) return false;
  }
  return true;
}
