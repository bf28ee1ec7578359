/**
 * The keys of the ordered store: the first byte of a key says what it belongs to. Numbers in keys
 * are big-endian, so that they sort as numbers. Prefixes are never reused.
 */
import type { StoreRange } from "./ordered-store.js";

export const KEY_PREFIX = {
  /** id (8) → a complete snapshot. */
  snapshotManifest: 0x10,
  /** id (8) → a snapshot that is being written, received or removed. */
  snapshotDraft: 0x11,
  /** id (8), number (4) → a chunk of either. */
  snapshotChunk: 0x12,
  // 0x20 was used before, 0x30 to 0x32, 0x34 and 0x35 by earlier forms of the audit.
  /** row (2), number (8) → the tenure of a holder, or what an operator did. */
  auditRecord: 0x33,
  /** number (2) → the numbers of the records of some rows. */
  auditRows: 0x36,
  /** nothing → up to where the audit was written. */
  auditMark: 0x37,
  /** number (8) → a block of the chain of the audit. */
  auditBlock: 0x38,
} as const;

export type KeyPrefix = (typeof KEY_PREFIX)[keyof typeof KEY_PREFIX];

/** All keys with a prefix. */
export function rangeOf(prefix: KeyPrefix): StoreRange {
  return { from: Uint8Array.of(prefix), to: Uint8Array.of(prefix + 1) };
}

export function snapshotKey(
  prefix: typeof KEY_PREFIX.snapshotManifest | typeof KEY_PREFIX.snapshotDraft,
  id: number,
): Uint8Array {
  const key = Buffer.alloc(9);
  key.writeBigUInt64BE(BigInt(id), key.writeUInt8(prefix, 0));
  return key;
}

export function snapshotIdOf(key: Uint8Array): number {
  return Number(Buffer.from(key).readBigUInt64BE(1));
}

export function chunkKey(id: number, number: number): Uint8Array {
  const key = Buffer.alloc(13);
  const at = key.writeBigUInt64BE(BigInt(id), key.writeUInt8(KEY_PREFIX.snapshotChunk, 0));
  key.writeUInt32BE(number, at);
  return key;
}

/** A place in the order of all changes: an entry of the log, and the number within it. */
export interface StoredRevision {
  readonly index: number;
  readonly number: number;
}

/** The oldest records of a row sort first. */
export function auditRecordKey(row: number, number: number): Buffer {
  const key = Buffer.alloc(11);
  const at = key.writeUInt16BE(row, key.writeUInt8(KEY_PREFIX.auditRecord, 0));
  key.writeBigUInt64BE(BigInt(number), at);
  return key;
}

/** The number with which the key of a record or a block ends. */
export function numberInKey(key: Uint8Array): number {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  return Number(bytes.readBigUInt64BE(key.length - 8));
}

export function auditBlockKey(number: number): Buffer {
  const key = Buffer.alloc(9);
  key.writeBigUInt64BE(BigInt(number), key.writeUInt8(KEY_PREFIX.auditBlock, 0));
  return key;
}

export function auditRowsKey(number: number): Uint8Array {
  return Uint8Array.of(KEY_PREFIX.auditRows, number >> 8, number & 0xff);
}

export function auditMarkKey(): Uint8Array {
  return Uint8Array.of(KEY_PREFIX.auditMark);
}
