/**
 * Hands leadership over (thesis, 3.10): the leader takes no proposals, lets the target catch up
 * completely, and tells it to stand at once. It gives up after an election timeout, or when the
 * target's connection ends, and continues to lead (consensus rule 17).
 */
import type { Progress } from "./progress/progress.js";
import type { Leadership, State } from "./state.js";
import type { NodeId } from "./types.js";

/** `target` 0 is the connected voter with the most complete log. */
export function transferLeadership(state: State, id: number, target: NodeId): void {
  const { leadership, outbox, nowMs, config } = state;
  if (leadership === undefined) {
    outbox.refuse(id, "notLeader");
  } else if (leadership.transfer !== undefined || outbox.hasTransferEnded) {
    outbox.refuse(id, "transferring");
  } else {
    const peer = target === 0 ? bestSuccessor(state, leadership) : leadership.progressOf(target);
    if (peer === undefined || !canSucceed(state, peer)) {
      outbox.refuse(id, "invalid");
      return;
    }
    const deadlineMs = nowMs + config.electionTimeoutMs;
    leadership.transfer = { id, target: peer.id, deadlineMs, isTold: false };
  }
}

/** Tells the target to stand as soon as it has every entry. */
export function advanceTransfer(state: State, leadership: Leadership): void {
  const { transfer } = leadership;
  if (transfer === undefined || transfer.isTold) return;
  const peer = leadership.progressOf(transfer.target);
  if (peer === undefined || peer.match !== state.log.lastIndex) return;
  transfer.isTold = true;
  tellToStand(state, peer);
}

/** Gives up: this node continues to lead. */
export function abandonTransfer(state: State, leadership: Leadership): void {
  const { transfer } = leadership;
  if (transfer === undefined) return;
  leadership.transfer = undefined;
  state.outbox.endTransfer(transfer.id, false);
}

/** The connected voter with the most complete log; among equals, the one heard last. */
export function bestSuccessor(state: State, leadership: Leadership): Progress | undefined {
  let best: Progress | undefined;
  for (const peer of leadership.peers) {
    if (!canSucceed(state, peer)) continue;
    const isBetter =
      best === undefined ||
      peer.match > best.match ||
      (peer.match === best.match && peer.lastHeardMs > best.lastHeardMs);
    if (isBetter) best = peer;
  }
  return best;
}

/** `peer` must have the whole log. */
export function tellToStand(state: State, peer: Progress): void {
  const { lastIndex, lastTerm } = state.log;
  state.outbox.sendNow({
    type: "timeoutNow",
    from: state.id,
    to: peer.id,
    term: state.term,
    epoch: peer.epoch,
    lastLogIndex: lastIndex,
    lastLogTerm: lastTerm,
  });
}

/** A voter that is being removed cannot succeed. */
function canSucceed(state: State, peer: Progress): boolean {
  return peer.isConnected && state.configuration.voters.includes(peer.id);
}
