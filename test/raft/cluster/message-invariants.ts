/**
 * What a message says about the disk must be true of the disk when the message leaves, and what
 * it says for a leader must be true of the term. Messages of `sendAfter` are checked only when
 * their write is durable.
 */
import type { Message, NodeId, VoteRequest } from "../../../src/raft/index.js";
import { type ClusterHistory, must } from "./history.js";
import type { SimulatedDisk } from "./simulated-disk.js";

export function checkMessage(history: ClusterHistory, disk: SimulatedDisk, message: Message): void {
  switch (message.type) {
    case "vote":
      checkBallot(history, disk, message.from, message.term, message.from);
      checkAdvertisedLog(history, disk, message);
      break;
    case "voteReply":
      if (message.granted) checkBallot(history, disk, message.from, message.term, message.to);
      break;
    case "appendReply":
      if (message.success) checkAcknowledged(disk, message);
      break;
    case "append":
    case "heartbeat":
    case "timeoutNow":
      checkLeading(history, disk, message.from, message.term);
      break;
    default:
      break;
  }
}

/** Appends may overtake the disk, but not the record that says which term they are of. */
function checkLeading(
  history: ClusterHistory,
  disk: SimulatedDisk,
  from: NodeId,
  leadTerm: number,
): void {
  const leader = history.leaderOf(leadTerm);
  must(
    leader === undefined || leader === from,
    () => `${from} acts as leader of term ${leadTerm}, which is ${leader}`,
  );
  const { term, vote } = disk.hardState;
  must(
    term > leadTerm || (term === leadTerm && vote === from),
    () => `${from} leads term ${leadTerm}, disk: vote ${vote}, term ${term}`,
  );
}

function checkBallot(
  history: ClusterHistory,
  disk: SimulatedDisk,
  voter: NodeId,
  voteTerm: number,
  candidate: NodeId,
): void {
  history.onVote(voter, voteTerm, candidate);
  const { term, vote } = disk.hardState;
  must(
    term > voteTerm || (term === voteTerm && vote === candidate),
    () => `${voter} votes for ${candidate} in term ${voteTerm}, disk: vote ${vote}, term ${term}`,
  );
}

function checkAdvertisedLog(
  history: ClusterHistory,
  disk: SimulatedDisk,
  message: VoteRequest,
): void {
  const { from, term, lastLogIndex, lastLogTerm } = message;
  // A request that waited while somebody else won its term can elect nobody any more, and the
  // winner may have cut the log it speaks of.
  if (disk.hardState.term > term || history.leaderOf(term) !== undefined) return;
  must(
    disk.termAt(lastLogIndex) === lastLogTerm,
    () => `${from} advertises entry ${lastLogIndex} of term ${lastLogTerm} and lacks it on disk`,
  );
}

function checkAcknowledged(
  disk: SimulatedDisk,
  message: Extract<Message, { type: "appendReply" }>,
): void {
  const { term } = disk.hardState;
  const isOvertaken = term > message.term;
  must(
    isOvertaken || (term === message.term && disk.lastIndex >= message.matchIndex),
    () =>
      `${message.from} acknowledges ${message.matchIndex} in term ${message.term}, ` +
      `disk: ${disk.lastIndex} in term ${term}`,
  );
}
