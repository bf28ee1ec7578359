/**
 * Peer messages to bytes. What is encoded was made by this process, so a message that does not fit
 * the format is a broken invariant, not an error. The layout is in `peer-format.ts`.
 */
import { assert, unreachable } from "../assert.js";
import type { AppendReply, AppendRequest, Message } from "../raft/index.js";
import {
  BODY_BYTES,
  ENTRY_HEADER_BYTES,
  ENTRY_KIND,
  FORWARD_REFUSAL,
  PEER_HEADER_BYTES,
  PEER_KIND,
  PEER_MESSAGE_VERSION,
} from "./peer-format.js";
import type { PeerFrame } from "./peer-frame.js";
import type { PeerMessage } from "./types.js";

/** The exact number of bytes that `encodePeerMessage` will write. */
export function peerMessageBytes(message: PeerMessage): number {
  return PEER_HEADER_BYTES + bodyBytes(message);
}

/** Appends one message to the frame. `bytes`: what `peerMessageBytes` said of it. */
export function encodePeerMessage(
  frame: PeerFrame,
  group: number,
  message: PeerMessage,
  bytes: number,
): void {
  frame.reserve(bytes);
  const end = frame.length + bytes;
  frame.uint8(message.type === "raft" ? PEER_KIND[message.message.type] : PEER_KIND[message.type]);
  frame.uint8(PEER_MESSAGE_VERSION);
  frame.uint32(group);
  frame.uint32(bytes - PEER_HEADER_BYTES);
  encodeBody(frame, message);
  assert(frame.length === end, () => `peer message ends at ${frame.length}, not at ${end}`);
}

function bodyBytes(message: PeerMessage): number {
  switch (message.type) {
    case "raft":
      return raftBodyBytes(message.message);
    case "forward":
      return BODY_BYTES.forward + message.records.length;
    default:
      return BODY_BYTES[message.type];
  }
}

function raftBodyBytes(message: Message): number {
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

function encodeBody(frame: PeerFrame, message: PeerMessage): void {
  switch (message.type) {
    case "raft":
      encodeRaft(frame, message.message);
      return;
    case "forward":
      frame.uint64(message.id);
      frame.uint64(message.term);
      frame.raw(message.records);
      return;
    case "forwardRefused":
      frame.uint64(message.id);
      frame.uint8(FORWARD_REFUSAL[message.reason]);
      return;
    case "readBarrier":
      frame.uint64(message.id);
      frame.uint64(message.term);
      return;
    case "readIndex":
      frame.uint64(message.id);
      frame.uint64(message.index);
      return;
    case "commitInterest":
      frame.uint8(message.isInterested ? 1 : 0);
      return;
    default:
      unreachable(message);
  }
}

function encodeRaft(frame: PeerFrame, message: Message): void {
  frame.uint64(message.term);
  frame.uint64(message.epoch);
  switch (message.type) {
    case "preVote":
    case "vote":
      frame.uint64(message.lastLogIndex);
      frame.uint64(message.lastLogTerm);
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
    default:
      unreachable(message);
  }
}

/** Indexes of entries are not sent: they follow `prevLogIndex` without a gap. */
function encodeAppend(frame: PeerFrame, message: AppendRequest): void {
  frame.uint64(message.prevLogIndex);
  frame.uint64(message.prevLogTerm);
  frame.uint64(message.commitIndex);
  frame.uint32(message.entries.length);
  let expected = message.prevLogIndex;
  for (const entry of message.entries) {
    expected += 1;
    assert(entry.index === expected, () => `entry ${entry.index} sent in place of ${expected}`);
    frame.uint8(ENTRY_KIND[entry.kind]);
    frame.uint64(entry.term);
    frame.uint32(entry.data.length);
    frame.raw(entry.data);
  }
}

function encodeAppendReply(frame: PeerFrame, message: AppendReply): void {
  frame.uint8(message.success ? 1 : 0);
  frame.uint64(message.matchIndex);
  frame.uint64(message.rejectedIndex);
  frame.uint64(message.hintIndex);
  frame.uint64(message.hintTerm);
}
