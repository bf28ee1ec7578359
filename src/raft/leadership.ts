/**
 * What exists only while a node leads: the progress of every peer, the noop that opens the term,
 * reads and a transfer under way, the check that a quorum still answers and that the disk still writes (thesis, 6.2). A leader
 * that fails the check stops leading at once and with it everything that keeps the others quiet
 * (consensus rule 13).
 */
import { assert } from "../assert.js";
import { isJoint, isVoter, membersOf } from "./configuration/configuration.js";
import { quorumValue } from "./configuration/quorum.js";
import { Progress } from "./progress/progress.js";
import { Thrift } from "./progress/thrift.js";
import { ReadRounds } from "./read-rounds.js";
import {
  advanceCommit,
  appendToLog,
  becomeFollower,
  enterLeadership,
  type State,
} from "./state.js";
import type { Transfer } from "./transfer.js";
import type { EntryKind, NodeId } from "./types.js";

const NO_BYTES = new Uint8Array(0);
/** So long a peer that left is given to learn of it, in election timeouts. */
const LEAVING_TIMEOUTS_MAX = 4;

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
  readonly thrift = new Thrift();
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

function isOpen({ configuration, id }: State): boolean {
  return isJoint(configuration) || !isVoter(configuration, id);
}

/** A candidate has won: it leads from now on, and opens its term with an entry of its own. */
export function becomeLeader(state: State): void {
  const leadership = new Leadership(state);
  enterLeadership(state, leadership);
  appendOwn(state, leadership, "noop", NO_BYTES);
}

/** Proposes one command; refuses it with the reason when it cannot be. */
export function propose(state: State, id: number, data: Uint8Array): void {
  const { leadership, outbox } = state;
  if (leadership === undefined) {
    outbox.refuse(id, "notLeader");
    return;
  }
  if (leadership.transfer !== undefined) {
    outbox.refuse(id, "transferring");
    return;
  }
  if (leadership.uncommittedBytes >= state.config.uncommittedBytesMax) {
    outbox.refuse(id, "busy");
    return;
  }
  const index = appendOwn(state, leadership, "command", data);
  outbox.accept(id, index, state.term);
}

/** Commits what a quorum holds, by counting entries of the own term only (consensus rule 1). */
export function commitByCounting(state: State, leadership: Leadership): void {
  const index = quorumValue(state.configuration, leadership.matchOf);
  if (index <= state.commitIndex || state.log.term(index) !== state.term) return;
  const before = Math.max(state.commitIndex, leadership.firstIndex - 1);
  advanceCommit(state, index);
  for (let at = before + 1; at <= index; at += 1) {
    leadership.uncommittedBytes -= state.log.entry(at).data.length;
  }
}

/** Steps down unless a quorum answered, and the disk wrote, within an election timeout (rules 13, 18). */
export function checkLeadership(state: State, leadership: Leadership): void {
  const { electionTimeoutMs } = state.config;
  const healthyAtMs = Math.min(quorumHeardMs(state, leadership), state.durability.oldestPendingMs);
  if (state.nowMs < healthyAtMs + electionTimeoutMs) {
    leadership.checkDeadlineMs = healthyAtMs + electionTimeoutMs;
  } else if (state.isLate && healthyAtMs > leadership.pauseForgivenMs) {
    // This process stood still: answers and completions may wait to be read.
    leadership.pauseForgivenMs = state.nowMs;
    leadership.checkDeadlineMs = state.nowMs + electionTimeoutMs;
  } else {
    becomeFollower(state, 0);
  }
}

/** A quorum, this node included, answered at this time or later. */
export function quorumHeardMs(state: State, leadership: Leadership): number {
  return quorumValue(state.configuration, leadership.heardMsOf);
}

/** Appends an entry of this leader's and returns its index. */
export function appendOwn(
  state: State,
  leadership: Leadership,
  kind: EntryKind,
  data: Uint8Array,
): number {
  const index = state.log.lastIndex + 1;
  appendToLog(state, { index, term: state.term, kind, data });
  leadership.uncommittedBytes += data.length;
  return index;
}
