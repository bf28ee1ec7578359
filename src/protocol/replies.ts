/**
 * Messages of the table and the nodes to clients. A server frame is a msgpack array of messages,
 * each a positional array `[kind, …]`. Replies are structures and codes, never texts, because they
 * are stored in the replicated table.
 */
import type { ErrorNumber } from "../errors/index.js";
import type { ClaimMode } from "./commands.js";
import type { LogLevel } from "./log-level.js";

export const MESSAGE = {
  hello: 1,
  attached: 2,
  reply: 3,
  outcome: 4,
  renewed: 5,
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
  adopted: 7,
  leased: 8,
  extended: 9,
  givenBack: 10,
  acted: 11,
} as const;

/** Why something is not, or no longer, held. On the wire the number. */
export const END_REASON = {
  unknown: 0,
  released: 1,
  expired: 2,
  closed: 3,
  cancelled: 4,
  maxHold: 5,
  revoked: 6,
  stolen: 7,
  moved: 8,
} as const;
/** The number of a reason; views of the SDK have its name, `LossReason`. */
export type EndReason = (typeof END_REASON)[keyof typeof END_REASON];
const END_REASONS: ReadonlySet<number> = new Set(Object.values(END_REASON));
export const isEndReason = (number: number): number is EndReason => END_REASONS.has(number);

export const BLOCKED_BY = { holds: 0, waiters: 1, cooldown: 2 } as const;
export type BlockedBy = (typeof BLOCKED_BY)[keyof typeof BLOCKED_BY];

/**
 * Whose a hold is: a session's; an owner's, as a lease; or a bearer's, from whom a session can adopt
 * it.
 */
export const HOLDERS = ["session", "owner", "bearer"] as const;
export type Holder = (typeof HOLDERS)[number];

/**
 * One of the blockers of a request, of which a few are named: a hold, a waiting request or a
 * cooldown. On the wire `[sessionName, key, mode, token, identity, session, holder]`.
 */
export interface Blocker {
  /** "" for a cooldown. A bearer's hold has the name of the session that handed it over. */
  readonly sessionName: string;
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 for a waiting request and for a cooldown. */
  readonly token: number;
  /** The name of the identity of the holder; "" for a cooldown. */
  readonly identity: string;
  /** 0 for a hold of an owner or bearer, and for a cooldown. */
  readonly session: number;
  /** `null` for a waiting request and for a cooldown. On the wire 0, otherwise 1 + its index. */
  readonly holder: Holder | null;
}

/** One member of a cycle of waits: each waits for the next, and the last for the first. */
export interface CycleMember {
  readonly session: number;
  readonly sessionName: string;
  readonly task: number;
  /** The key in which it waits for the next one, and its mode there. */
  readonly key: string;
  readonly mode: ClaimMode;
  /** The name of the identity of the session. */
  readonly identity: string;
}

/** One key of a hold. On the wire `[key, mode, permits, slots]`. */
export interface HeldItem {
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 for locks. */
  readonly permits: number;
  /** The held slots, of 0 … limit − 1, ascending; empty for locks. */
  readonly slots: readonly number[];
}

