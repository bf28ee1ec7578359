/**
 * What the table and the nodes say to clients. A server frame is a msgpack array of messages, each
 * a positional array `[kind, …]`. Replies are structures and codes, never texts: they are stored in
 * the replicated table.
 */
import type { ErrorNumber } from "../errors.js";
import type { ClaimMode } from "./commands.js";

export const MESSAGE = {
  hello: 1,
  attached: 2,
  reply: 3,
  outcome: 4,
  pulse: 5,
  recalled: 6,
  ended: 7,
  answer: 8,
  leader: 9,
  move: 10,
  contended: 11,
  revoking: 12,
  lost: 13,
  changes: 14,
  refused: 15,
} as const;

/** Status of a reply or outcome; numbers from 16 on are `ERROR_NUMBERS`. */
export const STATUS = {
  ok: 0,
  granted: 1,
  queued: 2,
  released: 3,
  notReleased: 4,
  upgraded: 5,
  revoked: 6,
  claimed: 7,
} as const;

/** Why something is not held (any more). On the wire the number. */
export const END_REASON = {
  unknown: 0,
  released: 1,
  expired: 2,
  closed: 3,
  cancelled: 4,
  maxHold: 5,
  revoked: 6,
  stolen: 7,
  takenOver: 8,
} as const;
/** The number of a reason; views of the SDK have its name, `LossReason`. */
export type EndReason = (typeof END_REASON)[keyof typeof END_REASON];

export const BLOCKED_BY = { holds: 0, waiters: 1, closing: 2 } as const;
export type BlockedBy = (typeof BLOCKED_BY)[keyof typeof BLOCKED_BY];

/** One of those in the way; a few are named. On the wire `[sessionName, key, mode, token]`. */
export interface Blocker {
  readonly sessionName: string;
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 when it waits itself, and of a closing. */
  readonly token: number;
}

/**
 * One of those that wait for each other in a circle, each for the next and the last for the first.
 */
export interface CycleMember {
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
  /** In which it waits for the next, and as what. */
  readonly key: string;
  readonly mode: ClaimMode;
}

/** What a ticket was exchanged for. On the wire `[key, mode, permits, slots]`. */
export interface ClaimedItem {
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 of locks. */
  readonly permits: number;
  readonly slots: readonly number[];
}

/** The result of one sequenced command, from the entry that executed it. */
export type Result =
  | { readonly status: typeof STATUS.ok }
  | {
      readonly status: typeof STATUS.granted;
      readonly token: number;
      /** Of each of its items that is of a semaphore, in order; absent where there are none. */
      readonly slots?: readonly (readonly number[])[];
    }
  | { readonly status: typeof STATUS.upgraded; readonly token: number }
  | {
      readonly status: typeof STATUS.claimed;
      readonly token: number;
      readonly items: readonly ClaimedItem[];
      readonly value: string;
      readonly grantedAt: number;
      /** When it ends by itself, in cluster time; 0: with the session. */
      readonly endsAt: number;
    }
  | { readonly status: typeof STATUS.queued }
  | { readonly status: typeof STATUS.released }
  | {
      readonly status: typeof STATUS.revoked;
      /** Holds. */
      readonly count: number;
      /** Of the key, holds and closings that were too many for one command: say it again. */
      readonly remaining: number;
      /** Ended holds that kept the key closed, and do no more. */
      readonly opened: number;
    }
  | { readonly status: typeof STATUS.notReleased; readonly reason: EndReason }
  | {
      readonly status: ErrorNumber;
      /** `LOCK_HELD` */
      readonly blockedBy?: BlockedBy;
      readonly blockers?: readonly Blocker[];
      /** `DEADLOCK`: who is refused comes first; of a long circle `CYCLE_MEMBERS_MAX` are named. */
      readonly cycle?: readonly CycleMember[];
      /** `LIMIT_MISMATCH`: the limit that the key has. */
      readonly limit?: number;
    };

/** `[3, sequence, stamp, status, …]`: answer of the entry that executed the sequence. */
export interface Reply {
  readonly kind: typeof MESSAGE.reply;
  readonly sequence: number;
  readonly stamp: number;
  readonly result: Result;
}

/** `[4, sequence, stamp, status, …]`: how a wait ended, pushed when it did. */
export interface Outcome {
  readonly kind: typeof MESSAGE.outcome;
  readonly sequence: number;
  readonly stamp: number;
  readonly result: Result;
}

/** `[5, number, stamp]`: a keepalive was applied. */
export interface Pulse {
  readonly kind: typeof MESSAGE.pulse;
  readonly number: number;
  readonly stamp: number;
}

