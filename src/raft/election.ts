/**
 * Elections: pre-vote (thesis, 9.6), votes (Raft paper, 5.2 and 5.4.1), loyalty to a live leader
 * (thesis, 4.2.3) unless that leader asked for the election itself (thesis, 3.10). A vote and the
 * request for one are sent only when term, vote and the part of the log that they speak of are
 * durable. A voter decides by terms and logs alone, never by its own configuration.
 */
import { isVoter, votersOf } from "./configuration/configuration.js";
import { ballotOutcome } from "./configuration/quorum.js";
import { becomeLeader } from "./leader.js";
import {
  becomeCandidate,
  becomePreCandidate,
  castVote,
  endElectionTimer,
  forgivePause,
  hasLiveLeader,
  hastenElection,
  loseElection,
  noteSilence,
  raiseTerm,
  repeatElection,
  restartElectionTimer,
  type State,
} from "./state.js";
import type { NodeId, TimeoutNow, VoteReply, VoteRequest } from "./types.js";

/** No leader was heard for too long. */
export function onElectionTimeout(state: State): void {
  const isLeaderClosed = state.leader !== 0 && state.links.isClosed(state.leader);
  if (state.isLate && !state.isPauseForgiven && !isLeaderClosed) {
    // This process stood still, which says nothing about the other nodes.
    forgivePause(state);
    return;
  }
  noteSilence(state);
  if (canStand(state)) startPreVote(state);
}

/** The leader hands over to this node, which has every entry: no pre-vote is needed. */
export function onTimeoutNow(state: State, message: TimeoutNow): void {
  const { log, term, leader } = state;
  if (message.term !== term || leader !== message.from || !canStand(state)) return;
  if (message.lastLogIndex !== log.lastIndex || message.lastLogTerm !== log.lastTerm) return;
  startElection(state, true);
}

/**
 * A node whose disk hangs, or whose table is incomplete, could not serve, so asking for votes would
 * only disturb. It would not know the time either, which continues from the last stamp in the table
 * and the log.
 */
function canStand(state: State): boolean {
  const { oldestPendingMs } = state.durability;
  const isDiskStalled = oldestPendingMs + state.config.electionTimeoutMs <= state.nowMs;
  return isElectable(state) && !isDiskStalled && state.restoringIndex === 0;
}

/**
 * A voter, or a node that was a voter until an entry that may not be committed (thesis, 4.2.2). The
 * nodes that still use the configuration before need its vote, and cannot get it because its log is
 * longer. Such a candidate counts the others' votes and not its own, and leads until the entry is
 * committed.
 */
function isElectable(state: State): boolean {
  const { configuration, configurationHistory, commitIndex, id } = state;
  if (isVoter(configuration, id)) return true;
  const { previous, effectiveIndex } = configurationHistory;
  return effectiveIndex > commitIndex && previous !== undefined && isVoter(previous, id);
}

function startPreVote(state: State): void {
  becomePreCandidate(state);
  requestBallots(state);
  count(state);
}

function startElection(state: State, isTransfer: boolean): void {
  becomeCandidate(state, isTransfer);
  requestBallots(state);
  count(state);
}

function requestBallots(state: State): void {
  for (const voter of votersOf(state.configuration)) {
    if (voter !== state.id) requestBallot(state, voter);
  }
}

/** Asks `voter` for its (pre-)vote, or asks again on a new connection. */
export function requestBallot(state: State, voter: NodeId): void {
  const { role, links, outbox, log } = state;
  if (role !== "preCandidate" && role !== "candidate") return;
  if (!links.isUp(voter) || state.ballots.has(voter) || !isVoter(state.configuration, voter)) {
    return;
  }
  const isPreVote = role === "preCandidate";
  const request: VoteRequest = {
    type: isPreVote ? "preVote" : "vote",
    from: state.id,
    to: voter,
    term: isPreVote ? state.term + 1 : state.term,
    epoch: links.epochOf(voter),
    lastLogIndex: log.lastIndex,
    lastLogTerm: log.lastTerm,
    isTransfer: !isPreVote && state.isTransferElection,
  };
  if (isPreVote) outbox.sendNow(request);
  else outbox.sendDurable(request);
}

export function onPreVote(state: State, message: VoteRequest): void {
  const isLoyal = hasLiveLeader(state) || awaitsLeader(state, message);
  const isFree = message.term > state.term && !isLoyal;
  const granted = isFree && isUpToDate(state, message);
  if (isFree && !granted) standInstead(state, message.from);
  // A refusal carries the voter's own term, so that a node with an older term learns it (rule 12).
  const term = granted ? message.term : state.term;
  state.outbox.sendNow(voteReply(state, "preVoteReply", message, term, granted));
}

/**
 * The node that has this node's vote may be about to lead. For as long as an election takes, no
 * other node gets a pre-vote for the next term, because the new leader would be deposed as soon as
 * it was elected (consensus rule 26). This does not apply if the leader of the term is known, or if
 * this candidate has the vote itself.
 */
