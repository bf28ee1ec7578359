/**
 * What can be seen of a node from outside: for its driver, for status, metrics and traces. Reading
 * changes nothing; what a getter says is true until the next `step` or `take`.
 */
import { quorumHeardMs } from "./leadership.js";
import { isTermInReach } from "./messages/message-check.js";
import { type PeerStatus, peerStatuses } from "./progress/status.js";
import { hasLiveLeader, type State } from "./state.js";
import type { Configuration, Entry, NodeId, Role } from "./types.js";

export class RaftView {
  protected readonly state: State;

  protected constructor(state: State) {
    this.state = state;
  }

  get id(): NodeId {
    return this.state.id;
  }

  get role(): Role {
    return this.state.role;
  }

  get term(): number {
    return this.state.term;
  }

  /** Whom this node voted for in `term`; 0 is nobody. */
  get vote(): NodeId {
    return this.state.vote;
  }

  /** The leader of the present term; 0 while unknown. */
  get leader(): NodeId {
    return this.state.leader;
  }

  get commitIndex(): number {
    return this.state.commitIndex;
  }

  get appliedIndex(): number {
    return this.state.appliedIndex;
  }

  get lastIndex(): number {
    return this.state.log.lastIndex;
  }

  get lastTerm(): number {
    return this.state.log.lastTerm;
  }

  /** The entry before `firstIndex`; 0 for a log from its beginning. */
  get baseIndex(): number {
    return this.state.log.baseIndex;
  }

  /** The term of the entry at `baseIndex`. */
  get baseTerm(): number {
    return this.state.log.baseTerm;
  }

  /** The first index that `entry` can be asked for, if the log holds any. */
  get firstIndex(): number {
    return this.state.log.baseIndex + 1;
  }

  /** Of the latest snapshot that is in force here, own or installed; 0 without one. */
  get snapshotIndex(): number {
    return this.state.compaction.snapshotIndex;
  }

  /** Counts now, committed or not. */
  get configuration(): Configuration {
    return this.state.configuration;
  }

  /**
   * Where `configuration` came with the log: a change is over when it is not joint and this index
   * is committed.
   */
  get configurationIndex(): number {
    return this.state.configurations.effectiveIndex;
  }

  /** The configuration in force at `index`, from `snapshotIndex` to the last entry. */
  configurationAt(index: number): Configuration {
    return this.state.configurations.at(index);
  }

  /** This leader is handing over and takes no proposals. */
  get isTransferring(): boolean {
    return this.state.leadership?.transfer !== undefined;
  }

  /** Entries this leader appended in its term that are not committed; 0 for everybody else. */
  get uncommittedEntries(): number {
    const { leadership, log, commitIndex } = this.state;
    if (leadership === undefined) return 0;
    return log.lastIndex - Math.max(commitIndex, leadership.firstIndex - 1);
  }

  /** The bytes of `uncommittedEntries`. */
  get uncommittedBytes(): number {
    return this.state.leadership?.uncommittedBytes ?? 0;
  }

  /**
   * Whether this node is in touch with a majority, as leader or through one, within an election
   * timeout. False from boot until the first such contact.
   */
  get hasQuorumContact(): boolean {
    const { leadership, nowMs, config } = this.state;
    if (leadership === undefined) return hasLiveLeader(this.state);
    return nowMs < quorumHeardMs(this.state, leadership) + config.electionTimeoutMs;
  }

  /** Whether elections can have led to `term`; the core drops messages of any other. */
  isTermInReach(term: number): boolean {
    return isTermInReach(term, this.state.knownTerm);
  }

  /** Whether the log holds exactly this entry, or stands on it. */
  matches(index: number, term: number): boolean {
    return this.state.log.matches(index, term);
  }

  /** The entry at `index`, which the log must hold. */
  entry(index: number): Entry {
    return this.state.log.entry(index);
  }

  /** Entries `from` … `to`, both included. The array is shared and must not be changed. */
  entries(from: number, to: number): readonly Entry[] {
    return this.state.log.slice(from, to);
  }

  /** Where the peers' logs stand, for status and metrics; empty unless this node leads. */
  get peers(): readonly PeerStatus[] {
    return peerStatuses(this.state);
  }
}
