/**
 * Bytes from a peer to messages: strict and total. Every length is checked before it is used, every
 * byte has to be accounted for, and a frame is taken as a whole or not at all. Any input either
 * decodes or throws `PeerFrameError`; nothing else. The layout is in `peer-format.ts`.
 */
import type { Entry, Message, NodeId } from "../raft/index.js";
import {
  BODY_BYTES,
  ENTRY_HEADER_BYTES,
  ENTRY_KIND_NAMES,
  FORWARD_REFUSAL,
  PEER_HEADER_BYTES,
  PEER_KIND,
  PEER_MESSAGE_VERSION,
} from "./peer-format.js";
import type { PeerMessage } from "./types.js";

/** A peer sent what this format does not allow. Ends the link it came on. */
export class PeerFrameError extends Error {
  override readonly name = "PeerFrameError";
}

export interface PeerDelivery {
  readonly group: number;
  readonly message: PeerMessage;
}

const TWO_32 = 2 ** 32;
/** High halves from here on are beyond 2^53 − 1. */
const SAFE_HIGH_END = 2 ** 21;

/**
 * All messages of a frame that came from `from` to `to`. Byte fields are views into `frame`, which
 * the caller must own.
 */
export function decodePeerFrame(frame: Uint8Array, from: NodeId, to: NodeId): PeerDelivery[] {
  const reader = new Reader(frame);
  const deliveries: PeerDelivery[] = [];
  while (reader.at < frame.length) {
    reader.open(frame.length, PEER_HEADER_BYTES);
    const kind = reader.uint8();
    const version = reader.uint8();
    if (version !== PEER_MESSAGE_VERSION) fail(`message kind ${kind} of version ${version}`);
    const group = reader.uint32();
    const length = reader.uint32();
    reader.open(frame.length, length);
    const end = reader.at + length;
    const message = decodeBody(reader, kind, end, from, to);
    if (reader.at !== end) fail(`message kind ${kind} with ${end - reader.at} bytes too many`);
    deliveries.push({ group, message });
  }
  if (deliveries.length === 0) fail("empty frame");
  return deliveries;
}

function decodeBody(
  reader: Reader,
  kind: number,
  end: number,
  from: NodeId,
  to: NodeId,
): PeerMessage {
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
      const reason = reader.uint8();
      if (reason === FORWARD_REFUSAL.notLeader) {
        return { type: "forwardRefused", id, reason: "notLeader" };
      }
      if (reason === FORWARD_REFUSAL.busy) return { type: "forwardRefused", id, reason: "busy" };
      return fail(`unknown reason ${reason} of a refused batch`);
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
    default:
      return { type: "raft", message: decodeRaft(reader, kind, end, from, to) };
  }
}

function decodeRaft(reader: Reader, kind: number, end: number, from: NodeId, to: NodeId): Message {
  reader.open(end, raftFixedBytes(kind));
  const term = reader.uint64();
  const epoch = reader.uint64();
  switch (kind) {
    case PEER_KIND.preVote:
    case PEER_KIND.vote: {
      const type = kind === PEER_KIND.vote ? "vote" : "preVote";
      const lastLogIndex = reader.uint64();
      return { type, from, to, term, epoch, lastLogIndex, lastLogTerm: reader.uint64() };
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
      const success = reader.boolean();
      const matchIndex = reader.uint64();
      const rejectedIndex = reader.uint64();
      const hintIndex = reader.uint64();
      const hintTerm = reader.uint64();
      const type = "appendReply";
      const base = { type, from, to, term, epoch, success } as const;
      return { ...base, matchIndex, rejectedIndex, hintIndex, hintTerm };
    }
    case PEER_KIND.heartbeat: {
      const commitIndex = reader.uint64();
      const type = "heartbeat";
      return { type, from, to, term, epoch, commitIndex, round: reader.uint64() };
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
    default:
      return fail(`unknown message kind ${kind}`);
  }
}

function decodeEntries(reader: Reader, end: number, prevLogIndex: number): Entry[] {
  const count = reader.uint32();
  if (count * ENTRY_HEADER_BYTES > end - reader.at) fail(`${count} entries announced, cut short`);
  if (prevLogIndex + count > Number.MAX_SAFE_INTEGER) fail(`entries behind ${prevLogIndex}`);
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

/** A cursor. `open` checks bounds once for the fixed-size reads that follow it. */
class Reader {
  at = 0;
  readonly #frame: Uint8Array;
  readonly #view: DataView;

  constructor(frame: Uint8Array) {
    this.#frame = frame;
    this.#view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  }

  open(end: number, count: number): void {
    if (count > end - this.at) fail(`cut short at byte ${end}: ${count} wanted at ${this.at}`);
  }

  uint8(): number {
    return this.#view.getUint8(this.at++);
  }

  boolean(): boolean {
    const value = this.uint8();
    if (value > 1) fail(`${value} in place of a boolean`);
    return value === 1;
  }

  uint32(): number {
    const value = this.#view.getUint32(this.at);
    this.at += 4;
    return value;
  }

  uint64(): number {
    const high = this.#view.getUint32(this.at);
    const low = this.#view.getUint32(this.at + 4);
    if (high >= SAFE_HIGH_END) fail(`number beyond 2^53 at byte ${this.at}`);
    this.at += 8;
    return high * TWO_32 + low;
  }

  raw(count: number): Uint8Array {
    const bytes = this.#frame.subarray(this.at, this.at + count);
    this.at += count;
    return bytes;
  }
}

function fail(reason: string): never {
  throw new PeerFrameError(reason);
}
