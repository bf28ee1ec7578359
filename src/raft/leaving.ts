/**
 * How members leave: a peer that is none any more is still sent the entry that says so and its
 * commit, so that it learns its fate instead of standing for election; a leader that is no voter
 * any more stops leading when that is committed, having told the others (thesis, 4.2.2 and 4.2.3).
 */
import { isJoint, isVoter } from "./configuration/configuration.js";
import type { Leadership } from "./leadership.js";
import type { Progress } from "./progress/progress.js";
import { tellCommit } from "./replication.js";
import { becomeFollower, type State } from "./state.js";
import { bestSuccessor, tellToStand } from "./transfer.js";

/** Forgets the peers that left and know it, or that cannot be told. */
export function releaseLeaving(state: State, leadership: Leadership): void {
  for (const peer of leadership.peers) {
    if (peer.isLeaving && isReleased(state, peer)) leadership.release(peer);
  }
}

function isReleased(state: State, peer: Progress): boolean {
  const { leavingIndex, match, toldCommit } = peer;
  const isTold = match >= leavingIndex && toldCommit >= leavingIndex;
  return isTold || !peer.isConnected || state.nowMs >= peer.leavingUntilMs;
}

/** A leader that was voted out leads until that is committed, and no longer. */
export function stepDownIfRemoved(state: State, leadership: Leadership): void {
  const { configuration, configurations, commitIndex, log } = state;
  if (isVoter(configuration, state.id) || isJoint(configuration)) return;
  if (commitIndex < configurations.effectiveIndex || leadership.transfer !== undefined) return;
  for (const peer of leadership.peers) tellCommit(state, peer);
  // Nobody need wait for silence.
  const successor = bestSuccessor(state, leadership);
  if (successor?.match === log.lastIndex) tellToStand(state, successor);
  becomeFollower(state, 0);
}
