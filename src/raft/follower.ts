/**
 * How a node handles a leader's appends and heartbeats (Raft paper, 5.3). It truncates only at the
 * first conflict and never at or below its commit index, commits at most what the message proves,
 * and acknowledges only what will be durable when the answer leaves (consensus rules 2, 3).
 */
import {
  advanceCommit,
  appendToLog,
  becomeFollower,
  noteLeaderContact,
  raiseTerm,
  type State,
  truncateLog,
} from "./state.js";
import type { AppendReply, AppendRequest, Heartbeat, NodeId } from "./types.js";

export function onAppend(state: State, message: AppendRequest): void {
  if (message.term < state.term) {
    // Tells a leader of an earlier term the present one; otherwise a node whose term ran ahead
    // would be left out for ever (rule 11).
    state.outbox.sendNow(refusal(state, message, 0, 0, 0));
    return;
  }
  if (!follow(state, message)) return;
  const { log } = state;
  const { prevLogIndex, entries } = message;
  // Entries at or below the base are committed, and therefore equal to the leader's.
  if (prevLogIndex >= log.baseIndex && !log.matches(prevLogIndex, message.prevLogTerm)) {
    refuse(state, message);
    return;
  }
  const matchIndex = prevLogIndex + entries.length;
  const conflict = firstConflict(state, message);
  if (conflict <= state.commitIndex) return;
  if (conflict <= log.lastIndex) truncateLog(state, conflict);
  for (let at = conflict - prevLogIndex - 1; at < entries.length; at += 1) {
    const entry = entries[at];
    if (entry !== undefined) appendToLog(state, entry);
  }
  advanceCommit(state, Math.min(message.commitIndex, matchIndex));
  state.outbox.sendDurable(acceptance(state, message.from, message.epoch, matchIndex));
}

export function onHeartbeat(state: State, message: Heartbeat): void {
  if (message.term >= state.term) {
    if (!follow(state, message)) return;
    // The leader names at most what this node acknowledged to it in this term.
    advanceCommit(state, Math.min(message.commitIndex, state.log.lastIndex));
    if (message.round === 0) return;
  }
  state.outbox.sendNow({
    type: "heartbeatReply",
    from: state.id,
    to: message.from,
    term: state.term,
    epoch: message.epoch,
    // Rounds are numbered within a term. The leader of the earlier term may lead this one now, and
    // must not take the answer for one to a round of this term (rule 15).
    round: message.term === state.term ? message.round : 0,
  });
}

/** Accepts `from` as the leader of `term`, which is not lower than the present one, if possible. */
export function acceptLeader(state: State, from: NodeId, term: number): boolean {
  if (term > state.term) raiseTerm(state, term);
  const isOther = state.leader !== 0 && state.leader !== from;
  if (isOther || state.leadership !== undefined) return false;
  if (state.role !== "follower" || state.leader === 0) becomeFollower(state, from);
  return true;
}

/** Accepts the sender as a leader that was just heard; false if it cannot be one. */
function follow(state: State, message: AppendRequest | Heartbeat): boolean {
  if (!acceptLeader(state, message.from, message.term)) return false;
  noteLeaderContact(state);
  return true;
}

/** The first index that the log lacks or holds with another term; after the message if none. */
function firstConflict(state: State, message: AppendRequest): number {
  const { log } = state;
  const end = message.prevLogIndex + message.entries.length + 1;
  let index = Math.max(message.prevLogIndex + 1, log.baseIndex);
  while (index < end) {
    const entry = message.entries[index - message.prevLogIndex - 1];
    if (entry === undefined || !log.matches(index, entry.term)) return index;
    index += 1;
  }
  return Math.max(end, log.lastIndex + 1);
}

/** Names the highest entry at which the logs may still agree (Raft paper, end of 5.3). */
function refuse(state: State, message: AppendRequest): void {
  const { log, commitIndex } = state;
  // Every leader has the committed entries: such a message is impossible.
  if (message.prevLogIndex <= commitIndex) return;
  const hint = log.lastIndexWithTermUpTo(message.prevLogIndex, message.prevLogTerm);
  const hintIndex = Math.max(hint, commitIndex);
  state.outbox.sendNow(
    refusal(state, message, message.prevLogIndex, hintIndex, log.term(hintIndex)),
  );
}

/** The log equals that of the leader `to` up to `matchIndex`; `epoch` is that of the request. */
export function acceptance(
  state: State,
  to: NodeId,
  epoch: number,
  matchIndex: number,
): AppendReply {
  return {
    type: "appendReply",
    from: state.id,
    to,
    term: state.term,
    epoch,
    success: true,
    matchIndex,
    rejectedIndex: 0,
    hintIndex: 0,
    hintTerm: 0,
  };
}

function refusal(
  state: State,
  request: AppendRequest,
  rejectedIndex: number,
  hintIndex: number,
  hintTerm: number,
): AppendReply {
  return {
    type: "appendReply",
    from: state.id,
    to: request.from,
    term: state.term,
    epoch: request.epoch,
    success: false,
    matchIndex: 0,
    rejectedIndex,
    hintIndex,
    hintTerm,
  };
}
