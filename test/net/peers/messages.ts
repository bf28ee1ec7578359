/** Peer messages for tests: arbitrary ones, and encoding them into bytes. */
import { crc32 } from "node:zlib";
import fc from "fast-check";
import { encodePeerMessage } from "../../../src/net/peers/encoder.js";
import { PeerFrame } from "../../../src/net/peers/frame.js";
import type { PeerMessage } from "../../../src/net/types.js";
import { SNAPSHOT_CHUNK_BYTES_MAX } from "../../../src/protocol/index.js";
import type { AppendReply, AppendRequest, Entry, Message } from "../../../src/raft/index.js";

export const FROM = 2;
export const TO = 3;

export const CHECKSUM = "00ff".repeat(16);

export interface Addressed {
  readonly group: number;
  readonly message: PeerMessage;
}

/** The frame that holds these messages. */
export function frameOf(messages: readonly Addressed[]): Uint8Array {
  const frame = new PeerFrame(16);
  for (const { group, message } of messages) encodePeerMessage(frame, group, message);
  return frame.finish().slice();
}

/** A frame of these bytes, whatever they are. */
export function sealed(messages: Uint8Array): Uint8Array {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(messages));
  return Buffer.concat([sum, messages]);
}

const number = (): fc.Arbitrary<number> =>
  fc.oneof(fc.nat(1_000), fc.nat(Number.MAX_SAFE_INTEGER), fc.constant(2 ** 32));
const bytes = (): fc.Arbitrary<Uint8Array> => fc.uint8Array({ maxLength: 64 });
const base = {
  from: fc.constant(FROM),
  to: fc.constant(TO),
  term: number(),
  epoch: number(),
};
const type = <T extends string>(name: T): fc.Arbitrary<T> => fc.constant(name);

const entries = (first: number): fc.Arbitrary<Entry[]> =>
  fc
    .array(
      fc.record({
        term: number(),
        kind: fc.constantFrom("noop", "command", "configuration"),
        data: bytes(),
      }),
      { maxLength: 5 },
    )
    .map((list) => list.map((entry, offset) => ({ index: first + offset, ...entry })));

export const append: fc.Arbitrary<AppendRequest> = fc
  .record({ ...base, prevLogIndex: fc.nat(2 ** 40), prevLogTerm: number(), commitIndex: number() })
  .chain((head) =>
    entries(head.prevLogIndex + 1).map((list) => ({
      type: "append" as const,
      ...head,
      entries: list,
    })),
  );

export const appendReply: fc.Arbitrary<AppendReply> = fc
  .record({
    type: type("appendReply"),
    ...base,
    ...{ matchIndex: number(), rejectedIndex: number(), hintIndex: number(), hintTerm: number() },
    outcome: fc.constantFrom(
      { success: true, needsSnapshot: false },
      { success: false, needsSnapshot: false },
      { success: false, needsSnapshot: true },
    ),
  })
  .map(({ outcome, ...rest }) => ({ ...rest, ...outcome }));

const raft: fc.Arbitrary<Message> = fc.oneof(
  fc.record({
    type: fc.constantFrom("preVote", "vote"),
    ...base,
    lastLogIndex: number(),
    lastLogTerm: number(),
    isTransfer: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom("preVoteReply", "voteReply"),
    ...base,
    granted: fc.boolean(),
  }),
  append,
  appendReply,
  fc.record({ type: type("heartbeat"), ...base, commitIndex: number(), round: number() }),
  fc.record({ type: type("heartbeatReply"), ...base, round: number() }),
  fc.record({
    type: type("timeoutNow"),
    ...base,
    lastLogIndex: number(),
    lastLogTerm: number(),
  }),
);

const uint32 = (): fc.Arbitrary<number> => fc.oneof(fc.nat(9), fc.nat(2 ** 32 - 1));
const checksum = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((digest) => Buffer.from(digest).toString("hex"));
const text = fc.string({ unit: "grapheme", maxLength: 40 });
const offered = fc.integer({ min: 1, max: 2 ** 20 }).chain((chunkCount) =>
  fc.record({
    index: number().map((index) => Math.max(1, index)),
    term: number().map((term) => Math.max(1, term)),
    checksum,
    chunkCount: fc.constant(chunkCount),
    byteLength: fc.nat(chunkCount * SNAPSHOT_CHUNK_BYTES_MAX),
    configuration: bytes(),
  }),
);

