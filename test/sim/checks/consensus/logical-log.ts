/**
 * What a node's log contains after a sequence of writes, computed apart from the node: the
 * records that were handed over, applied one by one. Entries are never forgotten because a
 * snapshot replaced them.
 */
import type { Entry, HardState, Write } from "../../../../src/raft/index.js";
import type { LogBoot } from "../../../../src/storage/index.js";

/** How the log of a node that founds its cluster begins: empty, or after a restored snapshot. */
export interface LogOrigin {
  /** The index of the entry before the first; 0: there is none. */
  readonly index: number;
  readonly term: number;
}

export class LogicalLog {
  hardState: HardState = { term: 0, vote: 0 };
  /** Entries up to here may be missing: a snapshot that was installed has their effects. */
  coveredIndex = 0;
  coveredTerm = 0;
  /** No entry of this cluster has this index or a lower one. */
  readonly #origin: number;
  readonly #entries: (Entry | undefined)[] = [];
  /** The entries that change the members. */
  #configurations: Entry[] = [];

  /** An empty log. `origin`: the index before the first entry of the cluster. */
  constructor(origin = 0) {
    this.#origin = origin;
  }

  /** The log of a node that founds the cluster. */
  static founded({ index, term }: LogOrigin): LogicalLog {
    const log = new LogicalLog(index);
    log.hardState = { term, vote: 0 };
    log.coveredIndex = index;
    log.coveredTerm = term;
    return log;
  }

  get lastIndex(): number {
    const { length } = this.#entries;
    return length === 0 ? this.coveredIndex : this.#origin + length;
  }

  get lastTerm(): number {
    return this.#entries.at(-1)?.term ?? (this.lastIndex === 0 ? 0 : this.coveredTerm);
  }

  /** The last entry that changes the members, of those it still has. */
  get lastConfiguration(): Entry | undefined {
    return this.#configurations.at(-1);
  }

  entry(index: number): Entry | undefined {
    return this.#entries[index - this.#origin - 1];
  }

  /** Whether it has this very entry, or a snapshot that has. */
  holds(entry: Entry): boolean {
    const own = this.entry(entry.index);
    return own === undefined ? entry.index <= this.coveredIndex : isSameEntry(own, entry);
  }

  copy(): LogicalLog {
    const copy = new LogicalLog(this.#origin);
    copy.hardState = this.hardState;
    copy.coveredIndex = this.coveredIndex;
    copy.coveredTerm = this.coveredTerm;
    for (const entry of this.#entries) copy.#entries.push(entry);
    copy.#configurations = [...this.#configurations];
    return copy;
  }

  static of({ hardState, baseIndex, baseTerm, entries }: LogBoot, origin: number): LogicalLog {
    const log = new LogicalLog(origin);
    log.hardState = hardState;
    log.coveredIndex = baseIndex;
    log.coveredTerm = baseTerm;
    log.#entries.length = Math.max(0, baseIndex - origin);
    for (const entry of entries) log.#push(entry);
    return log;
  }

  apply({ hardState, truncateFrom, snapshot, entries }: Write): void {
    if (hardState !== undefined) this.hardState = hardState;
    if (truncateFrom !== undefined) this.#truncate(truncateFrom);
    if (snapshot?.isReset === true) {
      this.coveredIndex = snapshot.index;
      this.coveredTerm = snapshot.term;
      this.#truncate(this.#origin + 1);
      this.#entries.length = snapshot.index - this.#origin;
    }
    for (const entry of entries) this.#push(entry);
  }

  #push(entry: Entry): void {
    this.#entries[entry.index - this.#origin - 1] = entry;
    if (entry.kind === "configuration") this.#configurations.push(entry);
  }

  #truncate(from: number): void {
    this.#entries.length = from - this.#origin - 1;
    this.#configurations = this.#configurations.filter(({ index }) => index < from);
  }

  /** What is different in a log that was opened; `undefined` when it is this one. */
  differenceFrom({ hardState, baseIndex, entries }: LogBoot): string | undefined {
    const { term, vote } = this.hardState;
    if (hardState.term !== term || hardState.vote !== vote) {
      return `term ${hardState.term}, vote ${hardState.vote} instead of ${term}, ${vote}`;
    }
    const lastIndex = baseIndex + entries.length;
    if (lastIndex !== this.lastIndex) return `ends at ${lastIndex} instead of ${this.lastIndex}`;
    for (const entry of entries) {
      const own = this.entry(entry.index);
      if (own === undefined || !isSameEntry(own, entry)) return `entry ${entry.index} differs`;
    }
    return undefined;
  }
}

export function isSameEntry(left: Entry, right: Entry): boolean {
  if (left === right) return true;
  if (left.term !== right.term || left.kind !== right.kind) return false;
  return left.data === right.data || Buffer.compare(left.data, right.data) === 0;
}
