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
  /** node (4) → what is known of it from its hellos. */
  knownPeer: 0x20,
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

export function peerKey(nodeId: number): Uint8Array {
  const key = Buffer.alloc(5);
  key.writeUInt32BE(nodeId, key.writeUInt8(KEY_PREFIX.knownPeer, 0));
  return key;
}

export function peerIdOf(key: Uint8Array): number {
  return Buffer.from(key).readUInt32BE(1);
}