/** The result of one sequenced command, from the entry that executed it. */
export type Result =
  | { readonly status: typeof STATUS.ok }
  | {
      readonly status: typeof STATUS.granted;
      readonly token: number;
      /** The slots of each semaphore item, in order; absent if there are none. */
      readonly slots?: readonly (readonly number[])[];
    }
  | { readonly status: typeof STATUS.upgraded; readonly token: number }
  | {
      readonly status: typeof STATUS.adopted;
      readonly token: number;
      readonly items: readonly HeldItem[];
      readonly value: string;
      readonly grantedAt: number;
      /** When it ends by itself, in cluster time; 0 means with the session. */
      readonly endsAt: number;
    }
  | {
      readonly status: typeof STATUS.leased;
      /** One, or of a split take one for each item. */
      readonly tokens: readonly number[];
      /**
       * When it ends by itself, in cluster time; 0: without end. For a split take, the first end.
       */
      readonly endsAt: number;
      /** The slots of each semaphore item, in order. */
      readonly slots: readonly (readonly number[])[];
    }
  | {
      readonly status: typeof STATUS.extended;
      /** The lease of each key, in the order of the command. */
      readonly leases: readonly ExtendedLease[];
    }
  | {
      readonly status: typeof STATUS.givenBack;
      /** In how many of the keys a hold ended. */
      readonly count: number;
      /** In how many of the keys a wait ended. */
      readonly waits: number;
      /** Why the owner had nothing in the first key in which it had nothing; `unknown` if in none. */
      readonly reason: EndReason;
    }
  | {
      readonly status: typeof STATUS.acted;
      /**
       * The token of each step's lease, 0 where there is none now; empty: a key was not as its step
       * said, and nothing was done.
       */
      readonly tokens: readonly number[];
    }
  | { readonly status: typeof STATUS.queued }
  | { readonly status: typeof STATUS.released }
  | {
      readonly status: typeof STATUS.revoked;
      /** The number of holds. */
      readonly count: number;
      /** Holds and cooldowns of the key that were too many for one command: repeat it for these. */
      readonly remaining: number;
      /** Ended holds that kept the key closed and no longer do. */
      readonly opened: number;
      /** By when the last of the holds ends, in milliseconds; 0: none is left. */
      readonly endsInMs: number;
      /** How many holds of owners and bearers are left, who do not hear of the revoke. */
      readonly leasesLeft: number;
    }
  | { readonly status: typeof STATUS.notReleased; readonly reason: EndReason }
  | {
      readonly status: ErrorNumber;
      /** `LOCK_HELD` */
      readonly blockedBy?: BlockedBy;
      readonly blockers?: readonly Blocker[];
      /**
       * `DEADLOCK`: the refused member comes first; of a long cycle `CYCLE_MEMBERS_MAX` are named.
       */
      readonly cycle?: readonly CycleMember[];
      /**
       * `LIMIT_MISMATCH`: the limit that the key has. `INVALID_ARGUMENT` of a take or extend that asks
       * for too long a lease: the setting `leaseTtlMsMax`.
       */
      readonly limit?: number;
      /** `OUTDATED_ORDER`: the count at which the order would have been executed. */
      readonly orderCount?: number;
      /** `LOCK_HELD` of a take: the same owner has it, by another request. */
      readonly isSameOwner?: true;
      /** `NOT_HELD` of an extend: how the lease ended that the owner had. */
      readonly reason?: EndReason;
    };

/** On the wire `[token, endsAt]`. */
export interface ExtendedLease {
  readonly token: number;
  /** When it ends by itself, in cluster time; 0: without end. */
  readonly endsAt: number;
}

/** `[3, sequence, stamp, status, …]`: the answer of the entry that executed the sequence. */
export interface Reply {
  readonly kind: typeof MESSAGE.reply;
  readonly sequence: number;
  readonly stamp: number;
  readonly result: Result;
}

/** `[4, sequence, stamp, status, …]`: how a wait ended, sent when it did. */
export interface Outcome {
  readonly kind: typeof MESSAGE.outcome;
  readonly sequence: number;
  readonly stamp: number;
  readonly result: Result;
}

/** `[5, number, stamp]`: a keepalive was applied. */
export interface Renewed {
  readonly kind: typeof MESSAGE.renewed;
  readonly number: number;
  readonly stamp: number;
}

/** The state of a recalled sequence. On the wire `[sequence, state, …]`. */
export const RECALL_STATE = {
  /** Not executed. No sequence up to the highest has this state. */
  unseen: 0,
  waiting: 1,
  held: 2,
  /** It was held, and ended in some way other than by a command of its session. */
  ended: 3,
  replied: 4,
  /** It ended, and the client has acknowledged that, or ended it itself. */
  forgotten: 5,
} as const;
export type RecallState = (typeof RECALL_STATE)[keyof typeof RECALL_STATE];
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
 * A hold as it is now, whatever was sent about it before. On the wire `[sequence, 2, token, items,
 * value, grantedAt, endsAt, isRevoked, isContended]`.
 */
