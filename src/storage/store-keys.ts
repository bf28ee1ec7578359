/**
 * Who has which keys of the ordered store: the first byte of a key says what it is of. Numbers in
 * keys are big-endian, so that they sort as numbers do. Prefixes are never reused.
 */
import type { StoreRange } from "./ordered-store.js";

export const KEY_PREFIX = {
  /** id (8) → a snapshot that exists. */
  snapshotManifest: 0x10,
  /** id (8) → one that is being written, received or removed. */
  snapshotDraft: 0x11,
  /** id (8), number (4) → a part of either. */
  snapshotChunk: 0x12,
  // 0x20 was used before.
  /** a lock's key, 0, what is left of 2^64 − 1 and 2^32 − 1 of a revision → one that held it. */
  auditRecord: 0x30,
  /** index (8), number (4) → when the record of that revision ended, and of which lock it is. */
  auditAge: 0x31,
  /** nothing → up to where the audit was written. */
  auditMark: 0x32,
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

/** Ends a lock's key in a key of the store: no lock's key contains it. */
const KEY_END = 0;
const REVISION_BYTES = 12;
const UINT64_MAX = 2n ** 64n - 1n;
const UINT32_MAX = 2 ** 32 - 1;

/** A place in the row of all changes: an entry of the log, and the number within it. */
export interface StoredRevision {
  readonly index: number;
  readonly number: number;
}

/** The newest of a lock's records sort first. */
export function auditRecordKey(lockKey: string, { index, number }: StoredRevision): Buffer {
  const name = Buffer.from(lockKey, "utf8");
  const key = Buffer.alloc(1 + name.length + 1 + REVISION_BYTES);
  let at = key.writeUInt8(KEY_PREFIX.auditRecord, 0);
  at += name.copy(key, at);
  at = key.writeUInt8(KEY_END, at);
  at = key.writeBigUInt64BE(UINT64_MAX - BigInt(index), at);
  key.writeUInt32BE(UINT32_MAX - number, at);
  return key;
}

/** What `auditRecordKey` was given beside the lock's key. */
export function auditRecordRevision(key: Uint8Array): StoredRevision {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  const at = key.length - REVISION_BYTES;
  const index = Number(UINT64_MAX - bytes.readBigUInt64BE(at));
  return { index, number: UINT32_MAX - bytes.readUInt32BE(at + 8) };
}

/** All records of a lock from `from` on towards the past. */
export function auditRange(lockKey: string, from: StoredRevision): StoreRange {
  const to = Buffer.from(auditRecordKey(lockKey, from));
  to.fill(0, to.length - REVISION_BYTES);
  to.writeUInt8(KEY_END + 1, to.length - REVISION_BYTES - 1);
  return { from: auditRecordKey(lockKey, from), to };
}

/** The oldest sort first. */
export function auditAgeKey({ index, number }: StoredRevision): Buffer {
  const key = Buffer.alloc(1 + REVISION_BYTES);
  const at = key.writeBigUInt64BE(BigInt(index), key.writeUInt8(KEY_PREFIX.auditAge, 0));
  key.writeUInt32BE(number, at);
  return key;
}

export function auditAgeRevision(key: Uint8Array): StoredRevision {
  const bytes = Buffer.from(key.buffer, key.byteOffset, key.length);
  return { index: Number(bytes.readBigUInt64BE(1)), number: bytes.readUInt32BE(9) };
}

export function auditMarkKey(): Uint8Array {
  return Uint8Array.of(KEY_PREFIX.auditMark);
}
