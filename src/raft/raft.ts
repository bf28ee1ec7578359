/**
 * The consensus core of one node, a deterministic function of its inputs: `step` takes what
 * happened, `take` returns what must be done. It never acts by itself: no clock, no timer, no I/O.
 * Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), and Ongaro's
 * thesis.
 */
import { assert, unreachable } from "../errors/index.js";
import { isSameConfiguration, isVoter } from "./configuration/configuration.js";
import {
  onBallot,
  onPreVote,
  onTimeoutNow,
  onVote,
  onVoteDurable,
  onVoterDown,
  requestBallot,
} from "./election.js";
import { onAppend, onHeartbeat, onUnusable } from "./follower.js";
import { InvariantWatch } from "./invariants.js";
import { commitByCounting, propose, quorumHeardMs, readIndex } from "./leader.js";
import {
  changeMembership,
  completeMembership,
  releaseLeaving,
  stepDownIfRemoved,
} from "./membership.js";
import { isPossible, isTermInReach } from "./messages/message-check.js";
import { idleEffects } from "./messages/outbox.js";
import {
  onAppendReply,
  onHeartbeatReply,
  onLogCut,
  onSnapshotFailed,
  replicate,
} from "./replication.js";
import { compact, onSnapshotReceived } from "./snapshot.js";
import {
  advanceApplied,
  cutLog,
  hasLiveLeader,
  hastenElection,
  isAwaited,
  type Leadership,
  noteLife,
  State,
} from "./state.js";
import { type PeerStatus, peerStatuses } from "./status.js";
import { advanceTime, nextDeadlineMs, runTimers } from "./timers.js";
import { abandonTransfer, advanceTransfer, transferLeadership } from "./transfer.js";
import type {
  Boot,
  Configuration,
  Effects,
  Entry,
  Input,
  Message,
  NodeId,
  RaftConfig,
  Random,
  Role,
  RoleChange,
} from "./types.js";

export class Raft {
  private readonly state: State;
  private readonly watch: InvariantWatch;
  /** The values that the caller knows, from the last `take`. */
  private toldRole: Role = "follower";
  private toldTerm: number;
  private toldLeader: NodeId = 0;
  private toldConfiguration: Configuration;
  private idle: Effects = idleEffects(0, 0);

  /**
   * `boot` is what the log on disk contains; `random` is a seeded source. Throws `InvariantError`
   * if the options or the log are inconsistent.
   */
  constructor(config: RaftConfig, boot: Boot, random: Random) {
    this.state = new State(config, boot, random);
    this.watch = new InvariantWatch(this.state);
    this.toldTerm = this.state.term;
    this.toldConfiguration = this.state.configuration;
  }

  /**
   * Takes one input. Never throws because of what a peer or a client sent; throws `InvariantError`
   * if the caller breaks its duties or the core is wrong.
   */
  step(input: Input): void {
    const { state } = this;
    switch (input.type) {
      case "message":
        if (isPossible(input.message, state.id, state.knownTerm)) this.receive(input.message);
        break;
      case "unusable":
        if (!isPossible(input.message, state.id, state.knownTerm)) break;
        noteLife(state, input.message.from);
        onUnusable(state, input.message);
        break;
      case "propose":
        propose(state, input.id, input.data);
        break;
      case "tick":
        advanceTime(state, input.nowMs);
        break;
      case "persisted":
        this.onPersisted(input.seq);
        break;
      case "applied":
        advanceApplied(state, input.index);
        break;
      case "peerUp":
        this.onPeerUp(input.peer, input.epoch);
        break;
      case "commitInterest":
        this.onCommitInterest(input.peer, input.isInterested);
        break;
      case "peerDown":
        this.onPeerDown(input.peer, input.epoch, input.closed);
        break;
      case "readIndex":
        readIndex(state, input.id);
        break;
      case "changeMembership":
        changeMembership(state, input.id, input.target);
        break;
      case "transferLeadership":
        transferLeadership(state, input.id, input.target);
        break;
      case "compact":
        compact(state, input.snapshot, input.keepFrom);
        break;
      case "snapshotReceived":
        onSnapshotReceived(state, input.from, input.term, input.epoch, input.snapshot);
        break;
      case "snapshotFailed":
        onSnapshotFailed(state, input.peer, input.epoch);
        break;
      default:
        unreachable(input);
    }
  }

