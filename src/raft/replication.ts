/**
 * The leader's side of replication (Raft paper, 5.3; thesis, 10.2): appends of a turn leave
 * together, without waiting for the local disk or for earlier answers, within each peer's window.
 * An answer counts only on the connection its request went out on, and `match` never falls.
 */
import { commitByCounting, type Leadership } from "./leadership.js";
import type { Progress } from "./progress.js";
import { raiseTerm, type State } from "./state.js";
import type { AppendReply, HeartbeatReply } from "./types.js";

/** Sends each connected peer what it lacks, and the commit index where no append carried it. */
export function replicate(state: State, leadership: Leadership): void {
  for (const peer of leadership.peers) {
    if (!peer.isConnected) continue;
    sendAppends(state, peer);
    if (!peer.isCommitWanted) continue;
    const commitIndex = Math.min(state.commitIndex, peer.match);
    if (commitIndex > peer.toldCommit) sendHeartbeat(state, peer, commitIndex, 0);
  }
}

/** Proof of life to everybody, and a new round for check-quorum. */
export function broadcastHeartbeat(state: State, leadership: Leadership): void {
  leadership.round += 1;
  leadership.heartbeatDeadlineMs = state.nowMs + state.config.heartbeatIntervalMs;
  for (const peer of leadership.peers) {
    if (!peer.isConnected) continue;
    sendHeartbeat(state, peer, Math.min(state.commitIndex, peer.match), leadership.round);
  }
}

export function onAppendReply(state: State, message: AppendReply): void {
  const peer = answeringPeer(state, message);
  if (peer === undefined) return;
  const { leadership, log } = state;
  if (leadership === undefined) return;
  if (message.success) {
    if (message.matchIndex > log.lastIndex) return;
    peer.lastAnswerMs = state.nowMs;
    if (peer.onAccepted(message.matchIndex)) commitByCounting(state, leadership);
    return;
  }
  const { rejectedIndex } = message;
  const isAnswered =
    peer.mode === "probe" ? rejectedIndex === peer.next - 1 : rejectedIndex > peer.match;
  // Anything else refuses what later answers have settled.
  if (!isAnswered || rejectedIndex > log.lastIndex) return;
  peer.lastAnswerMs = state.nowMs;
  const agreed = log.lastIndexWithTermUpTo(message.hintIndex, message.hintTerm);
  peer.onRefused(Math.min(agreed + 1, rejectedIndex));
}

export function onHeartbeatReply(state: State, message: HeartbeatReply): void {
  const peer = answeringPeer(state, message);
  if (peer === undefined || !peer.isWaiting) return;
  // The peer answers, but appends stay unanswered: its disk may be slow, or its answers were lost
  // with the connection it sends on. Asking where it stands is cheap and settles both.
  if (state.nowMs < peer.lastAnswerMs + state.config.heartbeatIntervalMs) return;
  peer.lastAnswerMs = state.nowMs;
  sendAppend(state, peer, peer.next - 1);
}

/** The progress of whoever sent `message`, when it answers something of this term and link. */
function answeringPeer(state: State, message: AppendReply | HeartbeatReply): Progress | undefined {
  if (message.term > state.term) {
    raiseTerm(state, message.term);
    return undefined;
  }
  if (message.term < state.term) return undefined;
  const peer = state.leadership?.progressOf(message.from);
  if (peer === undefined || !peer.isConnected || message.epoch !== peer.epoch) return undefined;
  peer.lastHeardMs = state.nowMs;
  return peer;
}

function sendAppends(state: State, peer: Progress): void {
  const { lastIndex } = state.log;
  while (peer.next <= lastIndex && !(peer.mode === "probe" && peer.isProbePending)) {
    const last = lastOfAppend(state, peer);
    if (last < peer.next) return;
    if (!peer.isWaiting) peer.lastAnswerMs = state.nowMs;
    sendAppend(state, peer, last);
  }
}

/** The last entry the next append may carry; `next - 1` when the window has no room for one. */
function lastOfAppend(state: State, peer: Progress): number {
  const { log, config } = state;
  const { lastIndex } = log;
  const { messages, roomBytes } = peer.inflight;
  if (roomBytes === 0) return peer.next - 1;
  const bytesMax = Math.min(config.appendBytesMax, roomBytes);
  let last = peer.next;
  let bytes = log.entry(last).data.length;
  // An entry larger than the whole window travels alone.
  if (bytes > roomBytes && messages > 0) return peer.next - 1;
  while (last < lastIndex) {
    bytes += log.entry(last + 1).data.length;
    if (bytes > bytesMax) break;
    last += 1;
  }
  return last;
}

/** Entries from `next` up to `last`; none when `last` is `next - 1`, which only asks. */
function sendAppend(state: State, peer: Progress, last: number): void {
  const { log } = state;
  const prevLogIndex = peer.next - 1;
  const entries = log.slice(peer.next, last);
  state.outbox.sendNow({
    type: "append",
    from: state.id,
    to: peer.id,
    term: state.term,
    epoch: peer.epoch,
    prevLogIndex,
    prevLogTerm: log.term(prevLogIndex),
    commitIndex: state.commitIndex,
    entries,
  });
  peer.toldCommit = Math.max(peer.toldCommit, Math.min(state.commitIndex, last));
  peer.onSent(entries);
}

function sendHeartbeat(state: State, peer: Progress, commitIndex: number, round: number): void {
  peer.toldCommit = Math.max(peer.toldCommit, commitIndex);
  state.outbox.sendNow({
    type: "heartbeat",
    from: state.id,
    to: peer.id,
    term: state.term,
    epoch: peer.epoch,
    commitIndex,
    round,
  });
}