export interface RecalledHold {
  readonly sequence: number;
  readonly state: typeof RECALL_STATE.held;
  /** Its newest token. */
  readonly token: number;
  readonly items: readonly HeldItem[];
  readonly value: string;
  readonly grantedAt: number;
  /** When it ends by itself, in cluster time; 0 means with the session. */
  readonly endsAt: number;
  /** Whether a revoke is the reason for that end. */
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
 * `[7, session, reason]`: the session has ended. The connection can be used to open another one.
 */
export interface SessionEnded {
  readonly kind: typeof MESSAGE.ended;
  readonly session: number;
  readonly reason: EndReason;
}

/** `[11, sequence]`: a request began to wait for the hold. Sent once for each hold. */
export interface Contended {
  readonly kind: typeof MESSAGE.contended;
  readonly sequence: number;
}

/**
 * `[12, sequence, stamp, endsAt, reason]`: the hold will be ended. Sequence 0 means the whole
 * session.
 */
export interface Revoking {
  readonly kind: typeof MESSAGE.revoking;
  readonly sequence: number;
  readonly stamp: number;
  /** Cluster time; not before the end of the lease as it was when this was decided. */
  readonly endsAt: number;
  readonly reason: string;
}

/**
 * `[13, sequence, token, stamp, reason]`: the hold ended in some way other than by a command of its
 * session.
 */
export interface Lost {
  readonly kind: typeof MESSAGE.lost;
  readonly sequence: number;
  readonly token: number;
  readonly stamp: number;
  readonly reason: EndReason;
}

/** The messages that the table sends to a session. */
export type SessionMessage =
  | Reply
  | Outcome
  | Renewed
  | Recalled
  | SessionEnded
  | Contended
  | Revoking
  | Lost;

/**
 * `[15, sequence, status]`: the node that read the command did not admit it. It will never be
 * executed under this number, and neither will anything sent after it: commands are dropped until
 * one arrives with this number again. Also the answer to an order without a session that was not
 * accepted.
 */
export interface Refused {
  readonly kind: typeof MESSAGE.refused;
  readonly sequence: number;
  /**
   * `BUSY`, `DISK_FULL`: there may be room later. Others, such as `INVALID_ARGUMENT`, are final.
   */
  readonly status: ErrorNumber;
}

/**
 * `[2, attempt, 0, session, epoch, highestSequence, stamp, ttlMs, index]` or `[2, attempt, error]`:
 * the answer to open and resume, sent by the node that applied it to the connection that asked.
 */
export interface Attached {
  readonly kind: typeof MESSAGE.attached;
  /** Not on the wire: identifies the connection that asked (`attachKeyOf`). */
  readonly key: string;
  readonly attempt: number;
  /** `STATUS.ok`, or the error's number: `SESSION_EXPIRED`, `FORBIDDEN` (wrong nonce), … */
  readonly status: typeof STATUS.ok | ErrorNumber;
  readonly session: number;
  readonly epoch: number;
  /**
   * The highest sequence executed in this session, 0 for a new one. Nothing above it will ever be
   * executed under the number that it had.
   */
  readonly highestSequence: number;
  readonly stamp: number;
  readonly ttlMs: number;
  /** The index of the answering entry: commands executed for this connection come after it. */
  readonly index: number;
}

/** One node and the endpoint for its clients. On the wire `[id, endpoint]`. */
export interface NodeEndpoint {
  readonly id: number;
  readonly endpoint: string;
}

/**
 * `[1, version, clusterId, nodeId, leaderId, endpoints, frameBytesMax, voters]`: the first message.
 */
export interface Hello {
  readonly kind: typeof MESSAGE.hello;
  readonly version: number;
  readonly clusterId: string;
  readonly nodeId: number;
  /** 0 while unknown. */
  readonly leaderId: number;
  readonly endpoints: readonly NodeEndpoint[];
  readonly frameBytesMax: number;
  /** The nodes of which a majority decides; empty while this node knows of no cluster. */
  readonly voters: readonly number[];
}

/** `[8, id, error | 0, payload]`: the answer to a read or an operation. */
export interface Answer {
  readonly kind: typeof MESSAGE.answer;
  readonly id: number;
  readonly status: typeof STATUS.ok | ErrorNumber;
  /**
   * Plain data, packed with msgpackr. With an error: null for a read, `OperationFailure` for an
   * operation. Also null for an operation that was carried out and returns nothing.
   */
  readonly payload: unknown;
}

/** `[9, leaderId, endpoints]`: the leader has changed; only a hint. 0 means that none is known. */
export interface LeaderNotice {
  readonly kind: typeof MESSAGE.leader;
  readonly leaderId: number;
  readonly endpoints: readonly NodeEndpoint[];
}

/** `[10]`: this node cannot serve now; the client should go to another. */
export interface MoveNotice {
  readonly kind: typeof MESSAGE.move;
}

/** `[14, id, status, payload]`: changes that a watch saw, or, with an error, its end. */
export interface Changes {
  readonly kind: typeof MESSAGE.changes;
  /** The id of the watch. */
  readonly id: number;
  readonly status: typeof STATUS.ok | ErrorNumber;
  /** `ChangesView`, packed with msgpackr; null with an error. */
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

/** The payload of a failed operation. */
export interface OperationFailure {
  /** A text for people: what the obstacle is, and what could be done. */
  readonly message: string;
}

/** The payload of `logLevel`. */
export interface LogLevelView {
  readonly node: number;
  readonly level: LogLevel;
  /** The level to which it goes back: the one that the node was started with. */
  readonly usual: LogLevel;
  /** When it goes back, by the node's clock, in milliseconds since 1970; `null`: it need not. */
  readonly untilWallMs: number | null;
}

/** The payload of `saveSnapshot`: not ready yet, or the snapshot to read. */
export type SnapshotView =
  | { readonly isReady: false }
  | {
      readonly isReady: true;
      /** The node that has it. */
      readonly nodeId: number;
      /** 64 hex digits that `readSnapshot` must name. */
      readonly checksum: string;
      /** The last entry whose effects it includes. */
      readonly index: number;
      readonly term: number;
      readonly chunkCount: number;
      /** The total over all chunks. */
      readonly byteLength: number;
      /** The members of the cluster, as its nodes encode them; in hex digits. */
      readonly configuration: string;
      /** Wall clock of the node, in milliseconds of UTC. */
      readonly wallMs: number;
      /** The version of the node. */
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
  /** Whether a change is under way, in which two majorities decide. */
  readonly isJoint: boolean;
  readonly members: readonly MemberView[];
}
/** Whether a member votes, or only receives every entry. */
export const MEMBER_ROLES = ["voter", "learner"] as const;
export type MemberRole = (typeof MEMBER_ROLES)[number];
export const isMemberRole = (role: unknown): role is MemberRole =>
  MEMBER_ROLES.some((one) => one === role);

/** One member of the cluster, as its leader sees it. */
export interface MemberView {
  readonly id: number;
  readonly role: MemberRole;
  /** `host:port` at which the peers dial it. */
  readonly address: string;
  /** The endpoint that clients are told to connect to; empty until it is known. */
  readonly endpoint: string;
  /** Whether the leader heard from it within an election timeout. */
  readonly isReachable: boolean;
  /** The number of committed entries that are not known to be durable there. */
  readonly lagEntries: number;
  /** How often its process has been started on its data, as far as known; 0 if unknown. */
  readonly incarnation: number;
}
