/**
 * The chain of the audit. What one write stores becomes a block: a header that names the records,
 * their digest, and the digest of the block before it. So nobody can change, remove or reorder
 * records without changing every later block, up to the head (decision 40).
 *
 * Little-endian: number (8), records (4), number of the first record (8), the last entry of the log
 * and the oldest and the newest wall time of the records (8 each), number and digest of the last block that was removed on
 * purpose (8, 32), digest of the block before (32), digest of the records (32), and for each record
 * its row (2) and its number in the row (6).
 */
import { createHash } from "node:crypto";
import { readUint53, writeUint53 } from "../disk-bytes.js";
import { AUDIT_RECORDS_MAX } from "./audit-rows.js";

const DIGEST_BYTES = 32;
const HEADER_BYTES = 8 + 4 + 8 + 3 * 8 + 8 + 3 * DIGEST_BYTES;
const PLACE_BYTES = 2 + 6;

/** Names a block, and with it everything before it. Digests are 64 lower-case hex digits. */
export interface AuditHead {
  readonly number: number;
  readonly digest: string;
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
  /** Of its records; both are 0 without records. */
  readonly oldestWallMs: number;
  readonly newestWallMs: number;
  /** Blocks up to here were removed because of their age, as of this block. */
  readonly trimmed: AuditHead;
  /** Digest of the block before. `NO_DIGEST` for the first one, and after damage. */
  readonly previous: string;
  readonly recordsDigest: string;
  readonly places: readonly AuditPlace[];
}

export const NO_DIGEST = "0".repeat(2 * DIGEST_BYTES);
/** The block before the first one. */
export const NO_BLOCK: AuditHead = Object.freeze({ number: 0, digest: NO_DIGEST });

export function encodeAuditBlock(block: AuditBlock): Buffer {
  const { number, places, firstRecord, trimmed } = block;
  const value = Buffer.alloc(HEADER_BYTES + places.length * PLACE_BYTES);
  let at = value.writeUInt32LE(places.length, writeUint53(value, number, 0));
  at = writeUint53(value, firstRecord, at);
  at = writeUint53(value, block.lastIndex, at);
  at = writeUint53(value, block.oldestWallMs, at);
  at = writeUint53(value, block.newestWallMs, at);
  at = writeAuditHead(value, trimmed, at);
  for (const digest of [block.previous, block.recordsDigest]) at += value.write(digest, at, "hex");
  for (const place of places) {
    at = value.writeUIntLE(place.number, value.writeUInt16LE(place.row, at), 6);
  }
  return value;
}

/** `undefined` for bytes that `encodeAuditBlock` cannot have written. */
export function decodeAuditBlock(bytes: Uint8Array): AuditBlock | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const count = value.readUInt32LE(8);
  if (value.length !== HEADER_BYTES + count * PLACE_BYTES) return undefined;
  const number = readUint53(value, 0);
  const firstRecord = readUint53(value, 12);
  const lastIndex = readUint53(value, 20);
  const oldestWallMs = readUint53(value, 28);
  const newestWallMs = readUint53(value, 36);
  const trimmed = readAuditHead(value, 44);
  if (trimmed === undefined || !isCount(number) || !isCount(firstRecord)) return undefined;
  if (![lastIndex, oldestWallMs, newestWallMs].every(Number.isSafeInteger)) return undefined;
  const digestsAt = 44 + AUDIT_HEAD_BYTES;
  const places = Array.from({ length: count }, (_, place) => {
    const at = HEADER_BYTES + place * PLACE_BYTES;
    return { row: value.readUInt16LE(at), number: value.readUIntLE(at + 2, 6) };
  });
  return {
    ...{ number, firstRecord, lastIndex, oldestWallMs, newestWallMs, trimmed, places },
    previous: digestAt(value, digestsAt),
    recordsDigest: digestAt(value, digestsAt + DIGEST_BYTES),
  };
}

/** Bytes of a head in other values. */
export const AUDIT_HEAD_BYTES = 8 + DIGEST_BYTES;

export function writeAuditHead(target: Buffer, { number, digest }: AuditHead, at: number): number {
  const digestAt = writeUint53(target, number, at);
  return digestAt + target.write(digest, digestAt, "hex");
}

/** `undefined` if no block can have this number. */
export function readAuditHead(source: Buffer, at: number): AuditHead | undefined {
  const number = readUint53(source, at);
  return isCount(number) ? { number, digest: digestAt(source, at + 8) } : undefined;
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
