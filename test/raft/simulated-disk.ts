/**
 * A disk for one log: records become durable in the order they were handed over and only when told
 * to; a crash loses the rest. It refuses records that do not fit onto what is there.
 */
import type { Boot, Configuration, Entry, HardState, Write } from "../../src/raft/index.js";

export class SimulatedDisk {
  /** What a restart would find. */
  hardState: HardState = { term: 0, vote: 0 };
  entries: Entry[] = [];
  lastSeq = 0;
  /** Handed over and not durable, oldest first. */
  readonly pending: Write[] = [];
  private handedOverSeq = 0;

  get lastIndex(): number {
    return this.entries.length;
  }

  entryAt(index: number): Entry | undefined {
    return this.entries[index - 1];
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

  /** What was not durable is gone. */
  loseCache(): void {
    this.pending.length = 0;
    this.handedOverSeq = this.lastSeq;
  }

  boot(configuration: Configuration): Boot {
    return {
      hardState: this.hardState,
      baseIndex: 0,
      baseTerm: 0,
      entries: [...this.entries],
      configuration,
      lastSeq: this.lastSeq,
    };
  }

  private apply(write: Write): void {
    const { hardState, truncateFrom, entries, seq } = write;
    if (hardState !== undefined) {
      if (hardState.term < this.hardState.term) {
        throw new Error(`term on disk falls from ${this.hardState.term} to ${hardState.term}`);
      }
      const before = this.hardState;
      if (hardState.term === before.term && before.vote !== 0 && hardState.vote !== before.vote) {
        throw new Error(`vote of term ${before.term} changed from ${before.vote}`);
      }
      this.hardState = hardState;
    }
    if (truncateFrom !== undefined) {
      if (truncateFrom < 1 || truncateFrom > this.lastIndex) {
        throw new Error(`truncation at ${truncateFrom} of a disk up to ${this.lastIndex}`);
      }
      this.entries.length = truncateFrom - 1;
    }
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
}
