/**
 * What a cluster has ever shown and can never take back: leaders by term, votes, entries by
 * index and term, and the one history of committed entries with the table after each of them.
 */
import type { Configuration, Entry, NodeId } from "../../../src/raft/index.js";
import { configurationOf } from "./configurations.js";
import { EMPTY_TABLE, tableAfter } from "./simulated-table.js";

interface SeenEntry {
  readonly entry: Entry;
  readonly previousTerm: number;
}

export interface CommittedEntry {
  readonly entry: Entry;
  /** The term of the node that first held it for committed. */
  readonly inTerm: number;
  /** The table with everything up to this entry. */
  readonly table: number;
  /** In force at this entry. */
  readonly configuration: Configuration;
}

export class ClusterHistory {
  readonly committed: CommittedEntry[] = [];
  private readonly initial: Configuration;
  private readonly leaders = new Map<number, NodeId>();
  private readonly votes = new Map<string, NodeId>();
  private readonly entries = new Map<string, SeenEntry>();

  /** `initial`: in force before the first entry. */
  constructor(initial: Configuration) {
    this.initial = initial;
  }

  /** The last index that anybody ever held for committed. */
  get committedIndex(): number {
    return this.committed.length;
  }

  leaderOf(term: number): NodeId | undefined {
    return this.leaders.get(term);
  }

  /** Election safety: one leader for a term. */
  onLeader(term: number, id: NodeId): void {
    const before = this.leaders.get(term);
    must(
      before === undefined || before === id,
      () => `election safety: ${before} and ${id} lead term ${term}`,
    );
    this.leaders.set(term, id);
  }

  /** One vote of one node in a term, across restarts. */
  onVote(voter: NodeId, term: number, candidate: NodeId): void {
    const key = `${voter}@${term}`;
    const before = this.votes.get(key);
    must(
      before === undefined || before === candidate,
      () => `${voter} votes for ${before} and ${candidate} in term ${term}`,
    );
    this.votes.set(key, candidate);
  }

  /** Whom `voter` told in `term` that it votes for it. */
  voteOf(voter: NodeId, term: number): NodeId | undefined {
    return this.votes.get(`${voter}@${term}`);
  }

  /** A node whose disk was replaced knows nothing of the votes it gave. */
  forgetVotes(voter: NodeId): void {
    for (const key of this.votes.keys()) {
      if (key.startsWith(`${voter}@`)) this.votes.delete(key);
    }
  }

  /** Log matching: index and term of an entry settle it and everything before it. */
  onEntry(entry: Entry, previousTerm: number, id: NodeId): void {
    const key = `${entry.index}@${entry.term}`;
    const seen = this.entries.get(key);
    if (seen === undefined) {
      this.entries.set(key, { entry, previousTerm });
      return;
    }
    must(
      seen.previousTerm === previousTerm && isSame(seen.entry, entry),
      () => `log matching: two entries ${entry.index} of term ${entry.term}, at ${id}`,
    );
  }

  /** State-machine safety: what was committed once is never contradicted. */
  onCommitted(entry: Entry, inTerm: number, id: NodeId): void {
    const known = this.committed[entry.index - 1];
    if (known !== undefined) {
      must(
        isSame(known.entry, entry),
        () => `state machine safety: two committed entries ${entry.index}, at ${id}`,
      );
      return;
    }
    must(
      entry.index === this.committed.length + 1,
      () => `${id} commits ${entry.index}, of which nobody knows what comes before`,
    );
    this.committed.push({
      entry,
      inTerm,
      table: tableAfter(this.tableAt(entry.index - 1), entry),
      configuration:
        entry.kind === "configuration"
          ? configurationOf(entry)
          : this.configurationAt(entry.index - 1),
    });
  }

  /** The one table that the entries up to `index` lead to. */
  tableAt(index: number): number {
    return this.committed[index - 1]?.table ?? EMPTY_TABLE;
  }

  /** In force at a committed `index`. */
  configurationAt(index: number): Configuration {
    return this.committed[index - 1]?.configuration ?? this.initial;
  }
}

export function isSame(left: Entry, right: Entry): boolean {
  return left.term === right.term && left.kind === right.kind && left.data === right.data;
}

/** A broken invariant of the cluster, as against one that the core asserted itself. */
export function must(condition: boolean, message: () => string): void {
  if (!condition) throw new Error(message());
}
