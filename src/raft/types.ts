/**
 * The contract of the consensus core: its inputs (`Input`), its effects (`Effects`), and the
 * messages between nodes. The names come from the Raft paper (Ongaro and Ousterhout, 2014) and from
 * Ongaro's thesis. This file holds types and their words only; it must never import from outside the
 * core.
 */

/** A node's number, 1 … 2^32 − 1, which never changes. */
export type NodeId = number;

/**
 * `command`: bytes that the core never decodes. `noop`: the first entry of a term. Where entries are
 * stored or sent, the kind is its index here, so the order must not change.
 */
export const ENTRY_KINDS = ["noop", "command", "configuration"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

export interface Entry {
  readonly index: number;
  readonly term: number;
  readonly kind: EntryKind;
  /** Encoded once, by the proposer; the same bytes go to every peer and to disk. */
  readonly data: Uint8Array;
}

/** Where other members reach this one: printable ASCII, opaque to the core. */
export interface MemberAddress {
  readonly id: NodeId;
  readonly address: string;
}

/**
 * How a node came to its cluster: `initial` as one of its founders, which knows the first members,
 * or `joined` later, so that it waits until a leader sends it the members. On disk and between nodes
 * the index here.
 */
export const NODE_ORIGINS = ["initial", "joined"] as const;
export type NodeOrigin = (typeof NODE_ORIGINS)[number];

/**
 * The members. While `outgoing` is not empty the configuration is joint (thesis, 4.3). It has no
 * voters on a node that waits to learn its members from a leader.
 */
export interface Configuration {
  readonly voters: readonly NodeId[];
  /** The voters before the change under way. */
  readonly outgoing: readonly NodeId[];
  /** Receive every entry and do not vote. */
  readonly learners: readonly NodeId[];
  /** The address of every member, in the order of ids. */
  readonly addresses: readonly MemberAddress[];
}

/** A snapshot that is durable: it holds the effects of every entry up to `index`. */
export interface SnapshotPoint {
  readonly index: number;
  readonly term: number;
  /** 64 hex digits over its contents; the core only compares it. */
  readonly checksum: string;
}

export interface InstalledSnapshot extends SnapshotPoint {
  /** In force at `index`. */
  readonly configuration: Configuration;
}

/**
 * What a node must remember across restarts in addition to its log. `vote` 0: none in this term.
 */
export interface HardState {
  readonly term: number;
  readonly vote: NodeId;
}

export type Role = "follower" | "preCandidate" | "candidate" | "leader";

interface MessageBase {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The sender's term; in a pre-vote the term of the election. */
  readonly term: number;
  /**
   * The epoch of the requester's outgoing connection. A reply repeats the epoch of its request, so
   * that an answer to a request on an earlier connection is recognised and dropped.
   */
  readonly epoch: number;
}

export interface VoteRequest extends MessageBase {
  readonly type: "preVote" | "vote";
  readonly lastLogIndex: number;
  readonly lastLogTerm: number;
  /** The leader of the last term asked for it: voters owe that leader no loyalty (thesis, 3.10). */
  readonly isTransfer: boolean;
}

export interface VoteReply extends MessageBase {
  readonly type: "preVoteReply" | "voteReply";
  readonly granted: boolean;
}

export interface AppendRequest extends MessageBase {
  readonly type: "append";
  readonly prevLogIndex: number;
  readonly prevLogTerm: number;
  readonly commitIndex: number;
  readonly entries: readonly Entry[];
}

export interface AppendReply extends MessageBase {
  readonly type: "appendReply";
  readonly success: boolean;
  /** On success: the index up to which the follower's log is durable and matches. Otherwise 0. */
  readonly matchIndex: number;
  /** On refusal: the `prevLogIndex` that was refused. Otherwise 0. */
  readonly rejectedIndex: number;
  /**
   * On refusal: no append can help, because entries of the leader cannot be applied here, or
   * contradict what is committed here. A snapshot after `hintIndex` replaces all of that.
   */
  readonly needsSnapshot: boolean;
  /** On refusal: the largest (index, term) at which the logs may still match. Otherwise 0. */
  readonly hintIndex: number;
  readonly hintTerm: number;
}

/** A sign of life, with the commit index, at most `matchIndex`. */
export interface Heartbeat extends MessageBase {
  readonly type: "heartbeat";
  readonly commitIndex: number;
  /**
   * Rises with every broadcast of a term; a reply repeats it (for check-quorum and read index). 0:
   * only the commit index has moved, and no reply is needed.
   */
  readonly round: number;
}

export interface HeartbeatReply extends MessageBase {
  readonly type: "heartbeatReply";
  readonly round: number;
}

/** Tells its receiver to stand at once, if its log ends exactly here (thesis, 3.10). */
export interface TimeoutNow extends MessageBase {
  readonly type: "timeoutNow";
  readonly lastLogIndex: number;
  readonly lastLogTerm: number;
}

export type Message =
  | VoteRequest
  | VoteReply
  | AppendRequest
  | AppendReply
  | Heartbeat
  | HeartbeatReply
  | TimeoutNow;

/** The members as they should be; the leader finds the way there (joint, then final). */
export interface MembershipTarget {
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  readonly addresses: readonly MemberAddress[];
}

export type Input =
  | { readonly type: "message"; readonly message: Message }
  /** An append that the caller cannot apply. It is not taken, and its sender learns why. */
  | { readonly type: "unusable"; readonly message: AppendRequest }
  /** One entry. `id` is chosen by the caller and repeated in `accepted` or `refused`. */
  | { readonly type: "propose"; readonly id: number; readonly data: Uint8Array }
  /**
   * `nowMs`: monotonic milliseconds; never falls. Must be the first input of *every* turn, because
   * it dates the others. Deadlines are checked in `take`, after everything that arrived in the turn
   * was seen.
   */
  | { readonly type: "tick"; readonly nowMs: number }
  /** Every write with a sequence up to `seq` is durable. */
  | { readonly type: "persisted"; readonly seq: number }
  | { readonly type: "applied"; readonly index: number }
  /** There is an outgoing connection to `peer`; `epoch` rises with every new one. */
  | { readonly type: "peerUp"; readonly peer: NodeId; readonly epoch: number }
  /**
   * Whether `peer` wants to know of every advance of the commit index at once. The leader assumes
   * it until the first such input. A peer without waiting clients learns it with the next append or
   * heartbeat.
   */
  | { readonly type: "commitInterest"; readonly peer: NodeId; readonly isInterested: boolean }
  /**
   * The outgoing connection ended. `closed`: the other process closed it (FIN, RST), so that
   * process is gone; otherwise the link fell silent.
   */
  | {
      readonly type: "peerDown";
      readonly peer: NodeId;
      readonly epoch: number;
      readonly closed: boolean;
    }
  /**
   * Asks for an index that a read begun before this may use (thesis, 6.4). Answered in `reads`
   * after a quorum round that began afterwards, or in `readsRefused`.
   */
  | { readonly type: "readIndex"; readonly id: number }
  /** Answered in `accepted` with the index of the first configuration entry, or in `refused`. */
  | {
      readonly type: "changeMembership";
      readonly id: number;
      readonly target: MembershipTarget;
    }
  /**
   * Hands leadership to `target`, or to the voter with the most complete log if it is 0. Answered
   * in `refused` if it cannot begin, and otherwise in `transferEnded`. Proposals are refused
   * meanwhile.
   */
  | { readonly type: "transferLeadership"; readonly id: number; readonly target: NodeId }
  /**
   * A snapshot taken here is durable. No peer that is only slow needs entries before `keepFrom` (at
   * most `snapshot.index + 1`).
   */
  | { readonly type: "compact"; readonly snapshot: SnapshotPoint; readonly keepFrom: number }
  /**
   * A snapshot that the leader of `term` sent is complete and durable here, but the log does not
   * name it yet. `epoch` belongs to the sender's connection. Ignored if this node has moved on.
   */
  | {
      readonly type: "snapshotReceived";
      readonly from: NodeId;
      readonly term: number;
      readonly epoch: number;
      readonly snapshot: InstalledSnapshot;
    }
  /** The transfer that `snapshotsWanted` asked for was given up: the peer is probed again. */
  | { readonly type: "snapshotFailed"; readonly peer: NodeId; readonly epoch: number };

/** One atomic record of the log: all of it becomes durable or nothing. */
export interface Write {
  /**
   * Rises throughout the process, so that a rewritten entry is never confused with the earlier one.
   */
  readonly seq: number;
  readonly hardState: HardState | undefined;
  /** Entries from this index on are removed before `entries` are appended. */
  readonly truncateFrom: number | undefined;
  /**
   * The snapshot on which the log is based from now on. `isReset`: every entry is removed and the
   * log continues after `index`; otherwise entries before `keepFrom` may be removed. Comes before
   * `entries`.
   */
  readonly snapshot: WrittenSnapshot | undefined;
  readonly entries: readonly Entry[];
}

export interface WantedSnapshot {
  readonly peer: NodeId;
  /** The epoch of the connection. */
  readonly epoch: number;
  /** Only a snapshot of a later entry can be used; 0: the newest one, which the log follows. */
  readonly afterIndex: number;
}

export interface WrittenSnapshot extends SnapshotPoint {
  readonly isReset: boolean;
  /** At most `index + 1`; exactly that after a reset. */
  readonly keepFrom: number;
}

/** A message that may leave only when the write `seq` is durable, which may be the case already. */
export interface DeferredMessage {
  readonly seq: number;
  readonly message: Message;
}

export type RefusalReason =
  | "notLeader"
  /** Too many bytes are uncommitted. */
  | "busy"
  /** Leadership is being handed over. */
  | "transferring"
  /** No entry of this term is committed yet, or an earlier change of members is under way. */
  | "notReady"
  /** A new voter lags too far behind to vote. */
  | "notCaughtUp"
  /** The new voters could not reach a majority now. */
  | "wouldLoseQuorum"
  /** The target is not a voter, or these are the members already. */
  | "invalid";

export interface Refusal {
  readonly id: number;
  readonly reason: RefusalReason;
}

export interface RoleChange {
  readonly role: Role;
  readonly term: number;
  /** 0 if unknown. */
  readonly leader: NodeId;
}

/**
 * What must be done now. The caller's duties, in this order:
 * 1. send `sendNow`, which does not wait for a disk: the peers' disks and this one work in
 *    parallel;
 * 2. hand `write` to the log (writes become durable in the order in which they are handed over);
 * 3. keep each of `sendAfter` until its `seq` is durable, then send it;
 * 4. `restore` if there is one; then apply every entry up to `applyTo` and answer with `applied`;
 * 5. answer proposals and reads, take note of `roleChange` and `configuration`, begin the transfers
 *    of `snapshotsWanted`;
 * 6. arm one timer for `nextDeadlineMs` and answer it with `tick`.
 */
export interface Effects {
  readonly sendNow: readonly Message[];
  readonly write: Write | undefined;
  readonly sendAfter: readonly DeferredMessage[];
  readonly applyTo: number;
  readonly accepted: readonly {
    readonly id: number;
    readonly index: number;
    readonly term: number;
  }[];
  readonly refused: readonly Refusal[];
  readonly roleChange: RoleChange | undefined;
  /** Each may be answered once everything up to `index` is applied. */
  readonly reads: readonly { readonly id: number; readonly index: number }[];
  /** This node does not lead any more: ask the leader. */
  readonly readsRefused: readonly number[];
  /** Peers that need a snapshot. */
  readonly snapshotsWanted: readonly WantedSnapshot[];
  /**
   * The table must be replaced by this snapshot, which was received before, as soon as the write of
   * this turn is durable. Nothing after `index` may be applied before. When it is done, answer with
   * `applied` of `index`; until then this node does not stand for election, because it could not
   * serve. Waiting proposals and reads of this node are void.
   */
  readonly restore: InstalledSnapshot | undefined;
  /**
   * The members changed, by an entry that was appended, removed or installed; in force from here
   * on.
   */
  readonly configuration: Configuration | undefined;
  readonly transferEnded: { readonly id: number; readonly isDone: boolean } | undefined;
  readonly nextDeadlineMs: number;
}

export interface RaftConfig {
  readonly id: NodeId;
  /**
   * The least time without a leader before a node stands for election; drawn from [1, 2) times it.
   */
  readonly electionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /**
   * Longest delay before a pre-vote after the leader's process closed its connection. A vote binds
   * its voter for this time (`election.ts`), so an election, with ballots and disks, should not
   * take longer.
   */
  readonly closedPeerDelayMs: number;
  /** Proposals are refused as `busy` while more bytes of entries than this are uncommitted. */
  readonly uncommittedBytesMax: number;
  /** Limits of what is sent to one peer and not yet acknowledged. */
  readonly inflightBytesMax: number;
  readonly inflightMessagesMax: number;
  /**
   * Delay of entries to voters that no majority needs, so that they are sent together with later
   * ones; 0: none.
   */
  readonly spareDelayMs: number;
  /** An append carries at most this many bytes (but at least one entry). */
  readonly appendBytesMax: number;
}

/** What the log on disk contained when the process started. */
export interface Boot {
  readonly hardState: HardState;
  /** The entry before the first of `entries`; 0, 0 for a log from its beginning. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly Entry[];
  /**
   * The last entry whose effects the restored table has: the index of the snapshot on which the log
   * is based, or 0 without one. Between `baseIndex` and the last index, both included.
   */
  readonly snapshotIndex: number;
  /** The configuration in force at `snapshotIndex`. */
  readonly configuration: Configuration;
  /** The largest write sequence that the log has seen; the core continues after it. */
  readonly lastSeq: number;
}

/** Returns a number in [0, 1). Seeded: the same seed gives the same run. */
export type Random = () => number;
