/**
 * The leader's side of replication (Raft paper, 5.3; thesis, 10.2). The appends of a turn leave
 * together, without waiting for the local disk or for earlier answers, within each peer's window.
 * An answer counts only on the connection of its request, and `match` never falls. A peer whose
 * next entry is gone from the log is not probed again and again: it gets a snapshot (consensus rule
 * 24).
 */
import { commitByCounting, confirmReads } from "./leader.js";
import { chooseFronts, keepsBack, watchFronts } from "./majority-first.js";
import type { Progress } from "./progress/progress.js";
import { type Leadership, raiseTerm, type State } from "./state.js";
import type { AppendReply, HeartbeatReply, NodeId } from "./types.js";

/**
 * Sends each connected peer the entries it lacks and should have, and the commit index if no append
 * carries it.
 */
export function replicate(state: State, leadership: Leadership): void {
  chooseFronts(state, leadership);
  for (const peer of leadership.peers) {
    if (!peer.isConnected) continue;
    if (!keepsBack(state, leadership, peer)) sendAppends(state, peer);
    if (peer.isCommitWanted || peer.isLeaving) tellCommit(state, peer);
  }
  watchFronts(state, leadership);
}

/** Sends `peer` the commit index, unless it knows as much of it as it can use. */
export function tellCommit(state: State, peer: Progress): void {
  const commitIndex = Math.min(state.commitIndex, peer.match);
  if (peer.isConnected && commitIndex > peer.toldCommit) sendHeartbeat(state, peer, commitIndex, 0);
}

/** The beginning of the log was removed. */
export function onLogCut(state: State, leadership: Leadership): void {
  for (const peer of leadership.peers) {
    if (peer.isConnected) settleNext(state, peer);
    else peer.probe(state.log.baseIndex);
  }
}

/** The transfer of a snapshot on the connection `epoch` was given up. */
export function onSnapshotFailed(state: State, id: NodeId, epoch: number): void {
  const peer = state.leadership?.progressOf(id);
  if (peer?.mode === "snapshot" && peer.epoch === epoch) peer.probe(state.log.baseIndex);
}

/** A sign of life to every peer, and a new round for check-quorum. */
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
    const { nowMs, stoodStillMs } = state;
    const rose = peer.onAccepted(message.matchIndex, log.baseIndex, nowMs, stoodStillMs);
    settleNext(state, peer);
    if (rose) commitByCounting(state, leadership);
    return;
  }
  if (message.needsSnapshot) {
    if (peer.mode !== "snapshot") supplySnapshot(state, peer, message.hintIndex);
    return;
  }
  const { rejectedIndex } = message;
  // Any other refusal was settled by later answers, or will be by a snapshot.
  if (!isCurrentRefusal(peer, rejectedIndex) || rejectedIndex > log.lastIndex) return;
  peer.lastAnswerMs = state.nowMs;
  peer.onRefused(Math.min(agreedIndex(state, message) + 1, rejectedIndex));
  settleNext(state, peer);
}

function isCurrentRefusal(peer: Progress, rejectedIndex: number): boolean {
  switch (peer.mode) {
    case "probe":
      return rejectedIndex === peer.next - 1;
    case "replicate":
      return rejectedIndex > peer.match;
    case "snapshot":
      return false;
  }
}

/**
 * The last index at which the logs may still agree; one below the base stands for all before it.
 */
function agreedIndex(state: State, { hintIndex, hintTerm }: AppendReply): number {
  const { log } = state;
  const { baseIndex, baseTerm } = log;
  const isBeforeBase = hintIndex < baseIndex || hintTerm < baseTerm;
  return isBeforeBase ? baseIndex - 1 : log.lastIndexWithTermUpTo(hintIndex, hintTerm);
}

/** A peer that needs an entry that is gone gets a snapshot instead. */
function settleNext(state: State, peer: Progress): void {
  if (peer.mode === "snapshot" || peer.next > state.log.baseIndex) return;
  supplySnapshot(state, peer, 0);
}

