/**
 * Whether a correct node can have sent a peer's message. Messages that fail are dropped, so that
 * nothing a peer sends can break an invariant of this node: after this check the core asserts. It
 * looks at the message and, of the state, only at the term: a term that rises can never fall again,
 * so one that no election can have reached must not be adopted.
 */
import { problemOf } from "../configuration/configuration.js";
import { decodeConfiguration } from "../configuration/configuration-codec.js";
import type { AppendRequest, Entry, InstalledSnapshot, Message, NodeId } from "../types.js";

/** Far beyond any real term, with room to continue counting. */
const TERM_MAX = 2 ** 52;
/** The highest index of an entry that is believed. */
const INDEX_MAX = 2 ** 52;
/**
 * How far a message's term may lie above this node's. An election a second for half a year does not
 * raise it further, and a node that was away for longer is lost. Entries and snapshots never have a
 * higher term than the message that brings them.
 */
export const TERM_JUMP_MAX = 2 ** 24;

/**
 * Whether elections can have led from the term `own` to `term`. `undefined`: this node is new in an
 * existing cluster and knows nothing of its elections.
 */
export function isTermInReach(term: number, own: number | undefined): boolean {
  return term <= TERM_MAX && (own === undefined || term - own <= TERM_JUMP_MAX);
}

/** `own`: the term that this node, `self`, knows. */
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
        typeof message.needsSnapshot === "boolean" &&
        !(message.success && message.needsSnapshot) &&
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
      // A type of message from a newer version.
      return false;
  }
}

/** Whether the leader `from` of `term` can have such a snapshot. */
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

/**
 * Entries follow `prevLogIndex` without gaps; their terms never fall and are at most the sender's.
 */
function isPossibleAppend(message: AppendRequest): boolean {
  const { prevLogIndex, prevLogTerm, commitIndex, entries, term } = message;
  if (!isPosition(prevLogIndex, prevLogTerm) || !isCount(commitIndex)) return false;
  if (!Array.isArray(entries)) return false;
  let index = prevLogIndex;
  let entryTerm = prevLogTerm;
  for (const entry of entries) {
    index += 1;
    if (entry.index !== index || index > INDEX_MAX) return false;
    if (!isCount(entry.term) || entry.term === 0 || entry.term < entryTerm) return false;
    if (!isPossibleData(entry)) return false;
    entryTerm = entry.term;
  }
  return entryTerm <= term;
}

/** Members count as soon as their entry is in the log, so an invalid entry must be kept out. */
function isPossibleData({ kind, data }: Entry): boolean {
  if (!(data instanceof Uint8Array)) return false;
  if (kind !== "configuration") return true;
  const configuration = decodeConfiguration(data);
  return configuration !== undefined && configuration.voters.length > 0;
}

/** Index and term of an entry, or 0 and 0. */
function isPosition(index: number, term: number): boolean {
  return isCount(index) && index <= INDEX_MAX && isCount(term) && (index === 0) === (term === 0);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
