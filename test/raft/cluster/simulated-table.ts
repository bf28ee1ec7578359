/**
 * The state machine of the cluster tests: a rolling hash over every applied entry. Two nodes
 * whose hashes are equal at an index have applied the same entries in the same order up to that
 * index, whether they applied them one by one or received a snapshot.
 */
import type { Entry, InstalledSnapshot } from "../../../src/raft/index.js";

export const EMPTY_TABLE = 0x811c9dc5;

/** A snapshot with its contents, which here are one number. */
export interface TableSnapshot extends InstalledSnapshot {
  readonly table: number;
}

/** The table after one more entry (FNV-1a over everything that makes the entry). */
export function tableAfter(table: number, entry: Entry): number {
  let hash = mix(mix(table, entry.index), entry.term);
  for (let at = 0; at < entry.kind.length; at += 1) hash = mix(hash, entry.kind.charCodeAt(at));
  for (const byte of entry.data) hash = mix(hash, byte);
  return hash;
}

/** 64 hex digits that identify the contents. */
export function checksumOf(index: number, term: number, table: number): string {
  return [index, term, table]
    .map((part) => part.toString(16).padStart(8, "0"))
    .join("")
    .padEnd(64, "0");
}

function mix(hash: number, value: number): number {
  return Math.imul(hash ^ (value & 0xffff), 0x01000193) >>> 0;
}
