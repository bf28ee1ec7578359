/**
 * The first record of every segment. It repeats what earlier segments established, so that removing
 * them loses nothing, and says whose log and which segment this is, so that a file that was moved,
 * swapped or copied from another node is recognised.
 */
import type { HardState, SnapshotPoint } from "../../raft/index.js";
import { readUint53, writeUint53 } from "../disk-bytes.js";

export interface SegmentBase {
  readonly nodeId: number;
  /** 32 lower-case hex digits. */
  readonly clusterId: string;
  /** Segments are numbered from 1 without gaps. */
  readonly number: number;
  /** The size of the file, zeros included. */
  readonly capacityBytes: number;
  readonly hardState: HardState;
  /** The last entry of the log before this segment. */
  readonly lastIndex: number;
  readonly lastTerm: number;
  /** The snapshot on which the log is based where this segment begins. */
  readonly snapshot: SnapshotPoint | undefined;
}

/** Index, term and checksum of a snapshot. */
export const SNAPSHOT_POINT_BYTES = 8 + 8 + 32;
export const SEGMENT_BASE_BYTES = 4 + 16 + 8 + 8 + 8 + 4 + 8 * 2 + SNAPSHOT_POINT_BYTES;

/** Returns the position after it. */
export function writeSegmentBase(target: Buffer, base: SegmentBase, from: number): number {
  let at = target.writeUInt32LE(base.nodeId, from);
  at += target.write(base.clusterId, at, 16, "hex");
  at = writeUint53(target, base.number, at);
  at = writeUint53(target, base.capacityBytes, at);
  at = writeUint53(target, base.hardState.term, at);
  at = target.writeUInt32LE(base.hardState.vote, at);
  at = writeUint53(target, base.lastIndex, at);
  at = writeUint53(target, base.lastTerm, at);
  if (base.snapshot !== undefined) return writeSnapshotPoint(target, base.snapshot, at);
  target.fill(0, at, at + SNAPSHOT_POINT_BYTES);
  return at + SNAPSHOT_POINT_BYTES;
}

export function readSegmentBase(source: Buffer, from: number): SegmentBase {
  return {
    nodeId: source.readUInt32LE(from),
    clusterId: source.toString("hex", from + 4, from + 20),
    number: readUint53(source, from + 20),
    capacityBytes: readUint53(source, from + 28),
    hardState: { term: readUint53(source, from + 36), vote: source.readUInt32LE(from + 44) },
    lastIndex: readUint53(source, from + 48),
    lastTerm: readUint53(source, from + 56),
    // No snapshot ends before the first entry.
    snapshot:
      readUint53(source, from + 64) === 0 ? undefined : readSnapshotPoint(source, from + 64),
  };
}

/** Returns the position after it. */
export function writeSnapshotPoint(target: Buffer, point: SnapshotPoint, from: number): number {
  let at = writeUint53(target, point.index, from);
  at = writeUint53(target, point.term, at);
  return at + target.write(point.checksum, at, 32, "hex");
}

export function readSnapshotPoint(source: Buffer, from: number): SnapshotPoint {
  return {
    index: readUint53(source, from),
    term: readUint53(source, from + 8),
    checksum: source.toString("hex", from + 16, from + 48),
  };
}
