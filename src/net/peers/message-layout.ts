/**
 * Declares every message between nodes once: its kind, and its fields in the order of the bytes; its
 * type explains them. The encoder, the decoder and the table in `docs/internals/peer-links.md`
 * (`npm run docs:protocol`) are made from this. Only `append` and its reply are written and read by
 * hand as well, in `append-bytes.ts`.
 *
 * frame   = CRC-32 of the rest u32, message × n   (big endian)
 * message = kind u8, version u8, group u32, length u32, body of `length` bytes
 *
 * Sender and receiver are known from the link and are not repeated. The checksum protects against
 * damage, not against forgery.
 */
import {
  CHECKSUM_BYTES,
  CONFIGURATION_BYTES_MAX,
  FIRST_ERROR,
  OPERATION_BYTES_MAX,
  SNAPSHOT_CHUNK_BYTES_MAX,
  VITALS_TEXT_BYTES_MAX,
} from "../../protocol/index.js";
import {
  ENTRY_KINDS,
  type Entry,
  type Message,
  type VoteReply,
  type VoteRequest,
} from "../../raft/index.js";
import { FORWARD_REFUSALS, type OfferedSnapshot, type PeerMessage, PRESSURES } from "../types.js";
import type { PeerFields, PeerLayout, PeerListLayout } from "./peer-fields.js";

/** The most bytes of UTF-8 in the reason for refusing a snapshot. */
const REFUSAL_BYTES_MAX = 1_024;
/** Enough for the answer to `members` with all names at their limits. */
const OPERATION_TEXT_BYTES_MAX = 64 << 10;

interface Declared<M> {
  /** Its number on the wire. */
  readonly kind: number;
  /**
   * The version of the body's layout, which distinguishes single messages of builds that have the same
   * version of the model; 1 if absent.
   */
  readonly version?: number;
  readonly layout: PeerLayout<M>;
}
/** The messages in `M` that can have this type. */
type OfType<M, N> = M extends { readonly type: infer T } ? (N extends T ? M : never) : never;

const ballot =
  (type: VoteRequest["type"]): PeerLayout<VoteRequest> =>
  (io, of) => ({
    type,
    from: io.sender,
    to: io.receiver,
    term: io.uint64(of.term),
    epoch: io.uint64(of.epoch),
    lastLogIndex: io.uint64(of.lastLogIndex),
    lastLogTerm: io.uint64(of.lastLogTerm),
    isTransfer: io.flag(of.isTransfer),
  });
const ballotReply =
  (type: VoteReply["type"]): PeerLayout<VoteReply> =>
  (io, of) => ({
    type,
    from: io.sender,
    to: io.receiver,
    term: io.uint64(of.term),
    epoch: io.uint64(of.epoch),
    granted: io.flag(of.granted),
  });

/** Entries follow the one before them without a gap, so their indexes are not sent. */
const entry: PeerListLayout<Entry> = (io, of, index) => ({
  index: io.implied(of.index, index),
  kind: io.oneOf(of.kind, ENTRY_KINDS),
  term: io.uint64(of.term),
  data: io.block(of.data),
});

