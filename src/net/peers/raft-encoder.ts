/**
 * Encodes the bodies of the consensus core's messages. The layout is in `format.ts`.
 */
import { assert, unreachable } from "../../errors/index.js";
import type { AppendReply, AppendRequest, Message } from "../../raft/index.js";
import { BODY_BYTES, ENTRY_HEADER_BYTES, ENTRY_KIND, OUTCOME } from "./format.js";
import type { PeerFrame } from "./frame.js";

/** The exact number of bytes that `encodeRaft` writes. */
export function raftBodyBytes(message: Message): number {
  switch (message.type) {
    case "preVote":
    case "vote":
      return BODY_BYTES.voteRequest;
    case "preVoteReply":
    case "voteReply":
      return BODY_BYTES.voteReply;
    case "append": {
      let bytes: number = BODY_BYTES.append;
      for (const entry of message.entries) bytes += ENTRY_HEADER_BYTES + entry.data.length;
      return bytes;
    }
    default:
      return BODY_BYTES[message.type];
  }
}

export function encodeRaft(frame: PeerFrame, message: Message): void {
  frame.uint64(message.term);
  frame.uint64(message.epoch);
  switch (message.type) {
    case "preVote":
    case "vote":
      frame.uint64(message.lastLogIndex);
      frame.uint64(message.lastLogTerm);
      frame.uint8(message.isTransfer ? 1 : 0);
      return;
    case "preVoteReply":
    case "voteReply":
      frame.uint8(message.granted ? 1 : 0);
      return;
    case "append":
      encodeAppend(frame, message);
      return;
    case "appendReply":
      encodeAppendReply(frame, message);
      return;
    case "heartbeat":
      frame.uint64(message.commitIndex);
      frame.uint64(message.round);
      return;
    case "heartbeatReply":
      frame.uint64(message.round);
      return;
    case "timeoutNow":
      frame.uint64(message.lastLogIndex);
      frame.uint64(message.lastLogTerm);
      return;
    default:
      unreachable(message);
  }
}

/** Indexes of entries are not sent, because they follow `prevLogIndex` without a gap. */
function encodeAppend(frame: PeerFrame, message: AppendRequest): void {
  frame.uint64(message.prevLogIndex);
  frame.uint64(message.prevLogTerm);
  frame.uint64(message.commitIndex);
  frame.uint32(message.entries.length);
  let expected = message.prevLogIndex;
  for (const entry of message.entries) {
    expected += 1;
    assert(entry.index === expected, () => `entry ${entry.index} sent instead of ${expected}`);
    frame.uint8(ENTRY_KIND[entry.kind]);
    frame.uint64(entry.term);
    frame.uint32(entry.data.length);
    frame.raw(entry.data);
  }
}

function outcomeOf({ success, needsSnapshot }: AppendReply): number {
  if (success) return OUTCOME.accepted;
  return needsSnapshot ? OUTCOME.needsSnapshot : OUTCOME.refused;
}

function encodeAppendReply(frame: PeerFrame, message: AppendReply): void {
  frame.uint8(outcomeOf(message));
  frame.uint64(message.matchIndex);
  frame.uint64(message.rejectedIndex);
  frame.uint64(message.hintIndex);
  frame.uint64(message.hintTerm);
}
