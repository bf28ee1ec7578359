/**
 * Replays the bodies of records, in order, into the contents of the log. Checks everything that
 * CRCs cannot: that entries follow each other without gaps, that terms do not fall, that snapshots
 * agree with the log. Data of entries are views of the buffer that is passed in.
 */
import { ENTRY_KINDS, type Entry, type HardState, type SnapshotPoint } from "../../raft/index.js";
import { readUint53 } from "../disk-bytes.js";
import { LogOutline } from "./log-outline.js";
import { FIRST_KIND, SECTION } from "./record-format.js";
import { readSnapshotPoint, type SegmentBase, SNAPSHOT_POINT_BYTES } from "./segment-base.js";
import { SegmentList } from "./segment-list.js";

export class LogReplay {
  readonly outline: LogOutline;
  readonly segments = new SegmentList();
  /** Everything after the base of the outline. */
  readonly entries: Entry[] = [];
  #hardState: HardState;
  #snapshot: SnapshotPoint | undefined;

  /** `base` is the base of the first segment; `undefined` for a log without segments. */
  constructor(base: SegmentBase | undefined) {
    this.outline = new LogOutline(base?.lastIndex ?? 0, base?.lastTerm ?? 0);
    this.#hardState = base?.hardState ?? { term: 0, vote: 0 };
    this.#snapshot = base?.snapshot;
  }

  get hardState(): HardState {
    return this.#hardState;
  }

  /** The snapshot on which the log is based. */
  get snapshot(): SnapshotPoint | undefined {
    return this.#snapshot;
  }

  /** Whether a segment with this base continues the log at its current end. */
  isContinuedBy({ hardState, lastIndex, lastTerm, snapshot }: SegmentBase): boolean {
    return (
      hardState.term === this.#hardState.term &&
      hardState.vote === this.#hardState.vote &&
      lastIndex === this.outline.lastIndex &&
      lastTerm === this.outline.lastTerm &&
      snapshot?.index === this.#snapshot?.index &&
      snapshot?.term === this.#snapshot?.term &&
      snapshot?.checksum === this.#snapshot?.checksum
    );
  }

  /** To be called at the end: why the log cannot begin where it does; `undefined` if it can. */
  judgeBase(): string | undefined {
    const { baseIndex, lastIndex } = this.outline;
    const { index } = this.#snapshot ?? { index: 0 };
    if (index >= baseIndex && index <= lastIndex) return undefined;
    const reach = `it has the entries ${baseIndex + 1} to ${lastIndex}`;
    return index === 0 ? `${reach} and no snapshot` : `${reach} and the snapshot of ${index}`;
  }

  /**
   * Applies the body from `from` to before `to`. Returns what is wrong with it, after which the
   * replay cannot be used any more, or `undefined`.
   */
  apply(source: Buffer, from: number, to: number): string | undefined {
    let at = from;
    try {
      while (at < to) {
        const tag = source.readUInt8(at);
        if (tag === SECTION.hardState) at = this.#applyHardState(source, at + 1);
        else if (tag === SECTION.truncate) at = this.#applyTruncation(source, at + 1);
        else if (tag === SECTION.snapshot) at = this.#applySnapshot(source, at + 1);
        else if (tag === SECTION.batch) at = this.#applyBatch(source, at + 1);
        else throw new RangeError(`unknown section ${tag}`);
      }
    } catch (error) {
      if (error instanceof RangeError) return error.message;
      throw error;
    }
    return at === to ? undefined : "the last section is longer than the record";
  }

  #applyHardState(source: Buffer, at: number): number {
    const hardState = { term: readUint53(source, at), vote: source.readUInt32LE(at + 8) };
    if (!Number.isSafeInteger(hardState.term) || hardState.term < this.#hardState.term) {
      throw new RangeError(`term ${hardState.term} after ${this.#hardState.term}`);
    }
    this.#hardState = hardState;
    return at + 12;
  }

  #applyTruncation(source: Buffer, at: number): number {
    const from = readUint53(source, at);
    if (!this.outline.canTruncateFrom(from)) {
      throw new RangeError(`truncation from ${from} of a log to ${this.outline.lastIndex}`);
    }
    this.outline.truncateFrom(from);
    this.entries.length = from - 1 - this.outline.baseIndex;
    this.segments.truncated(from);
    return at + 8;
  }

  #applySnapshot(source: Buffer, at: number): number {
    const snapshot = readSnapshotPoint(source, at);
    const { index, term } = snapshot;
    const end = at + SNAPSHOT_POINT_BYTES + 9;
    const keepFrom = readUint53(source, end - 9);
    const isReset = source.readUInt8(end - 1) === 1;
    if (!Number.isSafeInteger(index) || index < Math.max(1, this.#snapshot?.index ?? 0)) {
      throw new RangeError(`a snapshot at ${index} after one at ${this.#snapshot?.index ?? 0}`);
    }
    if (isReset) {
      this.outline.reset(index, term);
      this.entries.length = 0;
    } else if (index > this.outline.lastIndex || !this.#agrees(index, term)) {
      const { lastIndex, lastTerm } = this.outline;
      const last = `entry ${lastIndex} of term ${lastTerm}`;
      throw new RangeError(`a snapshot of entry ${index} of term ${term} in a log to ${last}`);
    }
    this.#snapshot = snapshot;
    this.segments.stands({ isReset, keepFrom });
    return end;
  }

  /** Whether the entry has this term, if the log goes back that far. */
  #agrees(index: number, term: number): boolean {
    return index < this.outline.baseIndex || this.outline.termOf(index) === term;
  }

  #applyBatch(source: Buffer, from: number): number {
    const first = readUint53(source, from);
    const term = readUint53(source, from + 8);
    const count = source.readUInt32LE(from + 16);
    if (!this.outline.canAppend(first, term) || !Number.isSafeInteger(term) || count === 0) {
      const { lastIndex, lastTerm } = this.outline;
      const batch = `${count} entries from ${first} of term ${term}`;
      throw new RangeError(`${batch} after entry ${lastIndex} of term ${lastTerm}`);
    }
    let at = from + 20;
    for (let index = first; index < first + count; index += 1) {
      const kind = ENTRY_KINDS[source.readUInt8(at) - FIRST_KIND];
      const length = source.readUInt32LE(at + 1);
      at += 5;
      if (kind === undefined || at + length > source.length) {
        throw new RangeError(`entry ${index} has a wrong kind or length`);
      }
      const data = new Uint8Array(source.buffer, source.byteOffset + at, length);
      this.entries.push({ index, term, kind, data });
      this.outline.append(index, term);
      at += length;
    }
    return at;
  }
}
