/**
 * The state of one node (Raft paper, figure 2) and its transitions. Each field of `State` is
 * assigned in this file and nowhere else, so that rules 4 and 6 hold in one place. This file
 * neither decides elections nor replicates.
 */
import { assert } from "../errors/index.js";
import { Compaction } from "./compaction.js";
import { isJoint, isVoter, membersOf } from "./configuration/configuration.js";
import { ConfigurationHistory } from "./configuration/configuration-history.js";
import { Durability } from "./durability.js";
import { RaftLog } from "./log.js";
import { Links } from "./messages/links.js";
import { Outbox } from "./messages/outbox.js";
import { Progress } from "./progress/progress.js";
import { RoundTrip } from "./progress/round-trip.js";
import { ReadRounds } from "./read-rounds.js";
import type {
  Boot,
  Configuration,
  Entry,
  InstalledSnapshot,
  NodeId,
  RaftConfig,
  Random,
  Role,
} from "./types.js";

/** How long a removed peer has to learn of its removal, in election timeouts. */
const LEAVING_TIMEOUTS_MAX = 4;

const NEVER_MS = Number.NEGATIVE_INFINITY;

/** The most election timeouts after which a candidate stands again. */
const SPLIT_TIMEOUTS_MAX = 4;

export class State {
  readonly config: RaftConfig;
  readonly random: Random;
  readonly log: RaftLog;
  readonly durability: Durability;
  readonly links = new Links();
  readonly outbox = new Outbox();
  readonly configurationHistory: ConfigurationHistory;
  readonly compaction: Compaction;

  /** Never falls. Durable before any message that depends on it is sent. */
  term: number;
  /** The node that this node voted for in `term`; 0 is none. Cleared only when the term rises. */
  vote: NodeId;
  /** When this process entered `term`; `NEVER_MS` if only an earlier one did. */
  termBeganMs = NEVER_MS;
  /** When this process first cast `vote`; `NEVER_MS` if only an earlier one did. */
  votedAtMs = NEVER_MS;
  role: Role = "follower";
  /** The leader of `term` if known; 0 if unknown, and always for (pre-)candidates. */
  leader: NodeId = 0;
  /** Defined if and only if `role` is `leader`. */
  leadership: Leadership | undefined = undefined;
  /** Answers of the (pre-)election under way. */
  readonly ballots = new Map<NodeId, boolean>();
  /** The candidate stands because the last leader asked it to. */
  isTransferElection = false;
  /** The leader that was silent for an election timeout and has not been heard since; 0: none. */
  silentLeader: NodeId = 0;
  /** How often this node stood and lost since it last knew a leader. */
  lostElections = 0;

  /** Never falls; at most the last index; at least `appliedIndex`. */
  commitIndex: number;
  appliedIndex: number;
  /** Index of the snapshot that is replacing the table; 0: the table is complete. */
  restoringIndex = 0;

  /** The time of this turn; 0 until the first tick. */
  nowMs = 0;
  hasTime = false;
  /** This turn is late by more than a heartbeat interval. */
  isLate = false;
  /** The last turn that was late by more than `spareDelayMs`. */
  stoodStillMs = Number.NEGATIVE_INFINITY;
  electionDeadlineMs = 0;
  /** When the leader of this term was last heard. */
  leaderContactMs = Number.NEGATIVE_INFINITY;
  /** An election timeout was already attributed to a pause of this process. */
  isPauseForgiven = false;