  /**
   * What must be done now; see `Effects` for the order. To be called at the end of a turn, and
   * again in the same turn if the record was durable at once and that was stepped as `persisted`.
   */
  take(): Effects {
    const { state } = this;
    runTimers(state);
    if (state.leadership !== undefined) leadTurn(state, state.leadership);
    const { durability, outbox, compaction } = state;
    const snapshot = compaction.take(durability.lastSeq + 1);
    const write = durability.takeWrite(state.term, state.vote, state.nowMs, snapshot);
    const sendAfter = outbox.takeSendAfter(durability.lastSeq);
    const roleChange = this.takeRoleChange();
    const configuration = this.takeConfiguration();
    const deadlineMs = nextDeadlineMs(state);
    this.watch.check();
    const hasNews = roleChange !== undefined || configuration !== undefined;
    if (write === undefined && !hasNews && sendAfter.length === 0 && outbox.isEmpty) {
      return this.takeIdle(deadlineMs);
    }
    return {
      sendNow: outbox.now.take(),
      write,
      sendAfter,
      applyTo: state.commitIndex,
      accepted: outbox.accepted.take(),
      refused: outbox.refused.take(),
      roleChange,
      reads: outbox.reads.take(),
      readsRefused: outbox.readsRefused.take(),
      snapshotsWanted: outbox.snapshotsWanted.take(),
      restore: outbox.takeRestore(),
      configuration,
      transferEnded: outbox.takeTransferEnded(),
      nextDeadlineMs: deadlineMs,
    };
  }

  // The following getters change nothing and are valid until the next `step` or `take`.

  get id(): NodeId {
    return this.state.id;
  }

  get role(): Role {
    return this.state.role;
  }

  get term(): number {
    return this.state.term;
  }

  /** The node that this node voted for in `term`; 0 is none. */
  get vote(): NodeId {
    return this.state.vote;
  }

  /** The leader of the current term; 0 if unknown. */
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

  /** The index before `firstIndex`; 0 for a log from its beginning. */
  get baseIndex(): number {
    return this.state.log.baseIndex;
  }

  /** The term of the entry at `baseIndex`. */
  get baseTerm(): number {
    return this.state.log.baseTerm;
  }

  /** The first index for which `entry` can be called, if the log holds any. */
  get firstIndex(): number {
    return this.state.log.baseIndex + 1;
  }

  /** Index of the latest snapshot in force here, own or installed; 0 without one. */
  get snapshotIndex(): number {
    return this.state.compaction.snapshotIndex;
  }

  /** In force, committed or not. */
  get configuration(): Configuration {
    return this.state.configuration;
  }

  /**
   * The index of the entry with `configuration`: a change is over when it is not joint and this
   * index is committed.
   */
  get configurationIndex(): number {
    return this.state.configurationHistory.effectiveIndex;
  }

  /** The configuration in force at `index`, from `snapshotIndex` to the last entry. */
  configurationAt(index: number): Configuration {
    return this.state.configurationHistory.at(index);
  }

  /** Whether this leader is handing over and takes no proposals. */
  get isTransferring(): boolean {
    return this.state.leadership?.transfer !== undefined;
  }

  /**
   * Entries that this leader appended in its term and that are not committed; 0 if it does not
   * lead.
   */
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
   * Whether this node has had contact with a majority, as leader or through one, within an election
   * timeout. False from boot until the first such contact.
   */
  get hasQuorumContact(): boolean {
    const { leadership, nowMs, config } = this.state;
    if (leadership === undefined) return hasLiveLeader(this.state);
    return nowMs < quorumHeardMs(this.state, leadership) + config.electionTimeoutMs;
  }

  /** Whether elections can have led to `term`; the core drops messages of other terms. */
  isTermInReach(term: number): boolean {
    return isTermInReach(term, this.state.knownTerm);
  }

  /** Whether the log holds exactly this entry, or has it as its base. */
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

  /** How far the peers' logs are, for status and metrics; empty if this node does not lead. */
  get peers(): readonly PeerStatus[] {
    return peerStatuses(this.state);
  }