/** `staleMatch`: what the peer has up to there contradicts this log; 0: it only lacks entries. */
function supplySnapshot(state: State, peer: Progress, staleMatch: number): void {
  const { snapshotIndex } = state.compaction;
  peer.awaitSnapshot(snapshotIndex, state.log.term(snapshotIndex), staleMatch);
  peer.lastAnswerMs = state.nowMs;
  state.outbox.wantSnapshot(peer.id, peer.epoch, staleMatch);
}

export function onHeartbeatReply(state: State, message: HeartbeatReply): void {
  const peer = answeringPeer(state, message);
  const { leadership } = state;
  if (peer === undefined || leadership === undefined) return;
  if (message.round > peer.answeredRound && message.round <= leadership.round) {
    peer.answeredRound = message.round;
    confirmReads(state, leadership);
  }
  askWhereItStands(state, peer);
}

/**
 * The peer answers heartbeats but not its last append: its disk may be slow, or its answers were
 * lost with the connection it sends on. An empty append is cheap and settles both. A peer that
 * waits for a snapshot is asked, much more rarely, whether it has it, even if the log was cut after
 * that snapshot: its answer may be lost, and then it must get a newer one.
 */
function askWhereItStands(state: State, peer: Progress): void {
  const { nowMs, config, log } = state;
  const isInstalling = peer.mode === "snapshot";
  if (!isInstalling && !peer.isWaiting) return;
  const patienceMs = isInstalling ? config.electionTimeoutMs : config.heartbeatIntervalMs;
  if (nowMs < peer.lastAnswerMs + patienceMs) return;
  peer.lastAnswerMs = nowMs;
  const prevLogIndex = isInstalling ? Math.min(peer.snapshotIndex, log.baseIndex) : peer.next - 1;
  sendAppend(state, peer, prevLogIndex, prevLogIndex);
}

/** The progress of the sender, if `message` is an answer of this term and connection. */
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
  if (peer.mode === "snapshot") return;
  const { lastIndex } = state.log;
  if (peer.mode === "probe" && peer.next > lastIndex) {
    // There is nothing to send, but the peer may lack entries.
    if (peer.match < lastIndex && !peer.isProbePending)
      sendAppend(state, peer, peer.next - 1, lastIndex);
    return;
  }
  while (peer.next <= lastIndex && !(peer.mode === "probe" && peer.isProbePending)) {
    const last = lastOfAppend(state, peer);
    if (last < peer.next) return;
    if (!peer.isWaiting) peer.lastAnswerMs = state.nowMs;
    sendAppend(state, peer, peer.next - 1, last);
  }
}

/** The last entry that the next append may carry; `next - 1` if the window has no room. */
function lastOfAppend(state: State, peer: Progress): number {
  const { log, config } = state;
  const { lastIndex } = log;
  const { messages, roomBytes } = peer.inflight;
  if (roomBytes === 0) return peer.next - 1;
  const bytesMax = Math.min(config.appendBytesMax, roomBytes);
  let last = peer.next;
  let bytes = log.entry(last).data.length;
  // An entry larger than the whole window is sent alone.
  if (bytes > roomBytes && messages > 0) return peer.next - 1;
  while (last < lastIndex) {
    bytes += log.entry(last + 1).data.length;
    if (bytes > bytesMax) break;
    last += 1;
  }
  return last;
}

/** Sends the entries after `prevLogIndex` up to `last`; if both are the same, it only asks. */
function sendAppend(state: State, peer: Progress, prevLogIndex: number, last: number): void {
  const { log } = state;
  const isCut = prevLogIndex < log.baseIndex;
  const entries = isCut ? [] : log.slice(prevLogIndex + 1, last);
  state.outbox.sendNow({
    type: "append",
    from: state.id,
    to: peer.id,
    term: state.term,
    epoch: peer.epoch,
    prevLogIndex,
    prevLogTerm: isCut ? peer.snapshotTerm : log.term(prevLogIndex),
    commitIndex: state.commitIndex,
    entries,
  });
  peer.toldCommit = Math.max(peer.toldCommit, Math.min(state.commitIndex, last));
  peer.onSent(entries, state.nowMs);
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
