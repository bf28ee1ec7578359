/**
 * The record that the ordered store keeps of a snapshot next to its chunks, little-endian:
 *
 *   state (1), chunks stored (4), index (8), term (8), checksum (32), chunks (4), bytes (8),
 *   length of the configuration (4), configuration
 *
 * Checksum, counts and configuration of this node's own snapshot are known only at its end.
 */
import { assert } from "../../errors/index.js";
import { readUint53, writeUint53 } from "../disk-bytes.js";
import type { SnapshotManifest } from "./snapshot-store.js";

/**
 * `complete`: it exists. `own`: being written by this node. `received`: offered by another node.
 * `removed`: being removed, chunk by chunk. The number on disk is the position in this list.
 */
const STATES = ["complete", "own", "received", "removed"] as const;
export type SnapshotState = (typeof STATES)[number];

export interface SnapshotRecord {
  readonly state: SnapshotState;
  /** Chunks 0 … `storedChunks` − 1 exist; fewer only while it is being removed. */
  readonly storedChunks: number;
  readonly manifest: SnapshotManifest;
}

const HEADER_BYTES = 1 + 4 + 8 + 8 + 32 + 4 + 8 + 4;

export function isChecksum(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

export function encodeSnapshotRecord({ state, storedChunks, manifest }: SnapshotRecord): Buffer {
  const { index, term, checksum, chunkCount, byteLength, configuration } = manifest;
  assert(isChecksum(checksum), () => `checksum "${checksum}" is not 64 hex digits`);
  const record = Buffer.alloc(HEADER_BYTES + configuration.length);
  let at = record.writeUInt8(STATES.indexOf(state), 0);
  at = record.writeUInt32LE(storedChunks, at);
  at = writeUint53(record, index, at);
  at = writeUint53(record, term, at);
  at += record.write(checksum, at, 32, "hex");
  at = record.writeUInt32LE(chunkCount, at);
  at = writeUint53(record, byteLength, at);
  at = record.writeUInt32LE(configuration.length, at);
  record.set(configuration, at);
  return record;
}

/** The reverse; `undefined` for anything that no version has written. */
export function decodeSnapshotRecord(value: Uint8Array): SnapshotRecord | undefined {
  if (value.length < HEADER_BYTES) return undefined;
  const record = Buffer.from(value.buffer, value.byteOffset, value.length);
  const state = STATES[record.readUInt8(0)];
  if (state === undefined) return undefined;
  if (record.readUInt32LE(HEADER_BYTES - 4) !== value.length - HEADER_BYTES) return undefined;
  const manifest = {
    index: readUint53(record, 5),
    term: readUint53(record, 13),
    checksum: record.toString("hex", 21, 53),
    chunkCount: record.readUInt32LE(53),
    byteLength: readUint53(record, 57),
    configuration: Uint8Array.from(record.subarray(HEADER_BYTES)),
  };
  const { index, term, byteLength } = manifest;
  if (![index, term, byteLength].every(Number.isSafeInteger)) return undefined;
  return { state, storedChunks: record.readUInt32LE(1), manifest };
}