function awaitsLeader(state: State, { from }: VoteRequest): boolean {
  const { id, vote, leader, links, votedAtMs, nowMs, config } = state;
  if (leader !== 0 || vote === 0 || vote === from) return false;
  const mayWin = vote === id ? state.role === "candidate" : links.isUp(vote);
  return mayWin && nowMs < votedAtMs + config.closedPeerDelayMs;
}

/** An election began in this term a short while ago. */
function isElectionUnderWay({ nowMs, termBeganMs, config }: State): boolean {
  return nowMs < termBeganMs + config.electionTimeoutMs;
}

/**
 * The candidate lacks entries that this node has and cannot win, so this node stands instead,
 * unless it has asked the candidate for its vote already. A candidate that refused because it had a
 * leader no longer has one, so this node asks again. If there are three voters and one is down,
 * only this node can win. If there are more, the same request may have reached others with equal
 * logs: if all stood at once, they would split the votes, and the loser would disturb the winner.
 */
function standInstead(state: State, other: NodeId): void {
  const wasRefused = state.role === "preCandidate" && state.ballots.get(other) === false;
  if (state.role !== "follower" && !wasRefused) return;
  if (votersOf(state.configuration).length > 3) hastenElection(state);
  else endElectionTimer(state);
}

export function onVote(state: State, message: VoteRequest): void {
  if (message.term > state.term) {
    // Ignored, including its term.
    if (hasLiveLeader(state) && !message.isTransfer) return;
    raiseTerm(state, message.term);
  }
  const isFree = state.vote === message.from || (state.vote === 0 && state.leader === 0);
  if (message.term < state.term || !isFree || !isUpToDate(state, message)) {
    state.outbox.sendNow(voteReply(state, "voteReply", message, state.term, false));
    return;
  }
  castVote(state, message.from);
  restartElectionTimer(state);
  state.outbox.sendDurable(voteReply(state, "voteReply", message, state.term, true));
}

export function onBallot(state: State, message: VoteReply): void {
  const isPreVote = message.type === "preVoteReply";
  if (message.term > state.term && !(isPreVote && message.granted)) {
    const isLost = isPreVote && state.role === "preCandidate";
    raiseTerm(state, message.term);
    // An election of that term may elect no leader (consensus rule 27).
    if (isLost) repeatElection(state);
    return;
  }
  if (state.role !== (isPreVote ? "preCandidate" : "candidate")) return;
  if (message.epoch !== state.links.epochOf(message.from)) return;
  const expectedTerm = isPreVote ? state.term + 1 : state.term;
  if (message.granted && message.term !== expectedTerm) return;
  // A refused vote of an earlier term says nothing about this one. A refused pre-vote carries the
  // voter's term, which may be lower than the candidate's.
  if (!message.granted && !isPreVote && message.term !== state.term) return;
  state.ballots.set(message.from, message.granted);
  count(state);
}

/** The connection of a voter ended: a missing answer may never come. */
export function onVoterDown(state: State): void {
  if (state.role === "candidate") count(state);
}

/** This node's own vote counts from now on. */
export function onVoteDurable(state: State): void {
  if (state.role === "candidate") count(state);
}

/**
 * A node that cannot be reached has no vote, nor has the leader whose silence caused this election
 * (consensus rule 28).
 */
function count(state: State): void {
  const outcome = ballotOutcome(state.configuration, (voter) => {
    if (voter === state.id) return ownBallot(state);
    const ballot = state.ballots.get(voter);
    if (ballot !== undefined) return ballot;
    return state.links.isUp(voter) && voter !== state.silentLeader ? undefined : false;
  });
  if (outcome === "pending") return;
  if (state.role === "preCandidate") {
    if (outcome === "won") startElection(state, false);
    // A vote that elects no leader may bind the others (consensus rule 27).
    else if (isElectionUnderWay(state)) repeatElection(state);
    // Otherwise it waits for its timer, or for voters that connect in the meantime.
  } else if (outcome === "won") {
    becomeLeader(state);
  } else {
    // All reachable voters have answered, so the votes were split: no timeout needs to pass.
    loseElection(state);
  }
}

/**
 * Every vote counts only when it is durable, the candidate's own too. Otherwise a voter that
 * decides alone could lead one term twice, before and after a crash, and send its learners two
 * different versions of one entry.
 */
function ownBallot(state: State): true | undefined {
  const isDurable = state.durability.isHardStateDurable(state.term, state.vote);
  return state.role === "preCandidate" || isDurable ? true : undefined;
}

/** Whether the candidate's log is at least as up to date as this node's (Raft paper, 5.4.1). */
function isUpToDate(state: State, message: VoteRequest): boolean {
  const { lastTerm, lastIndex } = state.log;
  return (
    message.lastLogTerm > lastTerm ||
    (message.lastLogTerm === lastTerm && message.lastLogIndex >= lastIndex)
  );
}

function voteReply(
  state: State,
  type: VoteReply["type"],
  request: VoteRequest,
  term: number,
  granted: boolean,
): VoteReply {
  return { type, from: state.id, to: request.from, term, epoch: request.epoch, granted };
}
