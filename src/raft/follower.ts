/**
 * How a node handles a leader's appends and heartbeats (Raft paper, 5.3). It truncates only at the
 * first conflict and never at or below its commit index, commits at most what the message proves,
 * and acknowledges only what will be durable when the answer leaves (consensus rules 2, 3). Entries
 * that no leader of its log can have are refused, and the node asks for a snapshot instead: then
 * one of the two logs is not what a correct node wrote.
 */
import { decodeConfiguration } from "./configuration/configuration-codec.js";
import { isNextConfiguration } from "./configuration/configuration-step.js";
import {
  advanceCommit,
  appendToLog,
  becomeFollower,
  noteLeaderContact,
  raiseTerm,
  type State,
  truncateLog,
} from "./state.js";
import type { AppendReply, AppendRequest, Configuration, Heartbeat, NodeId } from "./types.js";

const NO_HINT = Object.freeze({ index: 0, term: 0 });

export function onAppend(state: State, message: AppendRequest): void {
  if (message.term < state.term) {
    // A leader of an earlier term learns the current one from this; otherwise a node whose term ran
    // ahead would be left out forever (rule 11).
    state.outbox.sendNow(refusal(state, message, NO_HINT));
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
  if (conflict <= state.commitIndex || !isEachStepLegal(state, message, conflict)) {
    askForSnapshot(state, message);
    return;
  }
  if (conflict <= log.lastIndex) truncateLog(state, conflict);
  for (let at = conflict - prevLogIndex - 1; at < entries.length; at += 1) {
    const entry = entries[at];
    if (entry !== undefined) appendToLog(state, entry);
  }
  advanceCommit(state, Math.min(message.commitIndex, matchIndex));
  state.outbox.sendDurable(acceptance(state, message.from, message.epoch, matchIndex));
}

/** The caller cannot apply these entries. */
export function onUnusable(state: State, message: AppendRequest): void {
  if (message.term < state.term) onAppend(state, message);
  else if (follow(state, message)) askForSnapshot(state, message);
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

/** Accepts `from` as the leader of `term`, which is not lower than the current one, if possible. */
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

/** Whether each configuration from `first` on follows from the one before by one legal step. */
function isEachStepLegal(state: State, message: AppendRequest, first: number): boolean {
  let before: Configuration | undefined;
  const { entries, prevLogIndex } = message;
  for (let at = Math.max(0, first - prevLogIndex - 1); at < entries.length; at += 1) {
    const entry = entries[at];
    if (entry?.kind !== "configuration") continue;
    const next = decodeConfiguration(entry.data);
    before ??= state.configurationHistory.at(first - 1);
    if (next === undefined || !isNextConfiguration(before, next)) return false;
    before = next;
  }
  return true;
}

/** Every leader has the committed entries, so one of the two logs is false (rule 30). */
function askForSnapshot(state: State, message: AppendRequest): void {
  const { log, commitIndex } = state;
  const hint = { index: commitIndex, term: log.term(commitIndex) };
  state.outbox.sendNow(refusal(state, message, hint, true));
}

/** Names the highest entry at which the logs may still agree (Raft paper, end of 5.3). */
function refuse(state: State, message: AppendRequest): void {
  const { log, commitIndex } = state;
  if (message.prevLogIndex <= commitIndex) {
    askForSnapshot(state, message);
    return;
  }
  const hint = log.lastIndexWithTermUpTo(message.prevLogIndex, message.prevLogTerm);
  const index = Math.max(hint, commitIndex);
  state.outbox.sendNow(refusal(state, message, { index, term: log.term(index) }));
}

/** The log equals the log of the leader `to` up to `matchIndex`; `epoch` is the request's. */
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
    needsSnapshot: false,
    hintIndex: 0,
    hintTerm: 0,
  };
}

/** Only the refusal of a request of the current term has a hint. */
function refusal(
  state: State,
  request: AppendRequest,
  hint: { readonly index: number; readonly term: number },
  needsSnapshot = false,
): AppendReply {
  return {
    type: "appendReply",
    from: state.id,
    to: request.from,
    term: state.term,
    epoch: request.epoch,
    success: false,
    matchIndex: 0,
    rejectedIndex: hint === NO_HINT ? 0 : request.prevLogIndex,
    needsSnapshot,
    hintIndex: hint.index,
    hintTerm: hint.term,
  };
}