/** What became of a sequence. On the wire `[sequence, state, …]`. */
export const RECALL_STATE = {
  /** Not executed; of sequences up to the highest there is none. */
  unseen: 0,
  waiting: 1,
  held: 2,
  /** It was held, and ended otherwise than by a command of its session. */
  ended: 3,
  replied: 4,
  /** It ended, and the client said that it has read how, or asked for the end itself. */
  forgotten: 5,
} as const;
export type RecalledSequence =
  | {
      readonly sequence: number;
      readonly state:
        | typeof RECALL_STATE.unseen
        | typeof RECALL_STATE.waiting
        | typeof RECALL_STATE.forgotten;
    }
  | RecalledHold
  /** `[sequence, 3, token, reason]` */
  | {
      readonly sequence: number;
      readonly state: typeof RECALL_STATE.ended;
      readonly token: number;
      readonly reason: EndReason;
    }
  /** `[sequence, 4, stamp, status, …]` */
  | {
      readonly sequence: number;
      readonly state: typeof RECALL_STATE.replied;
      readonly stamp: number;
      readonly result: Result;
    };

/**
 * A hold as it is now, whatever was told of it before. On the wire `[sequence, 2, token, items, value,
 * grantedAt, endsAt, isRevoked, isContended]`.
 */
export interface RecalledHold {
  readonly sequence: number;
  readonly state: typeof RECALL_STATE.held;
  /** The newest. */
  readonly token: number;
  readonly items: readonly ClaimedItem[];
  readonly value: string;
  readonly grantedAt: number;
  /** When it ends by itself, in cluster time; 0: with the session. */
  readonly endsAt: number;
  /** That end is a revoke. */
  readonly isRevoked: boolean;
  readonly isContended: boolean;
}

/** `[6, number, stamp, sequences]` */
export interface Recalled {
  readonly kind: typeof MESSAGE.recalled;
  readonly number: number;
  readonly stamp: number;
  readonly sequences: readonly RecalledSequence[];
}

/**
 * `[7, session, reason]`, or `[7, session, reason, taker]` when another process took it over: the session
 * is no more, or not this client's any more. The connection may be used to open another.
 */
export interface SessionEnded {
  readonly kind: typeof MESSAGE.ended;
  readonly session: number;
  readonly reason: EndReason;
  /** The process that has the session now; "" unless it was taken over. */
  readonly taker: string;
}

/** `[11, sequence]`: somebody began to wait for the hold. Once for each hold. */
export interface Contended {
  readonly kind: typeof MESSAGE.contended;
  readonly sequence: number;
}

/** `[12, sequence, stamp, endsAt, reason]`: the hold will be ended. Sequence 0: the whole session. */
export interface Revoking {
  readonly kind: typeof MESSAGE.revoking;
  readonly sequence: number;
  readonly stamp: number;
  /** Cluster time; not before the lease that was known when this was decided has ended. */
  readonly endsAt: number;
  readonly reason: string;
}

/** `[13, sequence, token, stamp, reason]`: the hold ended otherwise than by a command of its session. */
export interface Lost {
  readonly kind: typeof MESSAGE.lost;
  readonly sequence: number;
  readonly token: number;
  readonly stamp: number;
  readonly reason: EndReason;
}

/** Everything the table addresses to a session. */
export type SessionMessage =
  | Reply
  | Outcome
  | Pulse
  | Recalled
  | SessionEnded
  | Contended
  | Revoking
  | Lost;

/**
 * `[15, sequence, status]`: the node that read the command did not admit it, so that it will never be
 * executed under this number, nor anything that was sent after it: until a command comes with this
 * number again, others are dropped. Also the answer to an order without a session that was not taken.
 */
export interface Refused {
  readonly kind: typeof MESSAGE.refused;
  readonly sequence: number;
  /** `BUSY`, `DISK_FULL`: later there may be room. Others, such as `INVALID_ARGUMENT`, are final. */
  readonly status: ErrorNumber;
}

/**
 * `[2, attempt, 0, session, generation, epoch, highestSequence, stamp, ttlMs, index]`, `[2, attempt,
 * error]`, or `[2, attempt, TAKEN_OVER, generation, taker]`. Answer to open, resume and takeover, given by the node
 * that applied it to the connection that asked.
 */
