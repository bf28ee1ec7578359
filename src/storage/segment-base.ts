/**
 * The first record of every segment repeats what the segments before it established, so that
 * removing them loses nothing, and says which segment of whose log this is, so that one that was
 * moved, swapped or copied from another node is recognised.
 */
import type { HardState } from "../raft/index.js";
import { readUint53, writeUint53 } from "./record-format.js";

export interface SegmentBase {
  readonly nodeId: number;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** Segments are numbered from 1 on without a gap. */
  readonly number: number;
  /** The size of the file, zeros included. */
  readonly capacityBytes: number;
  readonly hardState: HardState;
  /** The entry before the first of the whole log: 0, 0 or the last one of a snapshot. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  /** The last entry of the log where this segment begins. */
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** 64 hex digits: the checksum of the snapshot that ends at `baseIndex`; zeros without one. */
  readonly snapshotChecksum: string;
}

export const NO_SNAPSHOT_CHECKSUM = "0".repeat(64);
export const SEGMENT_BASE_BYTES = 4 + 16 + 8 + 8 + 8 + 4 + 8 * 4 + 32;

/** Returns the position behind it. */
export function writeSegmentBase(target: Buffer, base: SegmentBase, from: number): number {
  let at = target.writeUInt32LE(base.nodeId, from);
  at += target.write(base.clusterId, at, 16, "hex");
  at = writeUint53(target, base.number, at);
  at = writeUint53(target, base.capacityBytes, at);
  at = writeUint53(target, base.hardState.term, at);
  at = target.writeUInt32LE(base.hardState.vote, at);
  at = writeUint53(target, base.baseIndex, at);
  at = writeUint53(target, base.baseTerm, at);
  at = writeUint53(target, base.lastIndex, at);
  at = writeUint53(target, base.lastTerm, at);
  return at + target.write(base.snapshotChecksum, at, 32, "hex");
}

export function readSegmentBase(source: Buffer, from: number): SegmentBase {
  return {
    nodeId: source.readUInt32LE(from),
    clusterId: source.toString("hex", from + 4, from + 20),
    number: readUint53(source, from + 20),
    capacityBytes: readUint53(source, from + 28),
    hardState: { term: readUint53(source, from + 36), vote: source.readUInt32LE(from + 44) },
    baseIndex: readUint53(source, from + 48),
    baseTerm: readUint53(source, from + 56),
    lastIndex: readUint53(source, from + 64),
    lastTerm: readUint53(source, from + 72),
    snapshotChecksum: source.toString("hex", from + 80, from + 112),
  };
}
