/**
 * What a leader does in its term: it opens the term with a no-op, proposes, commits, answers reads,
 * and checks that a quorum still answers and that its disk still writes (thesis, 6.2). A leader
 * that fails the check stops leading at once, and with that everything that keeps the others from
 * an election (consensus rule 13).
 */
import { quorumValue } from "./configuration/quorum.js";
import {
  advanceCommit,
  appendToLog,
  becomeFollower,
  enterLeadership,
  Leadership,
  type State,
} from "./state.js";
import type { EntryKind } from "./types.js";

const NO_BYTES = new Uint8Array(0);

/** A candidate has won: it leads from now on, and opens its term with an entry of its own. */
export function becomeLeader(state: State): void {
  const leadership = new Leadership(state);
  enterLeadership(state, leadership);
  appendOwn(state, leadership, "noop", NO_BYTES);
}

/** Proposes one command, or refuses it with a reason. */
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

/** Asks for the index of a read; refuses it if this node does not lead. */
export function readIndex(state: State, id: number): void {
  const { leadership, outbox } = state;
  if (leadership === undefined) outbox.refuseRead(id);
  else leadership.reads.ask(id);
}

/** Before the first commit of its term a leader may not know all committed entries (rule 14). */
export function isReadRoundDue(state: State, leadership: Leadership): boolean {
  return leadership.reads.hasWaiting && state.commitIndex >= leadership.firstIndex;
}

/** Answers the reads whose round a quorum has answered. */
export function confirmReads(state: State, leadership: Leadership): void {
  const { reads } = leadership;
  if (!reads.hasBegun) return;
  reads.confirm(quorumValue(state.configuration, leadership.roundOf), state.outbox);
}

/** Commits what a quorum holds, counting only entries of its own term (consensus rule 1). */
export function commitByCounting(state: State, leadership: Leadership): void {
  const index = quorumValue(state.configuration, leadership.matchOf);
  if (index <= state.commitIndex || state.log.term(index) !== state.term) return;
  const before = Math.max(state.commitIndex, leadership.firstIndex - 1);
  advanceCommit(state, index);
  for (let at = before + 1; at <= index; at += 1) {
    leadership.uncommittedBytes -= state.log.entry(at).data.length;
  }
}

/**
 * Steps down unless a quorum has answered and the disk has written within an election timeout
 * (rules 13, 18).
 */
export function checkLeadership(state: State, leadership: Leadership): void {
  const { electionTimeoutMs } = state.config;
  const healthyAtMs = Math.min(quorumHeardMs(state, leadership), state.durability.oldestPendingMs);
  if (state.nowMs < healthyAtMs + electionTimeoutMs) {
    leadership.checkDeadlineMs = healthyAtMs + electionTimeoutMs;
  } else if (state.isLate && healthyAtMs > leadership.pauseForgivenMs) {
    // This process stood still: answers and completions may be waiting.
    leadership.pauseForgivenMs = state.nowMs;
    leadership.checkDeadlineMs = state.nowMs + electionTimeoutMs;
  } else {
    becomeFollower(state, 0);
  }
}

/** The time at or after which a quorum, including this node, has answered. */
export function quorumHeardMs(state: State, leadership: Leadership): number {
  return quorumValue(state.configuration, leadership.heardMsOf);
}

/** Appends an entry of this leader and returns its index. */
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