  constructor(config: RaftConfig, boot: Boot, random: Random) {
    assertConfig(config);
    const { baseIndex, entries, snapshotIndex } = boot;
    this.config = config;
    this.random = random;
    this.log = new RaftLog(baseIndex, boot.baseTerm, entries);
    assert(
      snapshotIndex >= baseIndex && snapshotIndex <= this.log.lastIndex,
      () => `snapshot ${snapshotIndex} of a log of (${baseIndex}, ${this.log.lastIndex}]`,
    );
    this.configurationHistory = new ConfigurationHistory(snapshotIndex, boot.configuration);
    for (const entry of entries) {
      const isNewer = entry.kind === "configuration" && entry.index > snapshotIndex;
      if (isNewer) this.configurationHistory.append(entry);
    }
    this.compaction = new Compaction(baseIndex, snapshotIndex);
    this.durability = new Durability(this.log, boot.hardState, boot.lastSeq);
    const { term, vote } = boot.hardState;
    assert(Number.isSafeInteger(term) && term >= 0, () => `boot with term ${term}`);
    assert(this.log.lastTerm <= term, () => `term ${term}, log of term ${this.log.lastTerm}`);
    this.term = term;
    this.vote = vote;
    this.commitIndex = snapshotIndex;
    this.appliedIndex = snapshotIndex;
  }

  /** In force from the moment its entry is in the log, committed or not (consensus rule 9). */
  get configuration(): Configuration {
    return this.configurationHistory.effective;
  }

  /**
   * The term with which other terms are compared; `undefined` if this node does not know its
   * cluster.
   */
  get knownTerm(): number | undefined {
    return this.term === 0 && membersOf(this.configuration).length === 0 ? undefined : this.term;
  }

  get id(): NodeId {
    return this.config.id;
  }
}

/** A transfer of leadership that is under way. */
export interface Transfer {
  readonly id: number;
  readonly target: NodeId;
  readonly deadlineMs: number;
  /** The target was told to stand. */
  isTold: boolean;
}

/** What exists only while a node leads, for the length of its term. */
export class Leadership {
  readonly term: number;
  /** When this term began, which counts as a sign of life of every peer. */
  readonly startedMs: number;
  /** The index of this term's no-op. */
  readonly firstIndex: number;
  /** Every other member, and removed peers that may not know of their removal. */
  peers: readonly Progress[] = [];
  /** The configuration is joint, or this leader is not a voter: the change must be completed. */
  isChangeOpen: boolean;
  /** The number of removed `peers`. */
  leavingCount = 0;
  readonly reads = new ReadRounds();
  /** When a turn is due because a front is late or a spare has waited long enough (`majority-first.ts`). */
  frontsDeadlineMs = Number.POSITIVE_INFINITY;
  /** How long records of this leader take to become durable. */
  readonly ownDisk = new RoundTrip();
  /** While it is defined, nothing is proposed. */
  transfer: Transfer | undefined = undefined;
  private readonly byId = new Map<NodeId, Progress>();
  /** The latest heartbeat round of this term. */
  round = 0;
  heartbeatDeadlineMs: number;
  /** No check can fail before this time. */
  checkDeadlineMs: number;
  /** When a failed check was last attributed to a pause of this process. */
  pauseForgivenMs = Number.NEGATIVE_INFINITY;
  /** Bytes of this term's entries that are not committed. */
  uncommittedBytes = 0;
  /** How far the log of a member is known to be durable; this node's log too (rule 19). */
  readonly matchOf: (id: NodeId) => number;
  /** When a member last answered; for this node, now. */
  readonly heardMsOf: (id: NodeId) => number;
  /** The latest round of this term that a member answered; for this node, the latest one. */
  readonly roundOf: (id: NodeId) => number;

  constructor(state: State) {
    const { config, log, nowMs } = state;
    this.term = state.term;
    this.startedMs = nowMs;
    this.firstIndex = log.lastIndex + 1;
    this.heartbeatDeadlineMs = nowMs + config.heartbeatIntervalMs;
    this.checkDeadlineMs = nowMs + config.electionTimeoutMs;
    this.isChangeOpen = isOpen(state);
    this.addPeers(state, membersOf(state.configuration), this.firstIndex);
    this.matchOf = (id) =>
      id === state.id ? state.durability.durableIndex : (this.byId.get(id)?.match ?? 0);
    this.heardMsOf = (id) =>
      id === state.id
        ? state.nowMs
        : Math.max(this.startedMs, this.byId.get(id)?.lastHeardMs ?? this.startedMs);
    this.roundOf = (id) => (id === state.id ? this.round : (this.byId.get(id)?.answeredRound ?? 0));
  }