/** Messages of the consensus core. */
const CORE: { readonly [N in Message["type"]]: Declared<OfType<Message, N>> } = {
  preVote: { kind: 1, layout: ballot("preVote") },
  vote: { kind: 2, layout: ballot("vote") },
  preVoteReply: { kind: 3, layout: ballotReply("preVoteReply") },
  voteReply: { kind: 4, layout: ballotReply("voteReply") },
  append: {
    kind: 5,
    layout(io, of) {
      const { sender: from, receiver: to } = io;
      const term = io.uint64(of.term);
      const epoch = io.uint64(of.epoch);
      const prevLogIndex = io.uint64(of.prevLogIndex);
      const prevLogTerm = io.uint64(of.prevLogTerm);
      const commitIndex = io.uint64(of.commitIndex);
      const entries = io.list(of.entries, entry, prevLogIndex + 1);
      const last = prevLogIndex + entries.length;
      io.demand(last <= Number.MAX_SAFE_INTEGER, "entries after the last index");
      const type = "append";
      return { type, from, to, term, epoch, prevLogIndex, prevLogTerm, commitIndex, entries };
    },
  },
  appendReply: {
    ...{ kind: 6, version: 2 },
    layout(io, of) {
      const { sender: from, receiver: to } = io;
      const term = io.uint64(of.term);
      const epoch = io.uint64(of.epoch);
      const success = io.flag(of.success);
      const needsSnapshot = io.flag(of.needsSnapshot);
      io.demand(!(success && needsSnapshot), "a success that needs a snapshot");
      return {
        type: "appendReply",
        from,
        to,
        term,
        epoch,
        success,
        needsSnapshot,
        matchIndex: io.uint64(of.matchIndex),
        rejectedIndex: io.uint64(of.rejectedIndex),
        hintIndex: io.uint64(of.hintIndex),
        hintTerm: io.uint64(of.hintTerm),
      };
    },
  },
  heartbeat: {
    kind: 7,
    layout: (io, of) => ({
      type: "heartbeat",
      from: io.sender,
      to: io.receiver,
      term: io.uint64(of.term),
      epoch: io.uint64(of.epoch),
      commitIndex: io.uint64(of.commitIndex),
      round: io.uint64(of.round),
    }),
  },
  heartbeatReply: {
    kind: 8,
    layout: (io, of) => ({
      type: "heartbeatReply",
      from: io.sender,
      to: io.receiver,
      term: io.uint64(of.term),
      epoch: io.uint64(of.epoch),
      round: io.uint64(of.round),
    }),
  },
  timeoutNow: {
    kind: 9,
    layout: (io, of) => ({
      type: "timeoutNow",
      from: io.sender,
      to: io.receiver,
      term: io.uint64(of.term),
      epoch: io.uint64(of.epoch),
      lastLogIndex: io.uint64(of.lastLogIndex),
      lastLogTerm: io.uint64(of.lastLogTerm),
    }),
  },
};

const checksum = (io: PeerFields, digits: string): string => io.hex(digits, CHECKSUM_BYTES);
const configuration = (io: PeerFields, bytes: Uint8Array): Uint8Array =>
  io.rest(bytes, CONFIGURATION_BYTES_MAX);
const offeredSnapshot: PeerLayout<OfferedSnapshot> = (io, of) => {
  const index = io.uint64(of.index);
  const term = io.uint64(of.term);
  io.demand(index > 0 && term > 0, `a snapshot of index ${index}, term ${term}`);
  const digits = checksum(io, of.checksum);
  const chunkCount = io.uint32(of.chunkCount);
  const byteLength = io.uint64(of.byteLength);
  io.demand(
    byteLength <= chunkCount * SNAPSHOT_CHUNK_BYTES_MAX,
    `a snapshot of ${byteLength} bytes in ${chunkCount} chunks`,
  );
  const members = configuration(io, of.configuration);
  return { index, term, checksum: digits, chunkCount, byteLength, configuration: members };
};
/** 0 or an error: the results of commands are not answers. */
function answerStatus(io: PeerFields, of: number): number {
  const status = io.uint16(of);
  io.demand(status === 0 || status >= FIRST_ERROR, `status ${status} of an operation`);
  return status;
}