export interface Attached {
  readonly kind: typeof MESSAGE.attached;
  /** Not on the wire: it finds the connection that asked (`attachKeyOf`). */
  readonly key: string;
  readonly attempt: number;
  /** `STATUS.ok`, or the error's number: `SESSION_EXPIRED`, `FORBIDDEN` (wrong nonce), … */
  readonly status: typeof STATUS.ok | ErrorNumber;
  readonly session: number;
  /** How often the session was taken over. */
  readonly generation: number;
  readonly epoch: number;
  /**
   * The highest sequence that was executed in this session, 0 for a fresh one: nothing above it ever
   * will be under the number that it had.
   */
  readonly highestSequence: number;
  readonly stamp: number;
  readonly ttlMs: number;
  /** Of the entry that answers: what is executed for this connection comes after it. */
  readonly index: number;
  /** Beside `TAKEN_OVER`: who has the session; else "". */
  readonly taker: string;
}

/** One node as clients may know it. On the wire `[id, endpoint]`. */
export interface NodeEndpoint {
  readonly id: number;
  readonly endpoint: string;
}

/** `[1, version, clusterId, nodeId, leaderId, endpoints, frameBytesMax, voters]`: said first. */
export interface Hello {
  readonly kind: typeof MESSAGE.hello;
  readonly version: number;
  readonly clusterId: string;
  readonly nodeId: number;
  /** 0 while unknown. */
  readonly leaderId: number;
  readonly endpoints: readonly NodeEndpoint[];
  readonly frameBytesMax: number;
  /** The nodes of which a majority decides; none while this node was told of no cluster. */
  readonly voters: readonly number[];
}

/** `[8, id, error | 0, payload]`: answer to a read or an operation. */
export interface Answer {
  readonly kind: typeof MESSAGE.answer;
  readonly id: number;
  readonly status: typeof STATUS.ok | ErrorNumber;
  /**
   * Plain data, packed with msgpackr. Beside an error: null for a read, `OperationFailure` for an
   * operation. Null for an operation that was done and has nothing to tell.
   */
  readonly payload: unknown;
}

/** `[9, leaderId, endpoints]`: the leader changed; purely a hint. 0: none is known. */
export interface LeaderNotice {
  readonly kind: typeof MESSAGE.leader;
  readonly leaderId: number;
  readonly endpoints: readonly NodeEndpoint[];
}

/** `[10]`: this node cannot serve now; go to another. */
export interface MoveNotice {
  readonly kind: typeof MESSAGE.move;
}

/** `[14, id, status, payload]`: what a watch saw, or with an error that it is over. */
export interface Changes {
  readonly kind: typeof MESSAGE.changes;
  /** Of the watch. */
  readonly id: number;
  readonly status: typeof STATUS.ok | ErrorNumber;
  /** `ChangesView`, packed with msgpackr; null beside an error. */
  readonly payload: unknown;
}

export type ServerMessage =
  | Hello
  | Attached
  | SessionMessage
  | Refused
  | Answer
  | LeaderNotice
  | MoveNotice
  | Changes;

/** Payload beside the error of an operation. */
export interface OperationFailure {
  /** For people: what is in the way, and what could be done. */
  readonly message: string;
}

/** Payload of `saveSnapshot`: not yet there, or what is to be read. */
export type SnapshotView =
  | { readonly isReady: false }
  | {
      readonly isReady: true;
      /** The node that has it. */
      readonly nodeId: number;
      /** 64 hex digits: what `readSnapshot` asks for. */
      readonly checksum: string;
      /** The last entry whose effects it holds. */
      readonly index: number;
      readonly term: number;
      readonly chunkCount: number;
      /** Of all chunks together. */
      readonly byteLength: number;
      /** Who belonged to the cluster, as its nodes write it down; in hex digits. */
      readonly configuration: string;
      /** Wall clock of the node, in milliseconds. */
      readonly wallMs: number;
      /** Of the node. */
      readonly version: string;
    };

/** Payload of `readSnapshot`. */
export interface SnapshotChunkView {
  /** In base64. */
  readonly bytes: string;
}

/** Payload of `members`. */
export interface MembersView {
  readonly leaderId: number;
  readonly term: number;
  readonly commitIndex: number;
  /** A change is under way: two majorities decide. */
  readonly isJoint: boolean;
  readonly members: readonly MemberView[];
}
/** One member of the cluster, as its leader sees it. */
export interface MemberView {
  readonly id: number;
  readonly role: "voter" | "learner";
  /** `host:port` where the peers dial it. */
  readonly address: string;
  /** What clients are told to connect to; empty while it was never heard of. */
  readonly endpoint: string;
  /** Whether the leader heard it within an election timeout. */
  readonly isReachable: boolean;
  /** Committed entries that are not known to be durable there. */
  readonly lagEntries: number;
  /** How often its process was started on its data, as far as known; 0 unknown. */
  readonly incarnation: number;
}
