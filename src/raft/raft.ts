/**
 * The consensus core of one node, a deterministic function of its inputs: `step` takes what
 * happened, `take` gives what is to be done. It must never do anything itself: no clock, no timer,
 * no I/O. Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm" (2014), and
 * Ongaro's thesis.
 */
import { assert, unreachable } from "../assert.js";
import { onBallot, onPreVote, onVote, onVoterDown, requestBallot } from "./election.js";
import { onAppend, onHeartbeat } from "./follower.js";
import { InvariantWatch } from "./invariants.js";
import { commitByCounting, propose, quorumHeardMs } from "./leadership.js";
import { isPossible } from "./message-check.js";
import { idleEffects } from "./outbox.js";
import { onAppendReply, onHeartbeatReply, replicate } from "./replication.js";
import { hasLiveLeader, hastenElection, State } from "./state.js";
import { advanceTime, nextDeadlineMs, runTimers } from "./timers.js";
import type {
  Boot,
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

/** What a leader knows of one peer. */
export interface PeerStatus {
  readonly id: NodeId;
  readonly isConnected: boolean;
  readonly mode: "probe" | "replicate";
  /** The peer's log is durable and equal to the leader's up to here. */
  readonly matchIndex: number;
  readonly nextIndex: number;
}

export class Raft {
  private readonly state: State;
  private readonly watch: InvariantWatch;
  /** What the caller was told last. */
  private toldRole: Role = "follower";
  private toldTerm: number;
  private toldLeader: NodeId = 0;
  private idle: Effects = idleEffects(0, 0);

  /**
   * `boot` is what the log on disk held; `random` a seeded source. Throws `InvariantError` when
   * the options or the log contradict themselves.
   */
  constructor(config: RaftConfig, boot: Boot, random: Random) {
    this.state = new State(config, boot, random);
    this.watch = new InvariantWatch(this.state);
    this.toldTerm = this.state.term;
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

  /** The entry at `index`, which the log must hold. */
  entry(index: number): Entry {
    return this.state.log.entry(index);
  }

  /** Entries `from` … `to`, both included. The array is shared and must not be changed. */
  entries(from: number, to: number): readonly Entry[] {
    return this.state.log.slice(from, to);
  }

  /**
   * Takes one input. Throws nothing on what a peer or a client sent; `InvariantError` when the
   * caller breaks its duties or the core is wrong.
   */
  step(input: Input): void {
    const { state } = this;
    switch (input.type) {
      case "message":
        if (isPossible(input.message, state.id)) this.receive(input.message);
        break;
      case "propose":
        propose(state, input.id, input.data);
        break;
      case "tick":
        advanceTime(state, input.nowMs);
        break;
      case "persisted":
        state.durability.onPersisted(input.seq);
        if (state.leadership !== undefined) commitByCounting(state, state.leadership);
        break;
      case "applied":
        this.onApplied(input.index);
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
      default:
        unreachable(input);
    }
  }

  /** What is to be done now; see `Effects` for the order. To be called once, at a turn's end. */
  take(): Effects {
    const { state } = this;
    runTimers(state);
    if (state.leadership !== undefined) replicate(state, state.leadership);
    const { durability, outbox } = state;
    const write = durability.takeWrite(state.term, state.vote, state.nowMs);
    const sendAfter = outbox.takeSendAfter(durability.lastSeq);
    const roleChange = this.takeRoleChange();
    const deadlineMs = nextDeadlineMs(state);
    this.watch.check();
    if (write === undefined && roleChange === undefined && sendAfter.length + outbox.size === 0) {
      return this.takeIdle(deadlineMs);
    }
    return {
      sendNow: outbox.takeSendNow(),
      write,
      sendAfter,
      applyTo: state.commitIndex,
      accepted: outbox.takeAccepted(),
      refused: outbox.takeRefused(),
      roleChange,
      nextDeadlineMs: deadlineMs,
    };
  }

  /** Where the peers' logs stand, for status and metrics; empty unless this node leads. */
  get peers(): readonly PeerStatus[] {
    const peers = this.state.leadership?.peers ?? [];
    return peers.map(({ id, isConnected, mode, match, next }) => ({
      id,
      isConnected,
      mode,
      matchIndex: match,
      nextIndex: next,
    }));
  }

  private receive(message: Message): void {
    const { state } = this;
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
      default:
        unreachable(message);
    }
  }

  private onApplied(index: number): void {
    const { state } = this;
    assert(
      index >= state.appliedIndex && index <= state.commitIndex,
      () => `applied ${index} after ${state.appliedIndex}, commit ${state.commitIndex}`,
    );
    state.appliedIndex = index;
  }

  private onPeerUp(peer: NodeId, epoch: number): void {
    const { state } = this;
    assert(Number.isSafeInteger(epoch) && epoch > 0, () => `epoch ${epoch} of peer ${peer}`);
    if (!state.links.up(peer, epoch)) return;
    state.leadership?.progressOf(peer)?.reconnect(epoch);
    requestBallot(state, peer);
  }

  private onPeerDown(peer: NodeId, epoch: number, closed: boolean): void {
    const { state } = this;
    if (!state.links.down(peer, epoch, closed, state.nowMs)) return;
    state.leadership?.progressOf(peer)?.reconnect(0);
    onVoterDown(state);
    if (closed && peer === state.leader) hastenElection(state);
  }

  private onCommitInterest(peer: NodeId, isInterested: boolean): void {
    const progress = this.state.leadership?.progressOf(peer);
    if (progress !== undefined) progress.isCommitWanted = isInterested;
  }

  /** The same object for as long as nothing moves but time. */
  private takeIdle(deadlineMs: number): Effects {
    const { commitIndex } = this.state;
    const { idle } = this;
    if (idle.applyTo === commitIndex && idle.nextDeadlineMs === deadlineMs) return idle;
    this.idle = idleEffects(commitIndex, deadlineMs);
    return this.idle;
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