type OtherMessage = Exclude<PeerMessage, { readonly type: "raft" }>;
const OTHERS: { readonly [N in OtherMessage["type"]]: Declared<OfType<OtherMessage, N>> } = {
  forward: {
    kind: 16,
    layout: (io, of) => ({
      type: "forward",
      id: io.uint64(of.id),
      term: io.uint64(of.term),
      records: io.rest(of.records),
    }),
  },
  forwardRefused: {
    kind: 17,
    layout: (io, of) => ({
      type: "forwardRefused",
      id: io.uint64(of.id),
      reason: io.oneOf(of.reason, FORWARD_REFUSALS),
    }),
  },
  readBarrier: {
    kind: 18,
    layout: (io, of) => ({
      type: "readBarrier",
      id: io.uint64(of.id),
      term: io.uint64(of.term),
    }),
  },
  readIndex: {
    kind: 19,
    layout: (io, of) => ({
      type: "readIndex",
      id: io.uint64(of.id),
      index: io.uint64(of.index),
    }),
  },
  commitInterest: {
    kind: 20,
    layout: (io, of) => ({ type: "commitInterest", isInterested: io.flag(of.isInterested) }),
  },
  snapshotOffer: {
    kind: 21,
    layout: (io, of) => ({
      type: "snapshotOffer",
      term: io.uint64(of.term),
      epoch: io.uint64(of.epoch),
      snapshot: io.part(of.snapshot, offeredSnapshot),
    }),
  },
  snapshotChunk: {
    kind: 22,
    layout: (io, of) => ({
      type: "snapshotChunk",
      checksum: checksum(io, of.checksum),
      number: io.uint32(of.number),
      bytes: io.rest(of.bytes, SNAPSHOT_CHUNK_BYTES_MAX),
    }),
  },
  snapshotProgress: {
    kind: 23,
    layout: (io, of) => ({
      type: "snapshotProgress",
      checksum: checksum(io, of.checksum),
      next: io.uint32(of.next),
    }),
  },
  snapshotRefused: {
    kind: 24,
    layout: (io, of) => ({
      type: "snapshotRefused",
      checksum: checksum(io, of.checksum),
      reason: io.cutText(of.reason, REFUSAL_BYTES_MAX),
    }),
  },
  operation: {
    ...{ kind: 25, version: 2 },
    layout: (io, of) => ({
      type: "operation",
      id: io.uint64(of.id),
      term: io.uint64(of.term),
      credential: io.uint32(of.credential),
      request: io.rest(of.request, OPERATION_BYTES_MAX),
    }),
  },
  operationReply: {
    kind: 26,
    layout: (io, of) => ({
      type: "operationReply",
      id: io.uint64(of.id),
      status: answerStatus(io, of.status),
      text: io.restText(of.text, OPERATION_TEXT_BYTES_MAX),
    }),
  },
  members: {
    kind: 27,
    layout: (io, of) => ({
      type: "members",
      index: io.uint64(of.index),
      configuration: configuration(io, of.configuration),
    }),
  },
  pressure: {
    kind: 28,
    layout: (io, of) => ({ type: "pressure", lack: io.oneOf(of.lack, PRESSURES) }),
  },
  vitals: {
    kind: 29,
    layout: (io, of) => ({ type: "vitals", id: io.uint64(of.id), after: io.uint64(of.after) }),
  },
  vitalsReply: {
    kind: 30,
    layout: (io, of) => ({
      type: "vitalsReply",
      id: io.uint64(of.id),
      text: io.restText(of.text, VITALS_TEXT_BYTES_MAX),
    }),
  },
};

/** One kind of message, for code that treats all alike. */
export interface PeerMessageForm {
  readonly name: string;
  readonly kind: number;
  readonly version: number;
  readonly isOfCore: boolean;
  readonly layout: PeerLayout<object>;
}

function formsOf(declared: object, isOfCore: boolean): readonly PeerMessageForm[] {
  const all = Object.entries(declared as Readonly<Record<string, Declared<object>>>);
  return all.map(([name, { kind, version = 1, layout }]) => {
    return { name, kind, version, isOfCore, layout };
  });
}

/** All messages, in the order of their kinds. */
export const PEER_MESSAGES: readonly PeerMessageForm[] = [
  ...formsOf(CORE, true),
  ...formsOf(OTHERS, false),
];
