/**
 * Changes of the members (thesis, chapter 4). Whoever only listens comes and goes with one plain
 * entry; a change of those who decide goes through a joint configuration, which whoever leads ends
 * when it is committed. One change at a time, none before an entry of the own term is committed
 * (consensus rule 8), and none that would leave the cluster without a majority within reach.
 */
import {
  hasSameVoters,
  isJoint,
  isSameConfiguration,
  membersOf,
  problemOf,
} from "./configuration/configuration.js";
import { encodeConfiguration } from "./configuration/configuration-codec.js";
import { quorumSize } from "./configuration/quorum.js";
import { appendOwn, type Leadership } from "./leadership.js";
import { isReachable } from "./progress/progress.js";
import type { State } from "./state.js";
import type {
  Configuration,
  MemberAddress,
  MembershipTarget,
  NodeId,
  RefusalReason,
} from "./types.js";

/** A voter to be may lack so many committed entries. */
const VOTER_LAG_ENTRIES_MAX = 1_000;

export function changeMembership(state: State, id: number, target: MembershipTarget): void {
  const { leadership, outbox, configuration } = state;
  if (leadership === undefined) {
    outbox.refuse(id, "notLeader");
    return;
  }
  const wanted = plain(target.voters, target.learners, target.addresses);
  const reason = obstacle(state, leadership, wanted, target);
  if (reason !== undefined) {
    outbox.refuse(id, reason);
    return;
  }
  const isPlain = hasSameVoters(wanted, configuration);
  const first = isPlain ? wanted : jointOf(configuration, wanted);
  outbox.accept(id, appendConfiguration(state, leadership, first), state.term);
}

/** Ends a joint configuration that is committed, whoever began it. */
export function completeMembership(state: State, leadership: Leadership): void {
  const { configuration, configurations, commitIndex } = state;
  if (!isJoint(configuration) || leadership.transfer !== undefined) return;
  if (commitIndex < Math.max(configurations.effectiveIndex, leadership.firstIndex)) return;
  const { voters, learners, addresses } = configuration;
  appendConfiguration(state, leadership, plain(voters, learners, addresses));
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

/** Why the change to `wanted` cannot begin; `undefined` when it can. */
function obstacle(
  state: State,
  leadership: Leadership,
  wanted: Configuration,
  target: MembershipTarget,
): RefusalReason | undefined {
  const { configuration, configurations, commitIndex } = state;
  if (leadership.transfer !== undefined) return "transferring";
  const isOpen = isJoint(configuration) || commitIndex < configurations.effectiveIndex;
  if (isOpen || commitIndex < leadership.firstIndex) return "notReady";
  if (!isPossibleTarget(wanted, target)) return "invalid";
  const { voters, learners, addresses } = configuration;
  if (isSameConfiguration(wanted, plain(voters, learners, addresses))) return "invalid";
  for (const id of wanted.voters) {
    if (!voters.includes(id) && !isCaughtUp(state, leadership, id)) return "notCaughtUp";
  }
  const isSafe =
    isMajorityReachable(state, leadership, wanted.voters) &&
    isMajorityReachable(state, leadership, voters);
  return isSafe ? undefined : "wouldLoseQuorum";
}

/** `wanted` is what a configuration could hold of `target`, which may name members twice. */
function isPossibleTarget(wanted: Configuration, target: MembershipTarget): boolean {
  if (wanted.voters.length === 0 || problemOf(wanted) !== undefined) return false;
  const addressed = new Set(target.addresses.map(({ id }) => id));
  return membersOf(wanted).every((id) => addressed.has(id));
}

/** A member already, in touch, and close behind what is committed. */
function isCaughtUp(state: State, leadership: Leadership, id: NodeId): boolean {
  const peer = leadership.progressOf(id);
  if (peer === undefined || peer.isLeaving || !isReachable(state, peer)) return false;
  return peer.match > 0 && peer.match + VOTER_LAG_ENTRIES_MAX >= state.commitIndex;
}

function isMajorityReachable(
  state: State,
  leadership: Leadership,
  voters: readonly NodeId[],
): boolean {
  let reachable = 0;
  for (const id of voters) {
    const peer = leadership.progressOf(id);
    if (id === state.id || (peer !== undefined && isReachable(state, peer))) reachable += 1;
  }
  return reachable >= quorumSize(voters.length);
}

/** In the order of ids, with the addresses of its members. */
function plain(
  voters: readonly NodeId[],
  learners: readonly NodeId[],
  addresses: readonly MemberAddress[],
): Configuration {
  return {
    voters: [...voters].sort(byId),
    outgoing: [],
    learners: [...learners].sort(byId),
    addresses: addresses
      .filter(({ id }) => voters.includes(id) || learners.includes(id))
      .sort((a, b) => a.id - b.id),
  };
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
