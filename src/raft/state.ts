/**
 * The state of one node (Raft paper, figure 2) and its transitions: each field of `State` is
 * assigned in this file and nowhere else, so that rules 4 and 6 hold in one place. Nothing here
 * decides an election or replicates.
 */
import { assert } from "../assert.js";
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

export class State {
  readonly config: RaftConfig;
  readonly random: Random;
  readonly log: RaftLog;
  readonly durability: Durability;
  readonly links = new Links();
  readonly outbox = new Outbox();
  readonly configurationHistory: ConfigurationHistory;
  readonly compaction: Compaction;

  /** Never falls. Durable before anything that depends on it leaves. */
  term: number;
  /** Whom this node voted for in `term`; 0 is nobody. Cleared only when the term rises. */
  vote: NodeId;
  /** When this process took up `term`; `NEVER_MS` if only an earlier one did. */
  termBeganMs = NEVER_MS;
  /** When it first cast `vote`; `NEVER_MS` if only an earlier process of this node did. */
  votedAtMs = NEVER_MS;
  role: Role = "follower";
  /** The leader of `term` as far as known; 0 while unknown, and always for (pre-)candidates. */
  leader: NodeId = 0;
  /** Defined exactly while `role` is `leader`. */
  leadership: Leadership | undefined = undefined;
  /** Answers of the (pre-)election under way. */
  readonly ballots = new Map<NodeId, boolean>();
  /** The leader before asked for the election that this candidate stands in. */
  isTransferElection = false;
  /** The leader that an election timeout went by without, and that shows no life since; 0: none. */
  silentLeader: NodeId = 0;

  /** Never falls; at most the last index; at least `appliedIndex`. */
  commitIndex: number;
  appliedIndex: number;
  /** The table is being replaced by the snapshot of this index, and was not yet; 0: it is whole. */
  restoringIndex = 0;

  /** The time of this turn; 0 until the first tick. */
  nowMs = 0;
  hasTime = false;
  /** This turn comes later than its timer by more than a heartbeat interval. */
  isLate = false;
  /** The last turn that came later than its timer by more than `spareDelayMs`. */
  stoodStillMs = Number.NEGATIVE_INFINITY;
  electionDeadlineMs = 0;
  /** When the leader of this term was last heard. */
  leaderContactMs = Number.NEGATIVE_INFINITY;
  /** An election timeout was already put down to a pause of this process. */
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

  /** What elections are counted from; `undefined` while this node has not heard of its cluster. */
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

/** What exists only while a node leads, for as long as its term. */
export class Leadership {
  readonly term: number;
  /** When this term began, which counts as a sign of life of everybody. */
  readonly startedMs: number;
  /** Where this term begins in the log: the index of its noop. */
  readonly firstIndex: number;
  /** Every other member, and those that left and may not know it. */
  peers: readonly Progress[] = [];
  /** The members are joint, or this leader is none of those who decide: an end is due. */
  isChangeOpen: boolean;
  /** How many of `peers` left. */
  leavingCount = 0;
  readonly reads = new ReadRounds();
  /**
   * When a turn is due because a front is late, or a spare has waited long enough (`thrift.ts`).
   */
  thriftDeadlineMs = Number.POSITIVE_INFINITY;
  /** What records of this leader take to be durable. */
  readonly ownDisk = new RoundTrip();
  /** While it lasts nothing is proposed. */
  transfer: Transfer | undefined = undefined;
  private readonly byId = new Map<NodeId, Progress>();
  /** Of the latest heartbeat broadcast of this term. */
  round = 0;
  heartbeatDeadlineMs: number;
  /** No check can fail before. */
  checkDeadlineMs: number;
  /** When a failed check was last put down to a pause of this process. */
  pauseForgivenMs = Number.NEGATIVE_INFINITY;
  /** Bytes of this term's entries that are not committed. */
  uncommittedBytes = 0;
  /** How far the log of a member is known to be durable; the own one is no exception (rule 19). */
  readonly matchOf: (id: NodeId) => number;
  /** When a member last answered; this node answers itself. */
  readonly heardMsOf: (id: NodeId) => number;
  /** The latest round of this term that a member answered; this node answers each at once. */
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