  progressOf(id: NodeId): Progress | undefined {
    return this.byId.get(id);
  }

  /** The last appended entry changed the members. */
  followMembers(state: State): void {
    const { log, configuration, nowMs, config } = state;
    const { lastIndex } = log;
    const members = membersOf(configuration);
    this.isChangeOpen = isOpen(state);
    for (const peer of this.peers) {
      if (members.includes(peer.id)) {
        // A member that comes back may have an empty disk: nothing is known of it (rule 25).
        if (peer.isLeaving) this.release(peer);
        continue;
      }
      if (peer.isLeaving) continue;
      this.leavingCount += 1;
      peer.leavingIndex = lastIndex;
      peer.leavingUntilMs = nowMs + LEAVING_TIMEOUTS_MAX * config.electionTimeoutMs;
    }
    this.addPeers(state, members, lastIndex);
  }

  /** Forgets a removed peer. */
  release(peer: Progress): void {
    assert(peer.isLeaving, () => `peer ${peer.id} is released but was not removed`);
    this.byId.delete(peer.id);
    this.peers = this.peers.filter((other) => other !== peer);
    this.leavingCount -= 1;
  }

  /** Nothing that this leader was asked for is answered by it any more. */
  end(state: State): void {
    const { outbox } = state;
    this.reads.refuseAll(outbox);
    outbox.snapshotsWanted.clear();
    if (this.transfer !== undefined) outbox.endTransfer(this.transfer.id, state.term > this.term);
  }

  /** New ones among `members` become peers, which are probed from `next` on. */
  private addPeers(state: State, members: readonly NodeId[], next: number): void {
    const { links, nowMs, config } = state;
    const added: Progress[] = [];
    for (const id of members) {
      if (id === state.id || this.byId.has(id)) continue;
      const peer = new Progress(id, links.epochOf(id), next, nowMs, config);
      this.byId.set(id, peer);
      added.push(peer);
    }
    if (added.length > 0) this.peers = [...this.peers, ...added];
  }
}

/** A turn at `nowMs` begins, `lateMs` after it was due. */
export function takeTime(state: State, nowMs: number, lateMs: number): void {
  const { heartbeatIntervalMs, spareDelayMs } = state.config;
  if (lateMs > heartbeatIntervalMs) state.isLate = true;
  if (lateMs > spareDelayMs) state.stoodStillMs = nowMs;
  state.hasTime = true;
  state.nowMs = nowMs;
}

/** Everything that may be attributed to a pause of this process has been. */
export function settleLateness(state: State): void {
  state.isLate = false;
}

/** Enters `term` without a leader and without a vote. */
export function raiseTerm(state: State, term: number): void {
  assert(term > state.term, () => `term raised from ${state.term} to ${term}`);
  assert(Number.isSafeInteger(term), () => `term ${term} is not safe`);
  state.term = term;
  state.termBeganMs = state.nowMs;
  state.vote = 0;
  becomeFollower(state, 0);
}

/** Follows `leader` (0: none is known) in the current term. */
export function becomeFollower(state: State, leader: NodeId): void {
  const { leadership } = state;
  if (leadership !== undefined) {
    state.leadership = undefined;
    leadership.end(state);
    // A leader had no election deadline.
    restartElectionTimer(state);
  }
  state.role = "follower";
  state.leader = leader;
  state.isTransferElection = false;
  state.ballots.clear();
}

/** Asks who would vote for this node; no leader is known meanwhile (consensus rule 12). */
export function becomePreCandidate(state: State): void {
  becomeFollower(state, 0);
  state.role = "preCandidate";
}

/** Stands in the next term and votes for itself. `isTransfer`: the last leader asked for it. */
export function becomeCandidate(state: State, isTransfer: boolean): void {
  raiseTerm(state, state.term + 1);
  castVote(state, state.id);
  state.isTransferElection = isTransfer;
  state.role = "candidate";
  restartElectionTimer(state);
}

