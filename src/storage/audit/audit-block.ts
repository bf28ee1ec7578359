/**
 * The chain of the audit. What one write stores becomes a block: a header that names the records,
 * their digest, and the digest of the block before it. So nobody can change, remove or reorder
 * records without changing every later block, up to the head (decision 40).
 *
 * Little-endian: number (8), records (4), number of the first record (8), the last entry of the log
 * and the oldest and the newest wall time of the records (8 each), bytes of all blocks before and of
 * this one (8 each), number, digest and bytes of the last block that was removed on purpose (8, 32,
 * 8), digest of the block before (32), digest of the records (32), and for each record its row (2)
 * and its number in the row (6).
 */
import { createHash } from "node:crypto";
import { readUint53, writeUint53 } from "../disk-bytes.js";
import { AUDIT_RECORDS_MAX } from "./audit-rows.js";

const DIGEST_BYTES = 32;
/** Bytes of a chain place in other values. */
export const CHAIN_PLACE_BYTES = 8 + DIGEST_BYTES + 8;
const HEADER_BYTES = 8 + 4 + 8 + 3 * 8 + 2 * 8 + CHAIN_PLACE_BYTES + 2 * DIGEST_BYTES;
const PLACE_BYTES = 2 + 6;
/** More than any disk takes: sums of bytes stay precise. */
const BYTES_MAX = 2 ** 52;

/** Names a block, and with it everything before it. Digests are 64 lower-case hex digits. */
export interface AuditHead {
  readonly number: number;
  readonly digest: string;
}

/** A block of the own chain. */
export interface ChainPlace extends AuditHead {
  /**
   * What all blocks up to this one took when they were written, with their records: keys and
   * values. So the difference of two places is what is stored between them.
   */
  readonly bytes: number;
}

/** Where a record is stored. */
export interface AuditPlace {
  readonly row: number;
  readonly number: number;
}

export interface AuditBlock {
  /** The first one is 1. */
  readonly number: number;
  /** All records of a node are numbered in one sequence; the first one is 1. */
  readonly firstRecord: number;
  /** The entry of the log in which the last of its records ended; 0 without records. */
  readonly lastIndex: number;
  /** Times of its oldest and newest record; both are 0 without records. */
  readonly oldestWallMs: number;
  readonly newestWallMs: number;
  /** `bytes` of the block before. */
  readonly bytesBefore: number;
  /** Its own, with its records. */
  readonly bytes: number;
  /** Blocks up to here were removed for their age or for room, as of this block. */
  readonly trimmed: ChainPlace;
  /** Digest of the block before. `NO_DIGEST` for the first one, and after damage. */
  readonly previous: string;
  readonly recordsDigest: string;
  readonly places: readonly AuditPlace[];
}

export const NO_DIGEST = "0".repeat(2 * DIGEST_BYTES);
/** The block before the first one. */
export const NO_BLOCK: ChainPlace = Object.freeze({ number: 0, digest: NO_DIGEST, bytes: 0 });

/** Bytes of an encoded block with this number of records. */
export function auditBlockBytes(records: number): number {
  return HEADER_BYTES + records * PLACE_BYTES;
}

export function encodeAuditBlock(block: AuditBlock): Buffer {
  const { number, places, firstRecord, trimmed } = block;
  const value = Buffer.alloc(auditBlockBytes(places.length));
  let at = value.writeUInt32LE(places.length, writeUint53(value, number, 0));
  at = writeUint53(value, firstRecord, at);
  at = writeUint53(value, block.lastIndex, at);
  at = writeUint53(value, block.oldestWallMs, at);
  at = writeUint53(value, block.newestWallMs, at);
  at = writeUint53(value, block.bytesBefore, at);
  at = writeUint53(value, block.bytes, at);
  at = writeChainPlace(value, trimmed, at);
  for (const digest of [block.previous, block.recordsDigest]) at += value.write(digest, at, "hex");
  for (const place of places) {
    at = value.writeUIntLE(place.number, value.writeUInt16LE(place.row, at), 6);
  }
  return value;
}

/** `undefined` for bytes that `encodeAuditBlock` cannot have written. */
export function decodeAuditBlock(encoded: Uint8Array): AuditBlock | undefined {
  if (encoded.length < HEADER_BYTES) return undefined;
  const value = Buffer.from(encoded.buffer, encoded.byteOffset, encoded.length);
  const count = value.readUInt32LE(8);
  if (value.length !== auditBlockBytes(count)) return undefined;
  const number = readUint53(value, 0);
  const firstRecord = readUint53(value, 12);
  const lastIndex = readUint53(value, 20);
  const oldestWallMs = readUint53(value, 28);
  const newestWallMs = readUint53(value, 36);
  const bytesBefore = readUint53(value, 44);
  const bytes = readUint53(value, 52);
  const trimmed = readChainPlace(value, 60);
  if (trimmed === undefined || !isCount(number) || !isCount(firstRecord)) return undefined;
  if (trimmed.bytes > bytesBefore || bytesBefore + bytes > BYTES_MAX) return undefined;
  if (![lastIndex, oldestWallMs, newestWallMs].every(Number.isSafeInteger)) return undefined;
  const digestsAt = 60 + CHAIN_PLACE_BYTES;
  const places = Array.from({ length: count }, (_, place) => {
    const at = HEADER_BYTES + place * PLACE_BYTES;
    return { row: value.readUInt16LE(at), number: value.readUIntLE(at + 2, 6) };
  });
  return {
    ...{ number, firstRecord, lastIndex, oldestWallMs, newestWallMs, trimmed, places },
    ...{ bytesBefore, bytes },
    previous: digestAt(value, digestsAt),
    recordsDigest: digestAt(value, digestsAt + DIGEST_BYTES),
  };
}

export function writeChainPlace(target: Buffer, place: ChainPlace, at: number): number {
  const digestAt = writeUint53(target, place.number, at);
  return writeUint53(target, place.bytes, digestAt + target.write(place.digest, digestAt, "hex"));
}

/** `undefined` if no block can have this number, or these bytes. */
export function readChainPlace(source: Buffer, at: number): ChainPlace | undefined {
  const number = readUint53(source, at);
  const bytes = readUint53(source, at + 8 + DIGEST_BYTES);
  if (!isCount(number) || bytes > BYTES_MAX) return undefined;
  return { number, digest: digestAt(source, at + 8), bytes };
}

/** The digest of an encoded block. */
export function digestOfBlock(value: Uint8Array): string {
  return createHash("sha256").update(value).digest("hex");
}

/** The digest of records: of the place, the length and the bytes of each, in their order. */
export class RecordsDigest {
  readonly #hash = createHash("sha256");

  add({ row, number }: AuditPlace, value: Uint8Array): void {
    const head = Buffer.alloc(PLACE_BYTES + 4);
    head.writeUInt32LE(value.length, head.writeUIntLE(number, head.writeUInt16LE(row, 0), 6));
    this.#hash.update(head).update(value);
  }

  end(): string {
    return this.#hash.digest("hex");
  }
}

function isCount(number: number): boolean {
  return number <= AUDIT_RECORDS_MAX;
}

function digestAt(source: Buffer, at: number): string {
  return source.toString("hex", at, at + DIGEST_BYTES);
}