  /** The members are others since the last entry was appended, which says so. */
  followMembers(state: State): void {
    const { log, configuration, nowMs, config } = state;
    const { lastIndex } = log;
    const members = membersOf(configuration);
    this.isChangeOpen = isOpen(state);
    for (const peer of this.peers) {
      if (members.includes(peer.id)) {
        // Whoever comes back may do so with an empty disk: nothing is known of it (rule 25).
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

  /** A peer that left is left alone from now on. */
  release(peer: Progress): void {
    assert(peer.isLeaving, () => `peer ${peer.id} is released and did not leave`);
    this.byId.delete(peer.id);
    this.peers = this.peers.filter((other) => other !== peer);
    this.leavingCount -= 1;
  }

  /** Nothing that was asked of this leader is answered by it any more. */
  end(state: State): void {
    const { outbox } = state;
    this.reads.refuseAll(outbox);
    outbox.forgetSnapshotsWanted();
    if (this.transfer !== undefined) outbox.endTransfer(this.transfer.id, state.term > this.term);
  }

  /** Those of `members` that are not peers yet are probed from `next` on. */
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

/** Whatever is put down to a pause of this process was. */
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

/** Follows `leader` (0: nobody known) in the present term. */
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

/** Asks who would vote for this node: no leader is known meanwhile (consensus rule 12). */
export function becomePreCandidate(state: State): void {
  becomeFollower(state, 0);
  state.role = "preCandidate";
}

/** Stands in the next term, with its own vote. `isTransfer`: the leader before asked for it. */
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
  state.leader = state.id;
  state.leadership = leadership;
}

/** Casts this node's only vote of the term. */
export function castVote(state: State, candidate: NodeId): void {
  assert(
    state.vote === 0 || state.vote === candidate,
    () => `second vote of term ${state.term}: ${state.vote}, now ${candidate}`,
  );
  // A repeated vote binds no longer than it did, unless an earlier process of this node gave it.
  if (state.vote === 0 || state.votedAtMs === NEVER_MS) state.votedAtMs = state.nowMs;
  state.vote = candidate;
}

/** `peer` was heard, or has a new connection: what it is asked it may answer. */
export function noteLife(state: State, peer: NodeId): void {
  if (peer === state.silentLeader) state.silentLeader = 0;
}

/** The leader, if there was one, was silent for a whole election timeout. */
export function noteSilence(state: State): void {
  state.isPauseForgiven = false;
  if (state.leader !== 0) state.silentLeader = state.leader;
  restartElectionTimer(state);
}

/** The election timeout went by while this process stood still: the leader gets another one. */
export function forgivePause(state: State): void {
  state.isPauseForgiven = true;
  restartElectionTimer(state);
}

/** The leader of this term was heard just now. */
export function noteLeaderContact(state: State): void {
  const { leader, links, nowMs, config } = state;
  state.leaderContactMs = nowMs;
  links.heard(leader, nowMs, config.closedPeerDelayMs);
  if (links.isClosed(leader)) {
    // Sent before its process ended, most likely.
    hastenElection(state);
  } else {
    state.isPauseForgiven = false;
    restartElectionTimer(state);
  }
}

/** Silence of a whole election timeout, drawn from [1, 2) times the option (Raft paper, 5.2). */
export function restartElectionTimer(state: State): void {
  const { electionTimeoutMs } = state.config;
  state.electionDeadlineMs = state.nowMs + electionTimeoutMs * (1 + state.random());
}

/** The others are known to answer or to be dead: only a collision has to be avoided. */
export function hastenElection(state: State): void {
  const deadlineMs = state.nowMs + state.config.closedPeerDelayMs * state.random();
  state.electionDeadlineMs = Math.min(state.electionDeadlineMs, deadlineMs);
}

/** There is nothing to wait for. */
export function endElectionTimer(state: State): void {
  state.electionDeadlineMs = state.nowMs;
}

/** An election is under way that nobody may win: it is asked again when those who voted are free. */
export function repeatElection(state: State): void {
  const { closedPeerDelayMs } = state.config;
  const deadlineMs = state.nowMs + closedPeerDelayMs * (1 + state.random());
  state.electionDeadlineMs = Math.min(state.electionDeadlineMs, deadlineMs);
}

/** Whether there is a leader that voters should be loyal to (thesis, 4.2.3). */
export function hasLiveLeader(state: State): boolean {
  if (state.leadership !== undefined) return true;
  return (
    state.leader !== 0 &&
    !state.links.isClosed(state.leader) &&
    state.nowMs < state.leaderContactMs + state.config.electionTimeoutMs
  );
}

/** Whether `peer` leads the term as far as known or, while nobody does, has this node's vote to lead it. */
export function isAwaited(state: State, peer: NodeId): boolean {
  return peer === (state.leader === 0 ? state.vote : state.leader);
}

export function advanceCommit(state: State, commitIndex: number): void {
  if (commitIndex <= state.commitIndex) return;
  const { lastIndex } = state.log;
  assert(commitIndex <= lastIndex, () => `commit ${commitIndex} in a log up to ${lastIndex}`);
  state.commitIndex = commitIndex;
}

/** The table holds the effects of every entry up to `index`. */
export function advanceApplied(state: State, index: number): void {
  assert(
    index >= state.appliedIndex && index <= state.commitIndex,
    () => `applied ${index} after ${state.appliedIndex}, commit ${state.commitIndex}`,
  );
  state.appliedIndex = index;
  if (index >= state.restoringIndex) state.restoringIndex = 0;
}

/**
 * A snapshot replaces log and table: what it holds is committed, and applied once it is read. The
 * next record names it.
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

/** The one place where the log grows. The configuration of an entry counts from here on. */
export function appendToLog(state: State, entry: Entry): void {
  assert(entry.term <= state.term, () => `entry of term ${entry.term} in term ${state.term}`);
  state.log.append(entry);
  if (entry.kind === "configuration") state.configurationHistory.append(entry);
}

/** The one place where the log's end is cut, which brings back the configuration before. */
export function truncateLog(state: State, from: number): void {
  assert(state.leadership === undefined, () => `leader of ${state.term} truncates at ${from}`);
  assert(from > state.commitIndex, () => `truncation at ${from}, commit ${state.commitIndex}`);
  state.log.truncate(from);
  state.configurationHistory.truncate(from);
  state.durability.onTruncated(from);
}

/** Records up to `seq` are durable: what they let go goes. Returns whether anything did. */
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