  private receive(message: Message): void {
    const { state } = this;
    noteLife(state, message.from);
    switch (message.type) {
      case "preVote":
        onPreVote(state, message);
        break;
      case "vote":
        onVote(state, message);
        break;
      case "preVoteReply":
      case "voteReply":
        onBallot(state, message);
        break;
      case "append":
        onAppend(state, message);
        break;
      case "appendReply":
        onAppendReply(state, message);
        break;
      case "heartbeat":
        onHeartbeat(state, message);
        break;
      case "heartbeatReply":
        onHeartbeatReply(state, message);
        break;
      case "timeoutNow":
        onTimeoutNow(state, message);
        break;
      default:
        unreachable(message);
    }
  }

  private onPersisted(seq: number): void {
    const { state } = this;
    const { leadership, durability } = state;
    const { oldestPendingMs, persistedSeq } = durability;
    durability.onPersisted(seq);
    if (durability.persistedSeq > persistedSeq) {
      leadership?.ownDisk.onAnswer(oldestPendingMs, state.nowMs, state.stoodStillMs);
    }
    const isCut = cutLog(state, seq);
    if (leadership === undefined) {
      onVoteDurable(state);
      return;
    }
    if (isCut) onLogCut(state, leadership);
    commitByCounting(state, leadership);
  }

  private onPeerUp(peer: NodeId, epoch: number): void {
    const { state } = this;
    assert(Number.isSafeInteger(epoch) && epoch > 0, () => `epoch ${epoch} of peer ${peer}`);
    if (!state.links.up(peer, epoch)) return;
    noteLife(state, peer);
    const progress = state.leadership?.progressOf(peer);
    if (!isVoter(state.configuration, peer)) progress?.forget();
    progress?.reconnect(epoch, state.log.baseIndex);
    requestBallot(state, peer);
  }

  private onPeerDown(peer: NodeId, epoch: number, closed: boolean): void {
    const { state } = this;
    if (!state.links.down(peer, epoch, closed, state.nowMs)) return;
    const { leadership } = state;
    if (leadership !== undefined) {
      leadership.progressOf(peer)?.reconnect(0, state.log.baseIndex);
      if (leadership.transfer?.target === peer) abandonTransfer(state, leadership);
    }
    onVoterDown(state);
    if (closed && isAwaited(state, peer)) hastenElection(state);
  }

  private onCommitInterest(peer: NodeId, isInterested: boolean): void {
    const progress = this.state.leadership?.progressOf(peer);
    if (progress !== undefined) progress.isCommitWanted = isInterested;
  }

  /** The same object while nothing changes but time. */
  private takeIdle(deadlineMs: number): Effects {
    const { commitIndex } = this.state;
    const { idle } = this;
    if (idle.applyTo === commitIndex && idle.nextDeadlineMs === deadlineMs) return idle;
    this.idle = idleEffects(commitIndex, deadlineMs);
    return this.idle;
  }

  private takeConfiguration(): Configuration | undefined {
    const { configuration } = this.state;
    const told = this.toldConfiguration;
    if (configuration === told) return undefined;
    this.toldConfiguration = configuration;
    return isSameConfiguration(configuration, told) ? undefined : configuration;
  }

  private takeRoleChange(): RoleChange | undefined {
    const { role, term, leader } = this.state;
    if (role === this.toldRole && term === this.toldTerm && leader === this.toldLeader) {
      return undefined;
    }
    this.toldRole = role;
    this.toldTerm = term;
    this.toldLeader = leader;
    return { role, term, leader };
  }
}

/**
 * What a leader does at the end of every turn, in this order. Nothing here waits: what cannot be
 * done yet is looked at again in the next turn.
 */
function leadTurn(state: State, leadership: Leadership): void {
  if (leadership.isChangeOpen) completeMembership(state, leadership);
  replicate(state, leadership);
  if (leadership.transfer !== undefined) advanceTransfer(state, leadership);
  if (leadership.leavingCount > 0) releaseLeaving(state, leadership);
  if (leadership.isChangeOpen) stepDownIfRemoved(state, leadership);
}
