/**
 * Whether a peer's message can have been sent by a correct node at all. What fails is dropped, so
 * that nothing a peer sends can break an invariant of this node: after this check the core asserts.
 * It looks at what was sent, and of the state at the term alone: a term that rises can never fall
 * again, so one that no election can have reached must not be taken up.
 */
import { problemOf } from "../configuration/configuration.js";
import { decodeConfiguration } from "../configuration/configuration-codec.js";
import type { AppendRequest, Entry, InstalledSnapshot, Message, NodeId } from "../types.js";

/** Far beyond any real term, and leaves room to go on counting. */
const TERM_MAX = 2 ** 52;
/**
 * How far a message's term may lie above the own one. An election a second for half a year makes
 * no more, and a node that was away for longer is lost. Terms of entries and snapshots are at most
 * that of the message which brings them.
 */
export const TERM_JUMP_MAX = 2 ** 24;

/**
 * Whether elections can have led from the term `own` to `term`. `undefined`: this node, made anew for
 * a cluster that is there already, knows nothing of its elections.
 */
export function isTermInReach(term: number, own: number | undefined): boolean {
  return term <= TERM_MAX && (own === undefined || term - own <= TERM_JUMP_MAX);
}

/** `own`: the term that this node, `self`, knows of. */
export function isPossible(message: Message, self: NodeId, own: number | undefined): boolean {
  const { from, to, term, epoch } = message;
  if (to !== self || !isPossibleSender(from, term, epoch, self)) return false;
  if (!isTermInReach(term, own)) return false;
  switch (message.type) {
    case "preVote":
    case "vote":
      return (
        isPosition(message.lastLogIndex, message.lastLogTerm) &&
        message.lastLogTerm < term &&
        typeof message.isTransfer === "boolean"
      );
    case "preVoteReply":
    case "voteReply":
      return typeof message.granted === "boolean";
    case "append":
      return isPossibleAppend(message);
    case "appendReply":
      return (
        typeof message.success === "boolean" &&
        isCount(message.matchIndex) &&
        isCount(message.rejectedIndex) &&
        isPosition(message.hintIndex, message.hintTerm)
      );
    case "heartbeat":
      return isCount(message.commitIndex) && isCount(message.round);
    case "heartbeatReply":
      return isCount(message.round);
    case "timeoutNow":
      return isPosition(message.lastLogIndex, message.lastLogTerm) && message.lastLogTerm <= term;
    default:
      // A kind that a newer version sends.
      return false;
  }
}

/** Whether the leader `from` of `term` can have such a snapshot at all. */
export function isPossibleSnapshot(
  snapshot: InstalledSnapshot,
  from: NodeId,
  term: number,
  epoch: number,
  self: NodeId,
  own: number | undefined,
): boolean {
  if (!isPossibleSender(from, term, epoch, self) || !isTermInReach(term, own)) return false;
  if (!isPosition(snapshot.index, snapshot.term) || snapshot.index === 0) return false;
  const { configuration } = snapshot;
  return (
    snapshot.term <= term &&
    configuration.voters.length > 0 &&
    problemOf(configuration) === undefined
  );
}

function isPossibleSender(from: NodeId, term: number, epoch: number, self: NodeId): boolean {
  if (from === self || !isCount(from) || from === 0 || !isCount(epoch)) return false;
  return isCount(term) && term > 0;
}

/** Entries follow `prevLogIndex` without gaps; their terms never fall and end at the sender's. */
function isPossibleAppend(message: AppendRequest): boolean {
  const { prevLogIndex, prevLogTerm, commitIndex, entries, term } = message;
  if (!isPosition(prevLogIndex, prevLogTerm) || !isCount(commitIndex)) return false;
  if (!Array.isArray(entries)) return false;
  let index = prevLogIndex;
  let entryTerm = prevLogTerm;
  for (const entry of entries) {
    index += 1;
    if (entry.index !== index || !Number.isSafeInteger(index)) return false;
    if (!isCount(entry.term) || entry.term === 0 || entry.term < entryTerm) return false;
    if (!isPossibleData(entry)) return false;
    entryTerm = entry.term;
  }
  return entryTerm <= term;
}

/** The members that an entry names count at once: nonsense must not get into the log. */
function isPossibleData({ kind, data }: Entry): boolean {
  if (!(data instanceof Uint8Array)) return false;
  if (kind !== "configuration") return true;
  const configuration = decodeConfiguration(data);
  return configuration !== undefined && configuration.voters.length > 0;
}

/** Index and term of an entry, or 0 and 0. */
function isPosition(index: number, term: number): boolean {
  return isCount(index) && isCount(term) && (index === 0) === (term === 0);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
