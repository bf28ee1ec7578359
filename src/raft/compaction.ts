/**
 * What the log stands on. A snapshot taken here is named by the turn's record and lets the log's
 * beginning go, from memory only when that record is durable; one that a leader sent takes the
 * place of the whole log at once (`install.ts`) and is a barrier until its record is durable. The
 * index of the snapshot only rises: what is older than the latest is ignored (consensus rule 23).
 */
import { assert } from "../assert.js";
import type { State } from "./state.js";
import type { SnapshotPoint, WrittenSnapshot } from "./types.js";

/** Named by a record that was handed over and is not durable. */
interface PendingSnapshot {
  readonly seq: number;
  readonly snapshot: WrittenSnapshot;
}

export class Compaction {
  /** Of the snapshot whose effects this node surely has; never falls, at most the applied index. */
  snapshotIndex: number;
  /** Of the newest snapshot this class was told of; at least `snapshotIndex`. */
  private latestIndex: number;
  /** The furthest any record said. What a record let go must not be asked for by a later one. */
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

  /** For the record that will be handed over as `seq`, if there is one. */
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

/** A snapshot taken here is durable, and entries before `keepFrom` are needed by nobody. */
export function compact(state: State, snapshot: SnapshotPoint, keepFrom: number): void {
  const { compaction, log, appliedIndex } = state;
  const { index, term } = snapshot;
  assert(
    Number.isSafeInteger(keepFrom) && keepFrom > 0 && keepFrom <= index + 1,
    () => `snapshot ${index}, kept from ${keepFrom}`,
  );
  if (!compaction.isNewer(snapshot)) return;
  assert(index <= appliedIndex, () => `snapshot ${index}, applied ${appliedIndex}`);
  assert(log.matches(index, term), () => `snapshot ${index} of term ${term} is not in the log`);
  compaction.request(snapshot, keepFrom, false);
}

/** Records up to `seq` are durable: what they let go goes. Returns whether anything did. */
export function cutLog(state: State, seq: number): boolean {
  const { compaction, log, configurations } = state;
  const cutTo = compaction.onPersisted(seq);
  if (cutTo <= log.baseIndex) return false;
  assert(cutTo <= state.appliedIndex, () => `cut to ${cutTo}, applied ${state.appliedIndex}`);
  log.compactTo(cutTo);
  configurations.compactTo(cutTo);
  return true;
}
