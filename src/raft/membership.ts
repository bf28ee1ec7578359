/**
 * Changes of the members (thesis, chapter 4). Learners come and go with one plain entry. A change
 * of the voters goes through a joint configuration; when that is committed, the leader of that
 * time, the same or another, ends it. There is one change at a time, none before an entry of the
 * leader's own term is committed (consensus rule 8), and none that would leave the cluster without
 * a reachable majority.
 *
 * How members leave: the leader keeps sending a removed peer the entry that removes it, and its
 * commit, so that the peer learns of its removal instead of standing for election. A leader that is
 * no longer a voter stops leading when that is committed, after it has informed the others (thesis,
 * 4.2.2 and 4.2.3).
 */
import {
  hasSameVoters,
  isJoint,
  isSameConfiguration,
  isVoter,
  membersOf,
  plainOf,
  problemOf,
  settledOf,
} from "./configuration/configuration.js";
import { encodeConfiguration } from "./configuration/configuration-codec.js";
import { quorumSize } from "./configuration/quorum.js";
import { appendOwn } from "./leader.js";
import type { Progress } from "./progress/progress.js";
import { tellCommit } from "./replication.js";
import { becomeFollower, type Leadership, type State } from "./state.js";
import { bestSuccessor, tellToStand } from "./transfer.js";
import type { Configuration, MembershipTarget, NodeId, RefusalReason } from "./types.js";

/** Committed entries that a future voter may lack. */
const VOTER_LAG_ENTRIES_MAX = 1_000;

export function changeMembership(state: State, id: number, target: MembershipTarget): void {
  const { leadership, outbox, configuration } = state;
  if (leadership === undefined) {
    outbox.refuse(id, "notLeader");
    return;
  }
  const wanted = plainOf(target.voters, target.learners, target.addresses);
  const reason = obstacle(state, leadership, wanted, target);
  if (reason !== undefined) {
    outbox.refuse(id, reason);
    return;
  }
  const isPlain = hasSameVoters(wanted, configuration);
  const first = isPlain ? wanted : jointOf(configuration, wanted);
  outbox.accept(id, appendConfiguration(state, leadership, first), state.term);
}

/** Ends a joint configuration that is committed, even if another leader began it. */
export function completeMembership(state: State, leadership: Leadership): void {
  const { configuration, configurationHistory, commitIndex } = state;
  if (!isJoint(configuration) || leadership.transfer !== undefined) return;
  if (commitIndex < Math.max(configurationHistory.effectiveIndex, leadership.firstIndex)) return;
  appendConfiguration(state, leadership, settledOf(configuration));
}

function appendConfiguration(
  state: State,
  leadership: Leadership,
  configuration: Configuration,
): number {
  const data = encodeConfiguration(configuration);
  const index = appendOwn(state, leadership, "configuration", data);
  leadership.followMembers(state);
  return index;
}

/** Forgets the removed peers that know of their removal or cannot be reached. */
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

/** A leader that is no longer a voter leads until its removal is committed, and then steps down. */
export function stepDownIfRemoved(state: State, leadership: Leadership): void {
  const { configuration, configurationHistory, commitIndex, log } = state;
  if (isVoter(configuration, state.id) || isJoint(configuration)) return;
  if (commitIndex < configurationHistory.effectiveIndex || leadership.transfer !== undefined)
    return;
  for (const peer of leadership.peers) tellCommit(state, peer);
  // Spares the others an election timeout.
  const successor = bestSuccessor(state, leadership);
  if (successor?.match === log.lastIndex) tellToStand(state, successor);
  becomeFollower(state, 0);
}

/** Why the change to `wanted` cannot begin; `undefined` if it can. */
function obstacle(
  state: State,
  leadership: Leadership,
  wanted: Configuration,
  target: MembershipTarget,
): RefusalReason | undefined {
  const { configuration, configurationHistory, commitIndex } = state;
  if (leadership.transfer !== undefined) return "transferring";
  const isOpen = isJoint(configuration) || commitIndex < configurationHistory.effectiveIndex;
  if (isOpen || commitIndex < leadership.firstIndex) return "notReady";
  if (!isPossibleTarget(wanted, target)) return "invalid";
  if (isSameConfiguration(wanted, settledOf(configuration))) return "invalid";
  const { voters } = configuration;
  for (const id of wanted.voters) {
    if (!voters.includes(id) && !isCaughtUp(state, leadership, id)) return "notCaughtUp";
  }
  const isSafe =
    isMajorityReachable(state, leadership, wanted.voters) &&
    isMajorityReachable(state, leadership, voters);
  return isSafe ? undefined : "wouldLoseQuorum";
}

/** Whether `wanted`, made of `target`, is valid; `target` may name members twice. */
function isPossibleTarget(wanted: Configuration, target: MembershipTarget): boolean {
  if (wanted.voters.length === 0 || problemOf(wanted) !== undefined) return false;
  const addressed = new Set(target.addresses.map(({ id }) => id));
  return membersOf(wanted).every((id) => addressed.has(id));
}

/** Whether it is a member, reachable, and close to the commit index. */
function isCaughtUp(state: State, leadership: Leadership, id: NodeId): boolean {
  const peer = leadership.progressOf(id);
  if (peer === undefined || peer.isLeaving) return false;
  if (!peer.isReachable(state.nowMs, state.config.electionTimeoutMs)) return false;
  return peer.match > 0 && peer.match + VOTER_LAG_ENTRIES_MAX >= state.commitIndex;
}

function isMajorityReachable(
  state: State,
  leadership: Leadership,
  voters: readonly NodeId[],
): boolean {
  const { nowMs, config } = state;
  let reachable = 0;
  for (const id of voters) {
    const peer = leadership.progressOf(id);
    const isReachable = peer?.isReachable(nowMs, config.electionTimeoutMs) === true;
    if (id === state.id || isReachable) reachable += 1;
  }
  return reachable >= quorumSize(voters.length);
}

function jointOf(present: Configuration, wanted: Configuration): Configuration {
  const { voters, learners } = wanted;
  const remaining = present.addresses.filter(
    ({ id }) => present.voters.includes(id) && !wanted.addresses.some((other) => other.id === id),
  );
  return {
    voters,
    outgoing: [...present.voters].sort(byId),
    learners,
    addresses: [...wanted.addresses, ...remaining].sort((a, b) => a.id - b.id),
  };
}

function byId(left: NodeId, right: NodeId): number {
  return left - right;
}
