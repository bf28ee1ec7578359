/**
 * Which part of this node's state is on disk: collects the changes of a turn into one atomic record
 * and learns from completions how far the log is durable. A completion covers the records up to it
 * and never entries appended after them: an index that was truncated and written again is durable
 * only when its newer record is (consensus rules 4, 5, 7).
 */
import { assert } from "../errors/index.js";
import type { RaftLog } from "./log.js";
import type { HardState, NodeId, Write, WrittenSnapshot } from "./types.js";

/** A record that was handed over and is not durable yet. */
interface PendingWrite {
  readonly seq: number;
  /** The last index that this and earlier records make durable; lowered by later truncations. */
  lastIndex: number;
  readonly handedOverMs: number;
}

const NO_ENTRIES: readonly never[] = Object.freeze([]);

export class Durability {
  /** Sequence of the latest record handed over. */
  lastSeq: number;
  /** Every record up to this sequence is durable; at most `lastSeq`. */
  persistedSeq: number;
  /** Every entry of the log up to this index is durable in its current form. */
  durableIndex: number;
  private readonly log: RaftLog;
  private readonly pending: PendingWrite[] = [];
  /** Entries from this index on were never handed over; at most `log.lastIndex + 1`. */
  private unwrittenFrom: number;
  /** Handed-over entries from this index on were removed in this turn. */
  private truncateFrom: number | undefined = undefined;
  private writtenTerm: number;
  private writtenVote: NodeId;
  /** The record with the latest term and vote. */
  private hardStateSeq: number;

  constructor(log: RaftLog, hardState: HardState, lastSeq: number) {
    assert(Number.isSafeInteger(lastSeq) && lastSeq >= 0, () => `last sequence ${lastSeq}`);
    this.log = log;
    this.lastSeq = lastSeq;
    this.persistedSeq = lastSeq;
    this.durableIndex = log.lastIndex;
    this.unwrittenFrom = log.lastIndex + 1;
    this.writtenTerm = hardState.term;
    this.writtenVote = hardState.vote;
    this.hardStateSeq = lastSeq;
  }

  /** Whether a restart would find this term and vote. */
  isHardStateDurable(term: number, vote: NodeId): boolean {
    const isWritten = term === this.writtenTerm && vote === this.writtenVote;
    return isWritten && this.persistedSeq >= this.hardStateSeq;
  }

  /** When the oldest record that is not durable was handed over; `Infinity` if all are durable. */
  get oldestPendingMs(): number {
    return this.pending[0]?.handedOverMs ?? Number.POSITIVE_INFINITY;
  }

  /** Must be called after the log was truncated, before anything is appended at `from`. */
  onTruncated(from: number): void {
    if (from < this.unwrittenFrom) {
      this.truncateFrom = Math.min(this.truncateFrom ?? from, from);
      this.unwrittenFrom = from;
    }
    this.durableIndex = Math.min(this.durableIndex, from - 1);
    for (const write of this.pending) write.lastIndex = Math.min(write.lastIndex, from - 1);
  }

  /**
   * Must be called after a snapshot that no record names yet replaced the log: even the log's base
   * is not durable before this turn's record is.
   */
  onReset(): void {
    const { baseIndex } = this.log;
    this.truncateFrom = undefined;
    this.unwrittenFrom = baseIndex + 1;
    this.durableIndex = Math.min(this.durableIndex, baseIndex - 1);
    for (const write of this.pending) write.lastIndex = Math.min(write.lastIndex, baseIndex - 1);
  }

  /** Every record up to `seq` is durable. A repeated or older completion changes nothing. */
  onPersisted(seq: number): void {
    assert(seq <= this.lastSeq, () => `sequence ${seq} persisted, ${this.lastSeq} handed over`);
    if (seq <= this.persistedSeq) return;
    this.persistedSeq = seq;
    let completed = 0;
    for (const write of this.pending) {
      if (write.seq > seq) break;
      this.durableIndex = Math.max(this.durableIndex, write.lastIndex);
      completed += 1;
    }
    this.pending.splice(0, completed);
    assert(
      this.durableIndex <= this.log.lastIndex,
      () => `durable up to ${this.durableIndex} in a log up to ${this.log.lastIndex}`,
    );
  }

  /**
   * The record of this turn, or `undefined` if nothing changed. `snapshot`: the snapshot on which
   * the log is based from this record on, if that changed.
   */
  takeWrite(
    term: number,
    vote: NodeId,
    nowMs: number,
    snapshot: WrittenSnapshot | undefined,
  ): Write | undefined {
    if (snapshot === undefined && !this.isDirty(term, vote)) return undefined;
    assert(
      snapshot === undefined || snapshot.index < this.unwrittenFrom,
      () => `snapshot ${snapshot?.index} before entry ${this.unwrittenFrom} is written`,
    );
    const { lastIndex, lastTerm } = this.log;
    assert(lastTerm <= term, () => `an entry of term ${lastTerm} is written in term ${term}`);
    const hardStateChanged = term !== this.writtenTerm || vote !== this.writtenVote;
    this.lastSeq += 1;
    assert(Number.isSafeInteger(this.lastSeq), () => "write sequences are used up");
    const write: Write = {
      seq: this.lastSeq,
      hardState: hardStateChanged ? { term, vote } : undefined,
      truncateFrom: this.truncateFrom,
      snapshot,
      entries:
        this.unwrittenFrom <= lastIndex
          ? this.log.slice(this.unwrittenFrom, lastIndex)
          : NO_ENTRIES,
    };
    if (hardStateChanged) this.hardStateSeq = this.lastSeq;
    this.pending.push({ seq: this.lastSeq, lastIndex, handedOverMs: nowMs });
    this.writtenTerm = term;
    this.writtenVote = vote;
    this.truncateFrom = undefined;
    this.unwrittenFrom = lastIndex + 1;
    return write;
  }

  private isDirty(term: number, vote: NodeId): boolean {
    return (
      this.unwrittenFrom <= this.log.lastIndex ||
      this.truncateFrom !== undefined ||
      term !== this.writtenTerm ||
      vote !== this.writtenVote
    );
  }
}
