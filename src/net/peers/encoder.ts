/**
 * Encodes peer messages. Everything encoded was made by this process, so a message that does not
 * fit the format is a broken invariant, not an error. The layout is in `format.ts`.
 */
import { assert, unreachable } from "../../errors/index.js";
import {
  CONFIGURATION_BYTES_MAX,
  OPERATION_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
  VITALS_TEXT_BYTES_MAX,
} from "../../protocol/index.js";
import { cutText } from "../cut-text.js";
import type { OfferedSnapshot, PeerMessage } from "../types.js";
import {
  BODY_BYTES,
  bodyVersionOf,
  FORWARD_REFUSAL,
  LACK,
  OPERATION_TEXT_BYTES_MAX,
  PEER_HEADER_BYTES,
  PEER_KIND,
  REFUSAL_TEXT_BYTES_MAX,
} from "./format.js";
import type { PeerFrame } from "./frame.js";
import { encodeRaft, raftBodyBytes } from "./raft-encoder.js";

/** Lower-case, so that the receiver decodes the same text. */
const CHECKSUM = /^[0-9a-f]{64}$/;

/** The exact number of bytes that `encodePeerMessage` writes. */
export function peerMessageBytes(message: PeerMessage): number {
  return PEER_HEADER_BYTES + bodyBytes(message);
}

/** Appends one message to the frame. `bytes` is the result of `peerMessageBytes` for it. */
export function encodePeerMessage(
  frame: PeerFrame,
  group: number,
  message: PeerMessage,
  bytes: number,
): void {
  frame.reserve(bytes);
  const end = frame.length + bytes;
  const kind = PEER_KIND[message.type === "raft" ? message.message.type : message.type];
  frame.uint8(kind);
  frame.uint8(bodyVersionOf(kind));
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
    case "snapshotOffer": {
      const { length } = message.snapshot.configuration;
      return BODY_BYTES.snapshotOffer + limited(length, CONFIGURATION_BYTES_MAX, "configuration");
    }
    case "members": {
      const { length } = message.configuration;
      return BODY_BYTES.members + limited(length, CONFIGURATION_BYTES_MAX, "configuration");
    }
    case "snapshotChunk": {
      const { length } = message.bytes;
      return BODY_BYTES.snapshotChunk + limited(length, SNAPSHOT_CHUNK_BYTES_MAX, "chunk");
    }
    case "snapshotRefused": {
      const reason = cutText(message.reason, REFUSAL_TEXT_BYTES_MAX);
      return BODY_BYTES.snapshotRefused + Buffer.byteLength(reason);
    }
    case "operation": {
      const { length } = message.request;
      return BODY_BYTES.operation + limited(length, OPERATION_BYTES_MAX, "operation");
    }
    case "operationReply": {
      const length = Buffer.byteLength(message.text);
      return BODY_BYTES.operationReply + limited(length, OPERATION_TEXT_BYTES_MAX, "answer");
    }
    case "vitalsReply": {
      const length = Buffer.byteLength(message.text);
      return BODY_BYTES.vitalsReply + limited(length, VITALS_TEXT_BYTES_MAX, "vitals");
    }
    default:
      return BODY_BYTES[message.type];
  }
}

function limited(length: number, bytesMax: number, what: string): number {
  assert(length <= bytesMax, () => `${what} of ${length} bytes, at most ${bytesMax}`);
  return length;
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
    case "pressure":
      frame.uint8(LACK[message.lack]);
      return;
    case "commitInterest":
      frame.uint8(message.isInterested ? 1 : 0);
      return;
    case "snapshotOffer":
      frame.uint64(message.term);
      frame.uint64(message.epoch);
      encodeOffered(frame, message.snapshot);
      return;
    case "snapshotChunk":
      encodeChecksum(frame, message.checksum);
      frame.uint32(message.number);
      frame.raw(message.bytes);
      return;
    case "snapshotProgress":
      encodeChecksum(frame, message.checksum);
      frame.uint32(message.next);
      return;
    case "snapshotRefused":
      encodeChecksum(frame, message.checksum);
      frame.raw(Buffer.from(cutText(message.reason, REFUSAL_TEXT_BYTES_MAX)));
      return;
    case "members":
      frame.uint64(message.index);
      frame.raw(message.configuration);
      return;
    case "operation":
      frame.uint64(message.id);
      frame.uint64(message.term);
      frame.uint32(message.credential);
      frame.raw(message.request);
      return;
    case "operationReply":
      frame.uint64(message.id);
      frame.uint16(message.status);
      frame.raw(Buffer.from(message.text));
      return;
    case "vitals":
      frame.uint64(message.id);
      frame.uint64(message.after);
      return;
    case "vitalsReply":
      frame.uint64(message.id);
      frame.raw(Buffer.from(message.text));
      return;
    default:
      unreachable(message);
  }
}

function encodeOffered(frame: PeerFrame, snapshot: OfferedSnapshot): void {
  const { index, term, chunkCount, byteLength } = snapshot;
  assert(index > 0 && term > 0, () => `a snapshot of index ${index}, term ${term}`);
  assert(
    byteLength <= chunkCount * SNAPSHOT_CHUNK_BYTES_MAX,
    () => `a snapshot of ${byteLength} bytes in ${chunkCount} chunks`,
  );
  frame.uint64(index);
  frame.uint64(term);
  encodeChecksum(frame, snapshot.checksum);
  frame.uint32(chunkCount);
  frame.uint64(byteLength);
  frame.raw(snapshot.configuration);
}

function encodeChecksum(frame: PeerFrame, checksum: string): void {
  assert(CHECKSUM.test(checksum), () => `checksum ${checksum}`);
  frame.raw(Buffer.from(checksum, "hex"));
}
