/**
 * A disk for one log and its snapshots: records become durable in the order they were handed over
 * and only when told to; a crash loses the rest. It refuses records that do not fit onto what is
 * there. A snapshot is durable on its own; the log stands on it when a record says so.
 */
import type {
  Boot,
  Configuration,
  Entry,
  HardState,
  SnapshotPoint,
  Write,
  WrittenSnapshot,
} from "../../../src/raft/index.js";
import type { TableSnapshot } from "./simulated-table.js";

export class SimulatedDisk {
  /** What a restart would find. */
  hardState: HardState = { term: 0, vote: 0 };
  /** The entry before the first one held. */
  baseIndex = 0;
  baseTerm = 0;
  entries: Entry[] = [];
  /** What the log stands on; `undefined` for a log from its beginning. */
  standing: TableSnapshot | undefined = undefined;
  lastSeq = 0;
  /** Handed over and not durable, oldest first. */
  readonly pending: Write[] = [];
  private snapshots: TableSnapshot[] = [];
  private handedOverSeq = 0;

  get lastIndex(): number {
    return this.baseIndex + this.entries.length;
  }

  get snapshotIndex(): number {
    return this.standing?.index ?? 0;
  }

  entryAt(index: number): Entry | undefined {
    return this.entries[index - this.baseIndex - 1];
  }

  /** The term of what the log holds at `index`, its base included; 0 at 0. */
  termAt(index: number): number | undefined {
    return index === this.baseIndex ? this.baseTerm : this.entryAt(index)?.term;
  }

  /** A snapshot, complete and durable; whether the log comes to name it is another matter. */
  store(snapshot: TableSnapshot): void {
    this.snapshots.push(snapshot);
  }

  /** A snapshot that was stored before. */
  snapshot(point: SnapshotPoint): TableSnapshot {
    const found = this.snapshots.find(
      ({ index, term, checksum }) =>
        index === point.index && term === point.term && checksum === point.checksum,
    );
    if (found === undefined)
      throw new Error(`snapshot ${point.index}@${point.term} was not stored`);
    return found;
  }

  hold(write: Write): void {
    if (write.seq <= this.handedOverSeq) {
      throw new Error(`write ${write.seq} handed over after ${this.handedOverSeq}`);
    }
    this.handedOverSeq = write.seq;
    this.pending.push(write);
  }

  /** Makes the oldest `count` records durable. Returns the sequence reached, 0 for none. */
  persist(count: number): number {
    const writes = this.pending.splice(0, count);
    for (const write of writes) this.apply(write);
    return writes.at(-1)?.seq ?? 0;
  }

  /** What was not durable is gone, and so is every snapshot that the log does not name. */
  loseCache(): void {
    this.pending.length = 0;
    this.handedOverSeq = this.lastSeq;
    this.snapshots = this.standing === undefined ? [] : [this.standing];
  }

  /** `configuration`: in force at the beginning of the log. */
  boot(configuration: Configuration): Boot {
    return {
      hardState: this.hardState,
      baseIndex: this.baseIndex,
      baseTerm: this.baseTerm,
      entries: [...this.entries],
      snapshotIndex: this.snapshotIndex,
      configuration: this.standing?.configuration ?? configuration,
      lastSeq: this.lastSeq,
    };
  }

  private apply(write: Write): void {
    const { hardState, truncateFrom, snapshot, entries, seq } = write;
    if (hardState !== undefined) this.applyHardState(hardState);
    if (truncateFrom !== undefined) this.truncate(truncateFrom);
    if (snapshot !== undefined) this.standOn(snapshot);
    for (const entry of entries) {
      if (entry.index !== this.lastIndex + 1) {
        throw new Error(`entry ${entry.index} written behind ${this.lastIndex}`);
      }
      if (entry.term > this.hardState.term) {
        throw new Error(`entry of term ${entry.term} durable in term ${this.hardState.term}`);
      }
      this.entries.push(entry);
    }
    this.lastSeq = seq;
  }

  private applyHardState(hardState: HardState): void {
    const before = this.hardState;
    if (hardState.term < before.term) {
      throw new Error(`term on disk falls from ${before.term} to ${hardState.term}`);
    }
    if (hardState.term === before.term && before.vote !== 0 && hardState.vote !== before.vote) {
      throw new Error(`vote of term ${before.term} changed from ${before.vote}`);
    }
    this.hardState = hardState;
  }

  private truncate(from: number): void {
    if (from <= Math.max(this.baseIndex, this.snapshotIndex) || from > this.lastIndex) {
      throw new Error(
        `truncation at ${from} of a disk of (${this.baseIndex}, ${this.lastIndex}], ` +
          `snapshot ${this.snapshotIndex}`,
      );
    }
    this.entries.length = from - this.baseIndex - 1;
  }

  private standOn(written: WrittenSnapshot): void {
    const { index, term, isReset, keepFrom } = written;
    const snapshot = this.snapshot(written);
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
    this.standing = snapshot;
    this.snapshots = this.snapshots.filter((stored) => stored.index >= index);
  }
}
