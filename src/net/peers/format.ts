/**
 * The layout of the frames on a peer link; the encoder and the decoder share these numbers.
 *
 * frame   = CRC-32 of the rest u32, message × n; one WebSocket message
 * message = kind u8, version u8, group u32, length u32, body of `length` bytes   (big endian)
 *
 * Raft bodies begin with term u64 and epoch u64. Sender and receiver are known from the link and
 * are not repeated. A field without a length of its own is the last one and extends to the end of
 * the body. The version is the version of the body's layout, so that nodes of neighbouring releases
 * can tell each other's messages apart one by one. The checksum protects against damage, not
 * against forgery.
 */

export const FRAME_CHECKSUM_BYTES = 4;

export const PEER_MESSAGE_VERSION = 1;
export const PEER_HEADER_BYTES = 10;
const RAFT_PREFIX_BYTES = 16;
/** kind u8, term u64, length u32. */
export const ENTRY_HEADER_BYTES = 13;

export const PEER_KIND = {
  preVote: 1,
  vote: 2,
  preVoteReply: 3,
  voteReply: 4,
  append: 5,
  appendReply: 6,
  heartbeat: 7,
  heartbeatReply: 8,
  timeoutNow: 9,
  /** Kinds from here on are not messages of the consensus core. */
  forward: 16,
  forwardRefused: 17,
  readBarrier: 18,
  readIndex: 19,
  commitInterest: 20,
  snapshotOffer: 21,
  snapshotChunk: 22,
  snapshotProgress: 23,
  snapshotRefused: 24,
  operation: 25,
  operationReply: 26,
  members: 27,
  pressure: 28,
  vitals: 29,
  vitalsReply: 30,
} as const;

/** The version of the layout of a body; of an operation, since it has a credential, the second. */
export function bodyVersionOf(kind: number): number {
  return kind === PEER_KIND.operation ? 2 : PEER_MESSAGE_VERSION;
}

/** SHA-256, raw. */
export const CHECKSUM_BYTES = 32;

/**
 * Bytes of the fixed part of a body, by kind. A field after `…` has a variable length and comes
 * last.
 */
export const BODY_BYTES = {
  /** lastLogIndex u64, lastLogTerm u64, isTransfer u8 */
  voteRequest: RAFT_PREFIX_BYTES + 17,
  /** granted u8 */
  voteReply: RAFT_PREFIX_BYTES + 1,
  /** prevLogIndex u64, prevLogTerm u64, commitIndex u64, count u32, … entry × count */
  append: RAFT_PREFIX_BYTES + 28,
  /** outcome u8, matchIndex u64, rejectedIndex u64, hintIndex u64, hintTerm u64 */
  appendReply: RAFT_PREFIX_BYTES + 33,
  /** commitIndex u64, round u64 */
  heartbeat: RAFT_PREFIX_BYTES + 16,
  /** round u64 */
  heartbeatReply: RAFT_PREFIX_BYTES + 8,
  /** lastLogIndex u64, lastLogTerm u64 */
  timeoutNow: RAFT_PREFIX_BYTES + 16,
  /** id u64, term u64, … records */
  forward: 16,
  /** id u64, reason u8 */
  forwardRefused: 9,
  /** id u64, term u64 */
  readBarrier: 16,
  /** id u64, index u64 */
  readIndex: 16,
  /** isInterested u8 */
  commitInterest: 1,
  /** lack u8 */
  pressure: 1,
  /** term u64, epoch u64, index u64, term u64, checksum, chunkCount u32, byteLength u64, … configuration */
  snapshotOffer: 44 + CHECKSUM_BYTES,
  /** checksum, number u32, … bytes */
  snapshotChunk: CHECKSUM_BYTES + 4,
  /** checksum, next u32 */
  snapshotProgress: CHECKSUM_BYTES + 4,
  /** checksum, … reason */
  snapshotRefused: CHECKSUM_BYTES,
  /** index u64, … configuration */
  members: 8,
  /** id u64, term u64, credential u32, … request */
  operation: 20,
  /** id u64, status u16, … text */
  operationReply: 10,
  /** id u64, after u64 */
  vitals: 16,
  /** id u64, … text */
  vitalsReply: 8,
} as const;

/** The most bytes of UTF-8 in the reason for refusing a snapshot; a longer reason is cut. */
export const REFUSAL_TEXT_BYTES_MAX = 1_024;
/**
 * The most bytes of UTF-8 in the answer to an operation; enough for `members` with all names at
 * their limits.
 */
export const OPERATION_TEXT_BYTES_MAX = 64 << 10;

/** In the order of their numbers on the wire. */
export const ENTRY_KIND_NAMES = ["noop", "command", "configuration"] as const;
export const ENTRY_KIND = { noop: 0, command: 1, configuration: 2 } as const;
/** The outcome of an append. */
export const OUTCOME = { refused: 0, accepted: 1, needsSnapshot: 2 } as const;
export const FORWARD_REFUSAL_NAMES = ["notLeader", "busy", "diskFull"] as const;
export const FORWARD_REFUSAL = { notLeader: 0, busy: 1, diskFull: 2 } as const;
export const LACK_NAMES = ["none", "busy", "diskFull"] as const;
export const LACK = { none: 0, busy: 1, diskFull: 2 } as const;