/** A candidate has won. */
export function enterLeadership(state: State, leadership: Leadership): void {
  assert(state.role === "candidate", () => `a ${state.role} became leader of ${state.term}`);
  assert(state.vote === state.id, () => `leader of ${state.term} voted for ${state.vote}`);
  state.ballots.clear();
  state.role = "leader";
  state.lostElections = 0;
  state.leader = state.id;
  state.leadership = leadership;
}

/** Casts this node's only vote of the term. */
export function castVote(state: State, candidate: NodeId): void {
  assert(
    state.vote === 0 || state.vote === candidate,
    () => `second vote of term ${state.term}: ${state.vote}, now ${candidate}`,
  );
  // A repeated vote does not bind for longer, unless an earlier process of this node gave it.
  if (state.vote === 0 || state.votedAtMs === NEVER_MS) state.votedAtMs = state.nowMs;
  state.vote = candidate;
}

/** `peer` was heard or has a new connection, so it may answer requests. */
export function noteLife(state: State, peer: NodeId): void {
  if (peer === state.silentLeader) state.silentLeader = 0;
}

/** The leader, if there was one, was silent for a whole election timeout. */
export function noteSilence(state: State): void {
  state.isPauseForgiven = false;
  if (state.leader !== 0) state.silentLeader = state.leader;
  restartElectionTimer(state);
}

/** The election timeout passed while this process stood still: the leader gets another one. */
export function forgivePause(state: State): void {
  state.isPauseForgiven = true;
  restartElectionTimer(state);
}

/** The leader of this term was just heard. */
export function noteLeaderContact(state: State): void {
  const { leader, links, nowMs, config } = state;
  state.leaderContactMs = nowMs;
  state.lostElections = 0;
  links.heard(leader, nowMs, config.closedPeerDelayMs);
  if (links.isClosed(leader)) {
    // Most likely sent before its process ended.
    hastenElection(state);
  } else {
    state.isPauseForgiven = false;
    restartElectionTimer(state);
  }
}

/** Begins an election timeout, drawn from [1, 2) times the option (Raft paper, 5.2). */
export function restartElectionTimer(state: State): void {
  const { electionTimeoutMs } = state.config;
  state.electionDeadlineMs = state.nowMs + electionTimeoutMs * (1 + state.random());
}

/** The other nodes either answer or are known to be dead: only a collision must be avoided. */
export function hastenElection(state: State): void {
  const deadlineMs = state.nowMs + state.config.closedPeerDelayMs * state.random();
  state.electionDeadlineMs = Math.min(state.electionDeadlineMs, deadlineMs);
}

/**
 * The votes were split: this node stands again after a random time. Where messages take longer than
 * the range of that time, the same candidates would collide again, so each further split doubles
 * the range, up to a few election timeouts (consensus rule 31).
 */
export function loseElection(state: State): void {
  becomeFollower(state, 0);
  const { closedPeerDelayMs, electionTimeoutMs } = state.config;
  const longestMs = SPLIT_TIMEOUTS_MAX * electionTimeoutMs;
  const spreadMs = Math.min(closedPeerDelayMs * 2 ** state.lostElections, longestMs);
  state.lostElections += 1;
  state.electionDeadlineMs = state.nowMs + spreadMs * state.random();
}

/** There is nothing to wait for. */
export function endElectionTimer(state: State): void {
  state.electionDeadlineMs = state.nowMs;
}

/** An election that may have no winner is under way: tries again when its voters are free. */
export function repeatElection(state: State): void {
  const { closedPeerDelayMs } = state.config;
  const deadlineMs = state.nowMs + closedPeerDelayMs * (1 + state.random());
  state.electionDeadlineMs = Math.min(state.electionDeadlineMs, deadlineMs);
}

/** Whether there is a leader to which voters should be loyal (thesis, 4.2.3). */
export function hasLiveLeader(state: State): boolean {
  if (state.leadership !== undefined) return true;
  return (
    state.leader !== 0 &&
    !state.links.isClosed(state.leader) &&
    state.nowMs < state.leaderContactMs + state.config.electionTimeoutMs
  );
}

