/**
 * The arithmetic of majorities, for plain and joint configurations (thesis, 4.3): a joint
 * configuration decides only what both a majority of the voters *and* a majority of the outgoing
 * voters decide. Pure functions of their arguments; they must not depend on roles or messages.
 */
import type { Configuration, NodeId } from "../types.js";

export type BallotOutcome = "won" | "lost" | "pending";

/** The least number of `voterCount` voters that is a majority. */
export function quorumSize(voterCount: number): number {
  return Math.floor(voterCount / 2) + 1;
}

/**
 * The largest value that a majority of `voters` has reached, `Infinity` without voters (an empty
 * half of a configuration does not object). Quadratic and without allocation, because voters are
 * few.
 */
function majorityValue(voters: readonly NodeId[], reachedBy: (voter: NodeId) => number): number {
  if (voters.length === 0) return Number.POSITIVE_INFINITY;
  const quorum = quorumSize(voters.length);
  let best = Number.NEGATIVE_INFINITY;
  for (const candidate of voters) {
    const value = reachedBy(candidate);
    if (value <= best) continue;
    let reached = 0;
    for (const voter of voters) if (reachedBy(voter) >= value) reached += 1;
    if (reached >= quorum) best = value;
  }
  return best;
}

/** The largest value reached by a majority of each half of `configuration`. */
export function quorumValue(
  configuration: Configuration,
  reachedBy: (voter: NodeId) => number,
): number {
  return Math.min(
    majorityValue(configuration.voters, reachedBy),
    majorityValue(configuration.outgoing, reachedBy),
  );
}

/** The outcome of the ballots so far; `undefined` is a voter that may still answer. */
export function ballotOutcome(
  configuration: Configuration,
  ballotOf: (voter: NodeId) => boolean | undefined,
): BallotOutcome {
  const incoming = majorityOutcome(configuration.voters, ballotOf);
  const outgoing = majorityOutcome(configuration.outgoing, ballotOf);
  if (incoming === "lost" || outgoing === "lost") return "lost";
  return incoming === "won" && outgoing === "won" ? "won" : "pending";
}

function majorityOutcome(
  voters: readonly NodeId[],
  ballotOf: (voter: NodeId) => boolean | undefined,
): BallotOutcome {
  if (voters.length === 0) return "won";
  const quorum = quorumSize(voters.length);
  let granted = 0;
  let possible = 0;
  for (const voter of voters) {
    const ballot = ballotOf(voter);
    if (ballot === true) granted += 1;
    if (ballot !== false) possible += 1;
  }
  if (granted >= quorum) return "won";
  return possible >= quorum ? "pending" : "lost";
}
