/**
 * A disk for one log and its snapshots: records become durable in the order they were handed over
 * and only when told to; a crash loses the rest. A snapshot is durable on its own; the log stands
 * on it when a record says so.
 */
import type { Boot, Configuration, SnapshotPoint, Write } from "../../../src/raft/index.js";
import { LogImage } from "./log-image.js";
import type { TableSnapshot } from "./simulated-table.js";

export class SimulatedDisk extends LogImage {
  /** Handed over and not durable, oldest first. */
  readonly pending: Write[] = [];
  private snapshots: TableSnapshot[] = [];
  private handedOverSeq = 0;

  /** What the log stands on; `undefined` for a log from its beginning. */
  get standing(): TableSnapshot | undefined {
    return this.snapshot === undefined ? undefined : this.stored(this.snapshot);
  }

  /** A snapshot, complete and durable; whether the log comes to name it is another matter. */
  store(snapshot: TableSnapshot): void {
    this.snapshots.push(snapshot);
  }

  /** A snapshot that was stored before. */
  stored(point: SnapshotPoint): TableSnapshot {
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

  override apply(write: Write): void {
    const { snapshot } = write;
    if (snapshot !== undefined) this.stored(snapshot);
    super.apply(write);
    if (snapshot === undefined) return;
    this.snapshots = this.snapshots.filter(({ index }) => index >= snapshot.index);
  }
}