/** Whether `peer` is the known leader of the term or, if none is known, has this node's vote. */
export function isAwaited(state: State, peer: NodeId): boolean {
  return peer === (state.leader === 0 ? state.vote : state.leader);
}

export function advanceCommit(state: State, commitIndex: number): void {
  if (commitIndex <= state.commitIndex) return;
  const { lastIndex } = state.log;
  assert(commitIndex <= lastIndex, () => `commit ${commitIndex} in a log up to ${lastIndex}`);
  state.commitIndex = commitIndex;
}

/** The table has the effects of every entry up to `index`. */
export function advanceApplied(state: State, index: number): void {
  assert(
    index >= state.appliedIndex && index <= state.commitIndex,
    () => `applied ${index} after ${state.appliedIndex}, commit ${state.commitIndex}`,
  );
  state.appliedIndex = index;
  if (index >= state.restoringIndex) state.restoringIndex = 0;
}

/**
 * A snapshot replaces log and table: its entries are committed, and applied once it is restored.
 * The next record names it.
 */
export function restartFromSnapshot(state: State, snapshot: InstalledSnapshot): void {
  const { index, term, configuration } = snapshot;
  assert(index > state.commitIndex, () => `snapshot ${index}, commit ${state.commitIndex}`);
  state.log.reset(index, term);
  state.configurationHistory.reset(index, configuration);
  state.durability.onReset();
  state.compaction.request(snapshot, index + 1, true);
  state.commitIndex = index;
  state.appliedIndex = index;
  state.restoringIndex = index;
}

/** The only place where the log grows. The configuration of an entry is in force from here on. */
export function appendToLog(state: State, entry: Entry): void {
  assert(entry.term <= state.term, () => `entry of term ${entry.term} in term ${state.term}`);
  state.log.append(entry);
  if (entry.kind === "configuration") state.configurationHistory.append(entry);
}

/** The only place where the end of the log is removed, which brings back the last configuration. */
export function truncateLog(state: State, from: number): void {
  assert(state.leadership === undefined, () => `leader of ${state.term} truncates at ${from}`);
  assert(from > state.commitIndex, () => `truncation at ${from}, commit ${state.commitIndex}`);
  state.log.truncate(from);
  state.configurationHistory.truncate(from);
  state.durability.onTruncated(from);
}

/**
 * Records up to `seq` are durable: removes the entries they let go. Returns whether there were any.
 */
export function cutLog(state: State, seq: number): boolean {
  const { compaction, log, configurationHistory } = state;
  const cutTo = compaction.onPersisted(seq);
  if (cutTo <= log.baseIndex) return false;
  assert(cutTo <= state.appliedIndex, () => `cut to ${cutTo}, applied ${state.appliedIndex}`);
  log.compactTo(cutTo);
  configurationHistory.compactTo(cutTo);
  return true;
}

function isOpen({ configuration, id }: State): boolean {
  return isJoint(configuration) || !isVoter(configuration, id);
}

function assertConfig(config: RaftConfig): void {
  const { id, electionTimeoutMs, heartbeatIntervalMs } = config;
  assert(Number.isSafeInteger(id) && id > 0, () => `node id ${id}`);
  assert(heartbeatIntervalMs > 0, () => `heartbeatIntervalMs ${heartbeatIntervalMs}`);
  assert(
    electionTimeoutMs > heartbeatIntervalMs,
    () => `electionTimeoutMs ${electionTimeoutMs}, heartbeatIntervalMs ${heartbeatIntervalMs}`,
  );
  for (const name of [
    "closedPeerDelayMs",
    "uncommittedBytesMax",
    "inflightBytesMax",
    "inflightMessagesMax",
    "appendBytesMax",
  ] as const) {
    assert(config[name] > 0, () => `${name} is ${config[name]}`);
  }
  assert(config.spareDelayMs >= 0, () => `spareDelayMs is ${config.spareDelayMs}`);
  assert(
    Number.isSafeInteger(config.inflightMessagesMax),
    () => `inflightMessagesMax is ${config.inflightMessagesMax}`,
  );
}
