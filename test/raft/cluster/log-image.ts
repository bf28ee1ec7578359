/**
 * The log that a restart would find after a sequence of records of the core. It throws at a record
 * that does not fit the ones before it: a correct core never writes such a record.
 */
import type {
  Entry,
  HardState,
  SnapshotPoint,
  Write,
  WrittenSnapshot,
} from "../../../src/raft/index.js";

export class LogImage {
  hardState: HardState = { term: 0, vote: 0 };
  /** The entry before the first one held. */
  baseIndex = 0;
  baseTerm = 0;
  entries: Entry[] = [];
  /** The snapshot before the first entry; `undefined` for a log from its beginning. */
  snapshot: SnapshotPoint | undefined = undefined;
  lastSeq = 0;

  get lastIndex(): number {
    return this.baseIndex + this.entries.length;
  }

  get snapshotIndex(): number {
    return this.snapshot?.index ?? 0;
  }

  entryAt(index: number): Entry | undefined {
    return this.entries[index - this.baseIndex - 1];
  }

  /** The term of what the log holds at `index`, its base included; 0 at 0. */
  termAt(index: number): number | undefined {
    return index === this.baseIndex ? this.baseTerm : this.entryAt(index)?.term;
  }

  apply(write: Write): void {
    const { hardState, truncateFrom, snapshot, entries, seq } = write;
    if (hardState !== undefined) this.#applyHardState(hardState);
    if (truncateFrom !== undefined) this.#truncate(truncateFrom);
    if (snapshot !== undefined) this.#standOn(snapshot);
    for (const entry of entries) {
      if (entry.index !== this.lastIndex + 1) {
        throw new Error(`entry ${entry.index} written after ${this.lastIndex}`);
      }
      if (entry.term > this.hardState.term) {
        throw new Error(`entry of term ${entry.term} durable in term ${this.hardState.term}`);
      }
      this.entries.push(entry);
    }
    this.lastSeq = seq;
  }

  #applyHardState(hardState: HardState): void {
    const before = this.hardState;
    if (hardState.term < before.term) {
      throw new Error(`term on disk falls from ${before.term} to ${hardState.term}`);
    }
    if (hardState.term === before.term && before.vote !== 0 && hardState.vote !== before.vote) {
      throw new Error(`vote of term ${before.term} changed from ${before.vote}`);
    }
    this.hardState = hardState;
  }

  #truncate(from: number): void {
    if (from <= Math.max(this.baseIndex, this.snapshotIndex) || from > this.lastIndex) {
      throw new Error(
        `truncation at ${from} of a disk of (${this.baseIndex}, ${this.lastIndex}], ` +
          `snapshot ${this.snapshotIndex}`,
      );
    }
    this.entries.length = from - this.baseIndex - 1;
  }

  #standOn({ index, term, checksum, isReset, keepFrom }: WrittenSnapshot): void {
    if (index <= this.snapshotIndex) {
      throw new Error(`snapshot ${index} replaces snapshot ${this.snapshotIndex}`);
    }
    if (keepFrom > index + 1 || (isReset && keepFrom !== index + 1)) {
      throw new Error(`snapshot ${index}, reset ${isReset}, keeps from ${keepFrom}`);
    }
    if (!isReset && this.termAt(index) !== term) {
      throw new Error(`snapshot ${index}@${term} of a log with term ${this.termAt(index)} there`);
    }
    if (isReset || keepFrom > this.baseIndex + 1) {
      const baseTerm = isReset ? term : this.termAt(keepFrom - 1);
      if (baseTerm === undefined) throw new Error(`log kept from ${keepFrom} lacks its base`);
      this.entries = isReset ? [] : this.entries.slice(keepFrom - 1 - this.baseIndex);
      this.baseIndex = keepFrom - 1;
      this.baseTerm = baseTerm;
    }
    this.snapshot = { index, term, checksum };
  }
}
