/**
 * What exists only while a node leads: the progress of every peer, the noop that opens the term,
 * the check that a quorum still answers and that the disk still writes (thesis, 6.2). A leader
 * that fails the check stops leading at once and with it everything that keeps the others quiet.
 */
import { assert } from "../assert.js";
import { membersOf } from "./configuration.js";
import { Progress } from "./progress.js";
import { quorumValue } from "./quorum.js";
import { advanceCommit, appendToLog, becomeFollower, type State } from "./state.js";
import type { EntryKind, NodeId } from "./types.js";

const NO_BYTES = new Uint8Array(0);

export class Leadership {
  /** Where this term begins in the log: the index of its noop. */
  readonly firstIndex: number;
  readonly peers: readonly Progress[];
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
  /** How far the log of a member is known to be durable. */
  readonly matchOf: (id: NodeId) => number;
  /** When a member last answered; this node answers itself. */
  readonly heardMsOf: (id: NodeId) => number;

  constructor(state: State) {
    const { config, log, nowMs } = state;
    this.firstIndex = log.lastIndex + 1;
    this.heartbeatDeadlineMs = nowMs + config.heartbeatIntervalMs;
    this.checkDeadlineMs = nowMs + config.electionTimeoutMs;
    this.peers = membersOf(state.configuration)
      .filter((id) => id !== state.id)
      .map((id) => new Progress(id, state.links.epochOf(id), log.lastIndex, nowMs, config));
    for (const peer of this.peers) this.byId.set(peer.id, peer);
    this.matchOf = (id) =>
      id === state.id ? state.durability.durableIndex : (this.byId.get(id)?.match ?? 0);
    this.heardMsOf = (id) =>
      id === state.id ? state.nowMs : (this.byId.get(id)?.lastHeardMs ?? Number.NEGATIVE_INFINITY);
  }

  progressOf(id: NodeId): Progress | undefined {
    return this.byId.get(id);
  }
}

/** A candidate has won: it leads from now on, and opens its term with an entry of its own. */
export function becomeLeader(state: State): void {
  assert(state.role === "candidate", () => `a ${state.role} became leader of ${state.term}`);
  assert(state.vote === state.id, () => `leader of ${state.term} voted for ${state.vote}`);
  state.ballots.clear();
  state.role = "leader";
  state.leader = state.id;
  state.leadership = new Leadership(state);
  appendOwn(state, state.leadership, "noop", NO_BYTES);
}

/** Proposes one command; refuses it with the reason when it cannot be. */
export function propose(state: State, id: number, data: Uint8Array): void {
  const { leadership, outbox } = state;
  if (leadership === undefined) {
    outbox.refuse(id, "notLeader");
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

/** Steps down unless a quorum answered, and the disk wrote, within an election timeout. */
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

function appendOwn(
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
