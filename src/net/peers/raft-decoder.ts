/**
 * Decodes the bodies of the consensus core's messages, strictly: see `decoder.ts` for the rules and
 * `format.ts` for the layout.
 */
import type { Entry, Message, NodeId } from "../../raft/index.js";
import { BODY_BYTES, ENTRY_HEADER_BYTES, ENTRY_KIND_NAMES, OUTCOME, PEER_KIND } from "./format.js";
import { type FrameCursor, fail } from "./frame-cursor.js";

/**
 * Decodes the message of `kind` whose body begins at the reader's position. Reads at most up to
 * `end`.
 */
export function decodeRaft(
  reader: FrameCursor,
  kind: number,
  end: number,
  from: NodeId,
  to: NodeId,
): Message {
  reader.open(end, raftFixedBytes(kind));
  const term = reader.uint64();
  const epoch = reader.uint64();
  switch (kind) {
    case PEER_KIND.preVote:
    case PEER_KIND.vote: {
      const type = kind === PEER_KIND.vote ? "vote" : "preVote";
      const lastLogIndex = reader.uint64();
      const lastLogTerm = reader.uint64();
      const isTransfer = reader.boolean();
      return { type, from, to, term, epoch, lastLogIndex, lastLogTerm, isTransfer };
    }
    case PEER_KIND.preVoteReply:
    case PEER_KIND.voteReply: {
      const type = kind === PEER_KIND.voteReply ? "voteReply" : "preVoteReply";
      return { type, from, to, term, epoch, granted: reader.boolean() };
    }
    case PEER_KIND.append: {
      const prevLogIndex = reader.uint64();
      const prevLogTerm = reader.uint64();
      const commitIndex = reader.uint64();
      const entries = decodeEntries(reader, end, prevLogIndex);
      const type = "append";
      return { type, from, to, term, epoch, prevLogIndex, prevLogTerm, commitIndex, entries };
    }
    case PEER_KIND.appendReply: {
      const outcome = reader.uint8();
      if (outcome > OUTCOME.needsSnapshot) fail(`outcome ${outcome} of an append`);
      const success = outcome === OUTCOME.accepted;
      const needsSnapshot = outcome === OUTCOME.needsSnapshot;
      const matchIndex = reader.uint64();
      const rejectedIndex = reader.uint64();
      const hintIndex = reader.uint64();
      const hintTerm = reader.uint64();
      const type = "appendReply";
      const base = { type, from, to, term, epoch, success, needsSnapshot } as const;
      return { ...base, matchIndex, rejectedIndex, hintIndex, hintTerm };
    }
    case PEER_KIND.heartbeat: {
      const commitIndex = reader.uint64();
      const type = "heartbeat";
      return { type, from, to, term, epoch, commitIndex, round: reader.uint64() };
    }
    case PEER_KIND.timeoutNow: {
      const lastLogIndex = reader.uint64();
      const type = "timeoutNow";
      return { type, from, to, term, epoch, lastLogIndex, lastLogTerm: reader.uint64() };
    }
    default:
      return { type: "heartbeatReply", from, to, term, epoch, round: reader.uint64() };
  }
}

function raftFixedBytes(kind: number): number {
  switch (kind) {
    case PEER_KIND.preVote:
    case PEER_KIND.vote:
      return BODY_BYTES.voteRequest;
    case PEER_KIND.preVoteReply:
    case PEER_KIND.voteReply:
      return BODY_BYTES.voteReply;
    case PEER_KIND.append:
      return BODY_BYTES.append;
    case PEER_KIND.appendReply:
      return BODY_BYTES.appendReply;
    case PEER_KIND.heartbeat:
      return BODY_BYTES.heartbeat;
    case PEER_KIND.heartbeatReply:
      return BODY_BYTES.heartbeatReply;
    case PEER_KIND.timeoutNow:
      return BODY_BYTES.timeoutNow;
    default:
      return fail(`unknown message kind ${kind}`);
  }
}

function decodeEntries(reader: FrameCursor, end: number, prevLogIndex: number): Entry[] {
  const count = reader.uint32();
  if (count * ENTRY_HEADER_BYTES > end - reader.at) fail(`${count} entries announced, cut short`);
  if (prevLogIndex + count > Number.MAX_SAFE_INTEGER) fail(`entries after ${prevLogIndex}`);
  const entries: Entry[] = [];
  for (let index = prevLogIndex + 1; index <= prevLogIndex + count; index += 1) {
    reader.open(end, ENTRY_HEADER_BYTES);
    const kind = ENTRY_KIND_NAMES[reader.uint8()];
    if (kind === undefined) return fail(`entry ${index} of an unknown kind`);
    const term = reader.uint64();
    const length = reader.uint32();
    reader.open(end, length);
    entries.push({ index, term, kind, data: reader.raw(length) });
  }
  return entries;
}
