/**
 * Decodes the bytes of a peer, strictly and totally. Every length is checked before it is used,
 * every byte must be accounted for, and a frame is accepted as a whole or not at all. Any input
 * either decodes or throws `PeerFrameError`, and nothing else. The layout is in `format.ts`.
 */
import { crc32 } from "node:zlib";
import {
  CONFIGURATION_BYTES_MAX,
  OPERATION_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
  VITALS_TEXT_BYTES_MAX,
} from "../../protocol/index.js";
import type { NodeId } from "../../raft/index.js";
import type { PeerMessage } from "../types.js";
import {
  BODY_BYTES,
  bodyVersionOf,
  CHECKSUM_BYTES,
  FORWARD_REFUSAL_NAMES,
  FRAME_CHECKSUM_BYTES,
  LACK_NAMES,
  OPERATION_TEXT_BYTES_MAX,
  PEER_HEADER_BYTES,
  PEER_KIND,
  REFUSAL_TEXT_BYTES_MAX,
} from "./format.js";
import { FrameCursor, fail, PeerFrameError } from "./frame-cursor.js";
import { decodeRaft } from "./raft-decoder.js";

export interface PeerDelivery {
  readonly group: number;
  readonly message: PeerMessage;
}

/**
 * Messages are copied out of a frame of at least this size, so that a kept message does not keep
 * the whole frame, unless the message is most of the frame.
 */
const LARGE_FRAME_BYTES = 64 << 10;
/** Statuses between "ok" and this are results of commands and not valid in an answer. */
const FIRST_ERROR = 16;

/**
 * All messages of a frame that came from `from` to `to`. Byte fields are views of `frame`, which
 * the caller must own, or of a copy of their message, so that a kept message does not keep a large
 * frame in memory.
 *
 * @throws {PeerFrameError} for any other input
 */
export function decodePeerFrame(frame: Uint8Array, from: NodeId, to: NodeId): PeerDelivery[] {
  const reader = new FrameCursor(frame);
  checkSum(reader, frame);
  const deliveries: PeerDelivery[] = [];
  while (reader.at < frame.length) {
    reader.open(frame.length, PEER_HEADER_BYTES);
    const kind = reader.uint8();
    const version = reader.uint8();
    if (version !== bodyVersionOf(kind)) fail(`message kind ${kind} of version ${version}`);
    const group = reader.uint32();
    const length = reader.uint32();
    reader.open(frame.length, length);
    const end = reader.at + length;
    if (frame.length < LARGE_FRAME_BYTES || length * 2 >= frame.length) {
      deliveries.push({ group, message: decodeMessage(reader, kind, end, from, to) });
    } else {
      const copy = new FrameCursor(frame.slice(reader.at, end));
      deliveries.push({ group, message: decodeMessage(copy, kind, length, from, to) });
      reader.at = end;
    }
  }
  if (deliveries.length === 0) fail("empty frame");
  return deliveries;
}

function checkSum(reader: FrameCursor, frame: Uint8Array): void {
  reader.open(frame.length, FRAME_CHECKSUM_BYTES);
  if (reader.uint32() === crc32(frame.subarray(FRAME_CHECKSUM_BYTES))) return;
  throw new PeerFrameError("the checksum of a frame is wrong", true);
}

/** Decodes the message whose body begins at the reader's position and ends at `end`. */
function decodeMessage(
  reader: FrameCursor,
  kind: number,
  end: number,
  from: NodeId,
  to: NodeId,
): PeerMessage {
  const message: PeerMessage =
    kind < PEER_KIND.forward
      ? { type: "raft", message: decodeRaft(reader, kind, end, from, to) }
      : decodeBody(reader, kind, end);
  if (reader.at !== end) fail(`message kind ${kind} with ${end - reader.at} bytes too many`);
  return message;
}

