/**
 * The snapshot on which the log is based. A snapshot taken here is named by the turn's record and
 * lets the beginning of the log go, from memory only when that record is durable. One that a leader
 * sent replaces the whole log at once (`snapshot.ts`) and is a barrier until its record is durable.
 * The index of the snapshot only rises: older snapshots are ignored (consensus rule 23).
 */
import { assert } from "../errors/index.js";
import type { SnapshotPoint, WrittenSnapshot } from "./types.js";

/** Named by a record that was handed over and is not durable yet. */
interface PendingSnapshot {
  readonly seq: number;
  readonly snapshot: WrittenSnapshot;
}

export class Compaction {
  /** Index of the snapshot that this node certainly has; never falls, at most the applied index. */
  snapshotIndex: number;
  /** Index of the newest snapshot known here; at least `snapshotIndex`. */
  private latestIndex: number;
  /** The highest one of any record: no record may ask for entries that an earlier one let go. */
  private keepFrom = 1;
  /** For the record of this turn. */
  private unwritten: WrittenSnapshot | undefined = undefined;
  private readonly pending: PendingSnapshot[] = [];

  constructor(baseIndex: number, snapshotIndex: number) {
    this.snapshotIndex = snapshotIndex;
    this.latestIndex = snapshotIndex;
    this.keepFrom = baseIndex + 1;
  }

  /** A snapshot replaced the log in memory, and no durable record names it yet. */
  get isResetPending(): boolean {
    if (this.unwritten?.isReset === true) return true;
    for (const { snapshot } of this.pending) if (snapshot.isReset) return true;
    return false;
  }

  isNewer(snapshot: SnapshotPoint): boolean {
    return snapshot.index > this.latestIndex;
  }

  /** The next record names `snapshot`. */
  request({ index, term, checksum }: SnapshotPoint, keepFrom: number, isReset: boolean): void {
    assert(index > this.latestIndex, () => `snapshot ${index} after ${this.latestIndex}`);
    this.latestIndex = index;
    this.keepFrom = Math.max(this.keepFrom, keepFrom);
    if (isReset) this.snapshotIndex = index;
    this.unwritten = { index, term, checksum, isReset, keepFrom: this.keepFrom };
  }

  /** The snapshot for the record that will be handed over as `seq`, if there is one. */
  take(seq: number): WrittenSnapshot | undefined {
    const snapshot = this.unwritten;
    if (snapshot === undefined) return undefined;
    this.unwritten = undefined;
    this.pending.push({ seq, snapshot });
    return snapshot;
  }

  /** Records up to `seq` are durable. Returns the index up to which the log may be cut. */
  onPersisted(seq: number): number {
    let cutTo = 0;
    let completed = 0;
    for (const { seq: pendingSeq, snapshot } of this.pending) {
      if (pendingSeq > seq) break;
      this.snapshotIndex = Math.max(this.snapshotIndex, snapshot.index);
      cutTo = snapshot.keepFrom - 1;
      completed += 1;
    }
    if (completed > 0) this.pending.splice(0, completed);
    return cutTo;
  }
}