const peerMessage: fc.Arbitrary<PeerMessage> = fc.oneof(
  { weight: 6, arbitrary: raft.map((message) => ({ type: "raft" as const, message })) },
  fc.record({ type: type("forward"), id: number(), term: number(), records: bytes() }),
  fc.record({
    type: type("forwardRefused"),
    id: number(),
    reason: fc.constantFrom("notLeader", "busy", "diskFull"),
  }),
  fc.record({ type: type("pressure"), lack: fc.constantFrom("none", "busy", "diskFull") }),
  fc.record({ type: type("readBarrier"), id: number(), term: number() }),
  fc.record({ type: type("readIndex"), id: number(), index: number() }),
  fc.record({ type: type("commitInterest"), isInterested: fc.boolean() }),
  fc.record({ type: type("snapshotOffer"), term: number(), epoch: number(), snapshot: offered }),
  fc.record({ type: type("snapshotChunk"), checksum, number: uint32(), bytes: bytes() }),
  fc.record({ type: type("snapshotProgress"), checksum, next: uint32() }),
  fc.record({ type: type("snapshotRefused"), checksum, reason: text }),
  fc.record({ type: type("members"), index: number(), configuration: bytes() }),
  fc.record({
    type: type("operation"),
    id: number(),
    term: number(),
    credential: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
    request: bytes(),
  }),
  fc.record({
    type: type("operationReply"),
    id: number(),
    status: fc.oneof(fc.constant(0), fc.integer({ min: 16, max: 65_535 })),
    text,
  }),
  fc.record({ type: type("vitals"), id: number(), after: number() }),
  fc.record({ type: type("vitalsReply"), id: number(), text }),
);

export const addressed: fc.Arbitrary<Addressed> = fc.record({
  group: fc.nat(2 ** 32 - 1),
  message: peerMessage,
});

/** One of each kind, with small numbers that are easy to find in hex. */
export const SAMPLES: readonly PeerMessage[] = [
  ...(["preVote", "vote"] as const).map((kind) => ({
    type: "raft" as const,
    message: {
      ...{ type: kind, from: FROM, to: TO, term: 5, epoch: 6, lastLogIndex: 7, lastLogTerm: 4 },
      isTransfer: kind === "vote",
    },
  })),
  ...(["preVoteReply", "voteReply"] as const).map((kind) => ({
    type: "raft" as const,
    message: { type: kind, from: FROM, to: TO, term: 5, epoch: 6, granted: true },
  })),
  {
    type: "raft",
    message: {
      type: "append",
      from: FROM,
      to: TO,
      term: 5,
      epoch: 6,
      prevLogIndex: 7,
      prevLogTerm: 4,
      commitIndex: 3,
      entries: [
        { index: 8, term: 5, kind: "noop", data: new Uint8Array(0) },
        { index: 9, term: 5, kind: "command", data: Uint8Array.of(0xaa, 0xbb) },
        { index: 10, term: 5, kind: "configuration", data: Uint8Array.of(0xcc) },
      ],
    },
  },
  {
    type: "raft",
    message: {
      type: "appendReply",
      from: FROM,
      to: TO,
      term: 5,
      epoch: 6,
      success: false,
      matchIndex: 0,
      rejectedIndex: 9,
      needsSnapshot: false,
      hintIndex: 8,
      hintTerm: 4,
    },
  },
  {
    type: "raft",
    message: {
      type: "heartbeat",
      from: FROM,
      to: TO,
      term: 5,
      epoch: 6,
      commitIndex: 3,
      round: 12,
    },
  },
  {
    type: "raft",
    message: { type: "heartbeatReply", from: FROM, to: TO, term: 5, epoch: 6, round: 12 },
  },
  { type: "forward", id: 1, term: 5, records: Uint8Array.of(1, 2, 3) },
  { type: "forwardRefused", id: 1, reason: "busy" },
  { type: "readBarrier", id: 2, term: 5 },
  { type: "readIndex", id: 2, index: 2 ** 32 + 1 },
  { type: "commitInterest", isInterested: false },
  {
    type: "raft",
    message: {
      ...{ type: "timeoutNow", from: FROM, to: TO, term: 5, epoch: 6 },
      ...{ lastLogIndex: 7, lastLogTerm: 4 },
    },
  },
  {
    ...{ type: "snapshotOffer", term: 5, epoch: 6 },
    snapshot: {
      ...{ index: 7, term: 4, checksum: CHECKSUM, chunkCount: 3, byteLength: 2 ** 21 + 1 },
      configuration: Uint8Array.of(0xdd, 0xee),
    },
  },
  { type: "snapshotChunk", checksum: CHECKSUM, number: 2, bytes: Uint8Array.of(1, 2, 3) },
  { type: "snapshotProgress", checksum: CHECKSUM, next: 3 },
  { type: "snapshotRefused", checksum: CHECKSUM, reason: "plötzlich" },
  { type: "operation", id: 1, term: 5, credential: 7, request: Uint8Array.of(0x92, 0x46, 0x01) },
  { type: "operationReply", id: 1, status: 28, text: '{"message":"später"}' },
  { type: "members", index: 9, configuration: Uint8Array.of(0xdd, 0xee) },
  { type: "pressure", lack: "diskFull" },
  { type: "vitals", id: 1, after: 9 },
  { type: "vitalsReply", id: 1, text: '{"node":2}' },
];