function decodeBody(reader: FrameCursor, kind: number, end: number): PeerMessage {
  switch (kind) {
    case PEER_KIND.forward: {
      reader.open(end, BODY_BYTES.forward);
      const id = reader.uint64();
      const term = reader.uint64();
      return { type: "forward", id, term, records: reader.raw(end - reader.at) };
    }
    case PEER_KIND.forwardRefused: {
      reader.open(end, BODY_BYTES.forwardRefused);
      const id = reader.uint64();
      const number = reader.uint8();
      const reason = FORWARD_REFUSAL_NAMES[number];
      if (reason === undefined) return fail(`unknown reason ${number} of a refused batch`);
      return { type: "forwardRefused", id, reason };
    }
    case PEER_KIND.pressure: {
      reader.open(end, BODY_BYTES.pressure);
      const number = reader.uint8();
      const lack = LACK_NAMES[number];
      if (lack === undefined) return fail(`unknown lack ${number} of a leader`);
      return { type: "pressure", lack };
    }
    case PEER_KIND.readBarrier:
      reader.open(end, BODY_BYTES.readBarrier);
      return { type: "readBarrier", id: reader.uint64(), term: reader.uint64() };
    case PEER_KIND.readIndex:
      reader.open(end, BODY_BYTES.readIndex);
      return { type: "readIndex", id: reader.uint64(), index: reader.uint64() };
    case PEER_KIND.commitInterest:
      reader.open(end, BODY_BYTES.commitInterest);
      return { type: "commitInterest", isInterested: reader.boolean() };
    case PEER_KIND.members: {
      reader.open(end, BODY_BYTES.members);
      const index = reader.uint64();
      const length = lengthOfRest(reader, end, CONFIGURATION_BYTES_MAX, "a configuration");
      return { type: "members", index, configuration: reader.raw(length) };
    }
    case PEER_KIND.operation: {
      reader.open(end, BODY_BYTES.operation);
      const id = reader.uint64();
      const term = reader.uint64();
      const credential = reader.uint32();
      const length = lengthOfRest(reader, end, OPERATION_BYTES_MAX, "an operation");
      return { type: "operation", id, term, credential, request: reader.raw(length) };
    }
    case PEER_KIND.operationReply: {
      reader.open(end, BODY_BYTES.operationReply);
      const id = reader.uint64();
      const status = reader.uint16();
      if (status > 0 && status < FIRST_ERROR) fail(`status ${status} of an operation`);
      const length = lengthOfRest(reader, end, OPERATION_TEXT_BYTES_MAX, "an answer");
      return { type: "operationReply", id, status, text: reader.text(length) };
    }
    case PEER_KIND.vitals:
      reader.open(end, BODY_BYTES.vitals);
      return { type: "vitals", id: reader.uint64(), after: reader.uint64() };
    case PEER_KIND.vitalsReply: {
      reader.open(end, BODY_BYTES.vitalsReply);
      const id = reader.uint64();
      const length = lengthOfRest(reader, end, VITALS_TEXT_BYTES_MAX, "vitals");
      return { type: "vitalsReply", id, text: reader.text(length) };
    }
    default:
      return decodeSnapshot(reader, kind, end);
  }
}

function decodeSnapshot(reader: FrameCursor, kind: number, end: number): PeerMessage {
  switch (kind) {
    case PEER_KIND.snapshotOffer:
      return decodeOffer(reader, end);
    case PEER_KIND.snapshotChunk: {
      reader.open(end, BODY_BYTES.snapshotChunk);
      const checksum = reader.hex(CHECKSUM_BYTES);
      const number = reader.uint32();
      const length = lengthOfRest(reader, end, SNAPSHOT_CHUNK_BYTES_MAX, "a chunk");
      return { type: "snapshotChunk", checksum, number, bytes: reader.raw(length) };
    }
    case PEER_KIND.snapshotProgress: {
      reader.open(end, BODY_BYTES.snapshotProgress);
      const checksum = reader.hex(CHECKSUM_BYTES);
      return { type: "snapshotProgress", checksum, next: reader.uint32() };
    }
    case PEER_KIND.snapshotRefused: {
      reader.open(end, BODY_BYTES.snapshotRefused);
      const checksum = reader.hex(CHECKSUM_BYTES);
      const length = lengthOfRest(reader, end, REFUSAL_TEXT_BYTES_MAX, "a reason");
      return { type: "snapshotRefused", checksum, reason: reader.text(length) };
    }
    default:
      return fail(`unknown message kind ${kind}`);
  }
}

function decodeOffer(reader: FrameCursor, end: number): PeerMessage {
  reader.open(end, BODY_BYTES.snapshotOffer);
  const term = reader.uint64();
  const epoch = reader.uint64();
  const index = reader.uint64();
  const lastTerm = reader.uint64();
  if (index === 0 || lastTerm === 0) fail(`a snapshot of index ${index}, term ${lastTerm}`);
  const checksum = reader.hex(CHECKSUM_BYTES);
  const chunkCount = reader.uint32();
  const byteLength = reader.uint64();
  if (byteLength > chunkCount * SNAPSHOT_CHUNK_BYTES_MAX) {
    fail(`a snapshot of ${byteLength} bytes in ${chunkCount} chunks`);
  }
  const length = lengthOfRest(reader, end, CONFIGURATION_BYTES_MAX, "a configuration");
  const configuration = reader.raw(length);
  const snapshot = { index, term: lastTerm, checksum, chunkCount, byteLength, configuration };
  return { type: "snapshotOffer", term, epoch, snapshot };
}

/** Bytes between the reader and `end`, at most `bytesMax`. */
function lengthOfRest(reader: FrameCursor, end: number, bytesMax: number, what: string): number {
  const length = end - reader.at;
  if (length > bytesMax) fail(`${what} of ${length} bytes, at most ${bytesMax}`);
  return length;
}
