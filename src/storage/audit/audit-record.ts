/**
 * One record of the audit in the form in which it is stored: a tenure that ended, or something else
 * that happened, without a lock. Only the writer knows the meaning of the body.
 *
 * Little-endian: index (8), number (4), wall time of the end (8), bytes of the lock's key (2), the
 * lock's key, the body.
 */
import { readUint53, writeUint53 } from "../disk-bytes.js";
import type { StoredRevision } from "../store-keys.js";

export interface AuditRecord extends StoredRevision {
  /** Empty for a record that belongs to no lock. */
  readonly lockKey: string;
  /** Milliseconds since 1970; decides when the record is old. */
  readonly endedWallMs: number;
  readonly body: Uint8Array;
}

const HEADER_BYTES = 8 + 4 + 8 + 2;

export function encodeAuditRecord(record: AuditRecord): Buffer {
  const { index, number, endedWallMs, lockKey, body } = record;
  const keyBytes = Buffer.byteLength(lockKey, "utf8");
  const value = Buffer.alloc(HEADER_BYTES + keyBytes + body.length);
  let at = value.writeUInt32LE(number, writeUint53(value, index, 0));
  at = value.writeUInt16LE(keyBytes, writeUint53(value, endedWallMs, at));
  at += value.write(lockKey, at, "utf8");
  value.set(body, at);
  return value;
}

/** `undefined` for bytes that `encodeAuditRecord` cannot have written. */
export function decodeAuditRecord(bytes: Uint8Array): AuditRecord | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const value = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const keyEnd = HEADER_BYTES + value.readUInt16LE(HEADER_BYTES - 2);
  if (keyEnd > value.length) return undefined;
  const index = readUint53(value, 0);
  const endedWallMs = readUint53(value, 12);
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(endedWallMs)) return undefined;
  return {
    index,
    number: value.readUInt32LE(8),
    endedWallMs,
    lockKey: value.toString("utf8", HEADER_BYTES, keyEnd),
    body: value.subarray(keyEnd),
  };
}
