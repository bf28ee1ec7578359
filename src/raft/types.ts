/**
 * The contract of the consensus core: what goes in (`Input`), what comes out (`Effects`), and the
 * messages between nodes. Names are those of the Raft paper (Ongaro and Ousterhout, 2014) and of
 * Ongaro's thesis. This file holds types only; it must never import from outside the core.
 */

/** A node's number, 1 … 2^32 − 1, given once and for ever. */
export type NodeId = number;

/** `command`: bytes the core never looks into. `noop`: the first entry of a term. */
export type EntryKind = "noop" | "command" | "configuration";

export interface Entry {
  readonly index: number;
  readonly term: number;
  readonly kind: EntryKind;
  /** Encoded once, by whoever proposed it; the same bytes go to every peer and to disk. */
  readonly data: Uint8Array;
}

/** Where a member is reached by the others: printable ASCII, opaque to the core. */
export interface MemberAddress {
  readonly id: NodeId;
  readonly address: string;
}

/**
 * Who decides. While `outgoing` is not empty the configuration is joint (thesis, 4.3). Without any
 * voter it is that of a node which waits to be told by a leader what it belongs to.
 */
export interface Configuration {
  readonly voters: readonly NodeId[];
  /** The voters before the change under way. */
  readonly outgoing: readonly NodeId[];
  /** Receive everything and decide nothing. */
  readonly learners: readonly NodeId[];
  /** Of every member, in the order of ids. */
  readonly addresses: readonly MemberAddress[];
}

/** A snapshot that is durable: it holds the effects of every entry up to `index`. */
export interface SnapshotPoint {
  readonly index: number;
  readonly term: number;
  /** 64 hex digits over its contents; the core compares it and nothing more. */
  readonly checksum: string;
}

export interface InstalledSnapshot extends SnapshotPoint {
  /** In force at `index`. */
  readonly configuration: Configuration;
}

/** What a node must remember across restarts besides its log. `vote` 0 means none in this term. */
export interface HardState {
  readonly term: number;
  readonly vote: NodeId;
}

export type Role = "follower" | "preCandidate" | "candidate" | "leader";

interface MessageBase {
  readonly from: NodeId;
  readonly to: NodeId;
  /** The sender's term; of a pre-vote the term it would stand for. */
  readonly term: number;
  /**
   * The epoch of the requester's outgoing connection. A reply repeats the epoch of its request,
   * so that an answer to something sent on an earlier connection is recognised and dropped.
   */
  readonly epoch: number;
}

export interface VoteRequest extends MessageBase {
  readonly type: "preVote" | "vote";
  readonly lastLogIndex: number;
  readonly lastLogTerm: number;
  /** The leader of the term before asked for it: voters owe it no loyalty (thesis, 3.10). */
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
  /** On success: the index up to which the follower's log is durable and matches. Else 0. */
  readonly matchIndex: number;
  /** On refusal: the `prevLogIndex` that was refused. Else 0. */
  readonly rejectedIndex: number;
  /** On refusal: the largest (index, term) at which the follower's log may still match. Else 0. */
  readonly hintIndex: number;
  readonly hintTerm: number;
}

/** Proof of life, and the commit index when no append carries it; never more than `matchIndex`. */
export interface Heartbeat extends MessageBase {
  readonly type: "heartbeat";
  readonly commitIndex: number;
  /**
   * Rises with every broadcast of a term; a reply repeats it (check-quorum, later read index).
   * 0: only the commit index moved, and no reply is wanted.
   */
  readonly round: number;
}

export interface HeartbeatReply extends MessageBase {
  readonly type: "heartbeatReply";
  readonly round: number;
}

/** Leader to the one who shall lead: stand at once, if your log ends exactly here (thesis, 3.10). */
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

/** What the members are to be; the leader finds the way there (joint, then final). */
export interface MembershipTarget {
  readonly voters: readonly NodeId[];
  readonly learners: readonly NodeId[];
  readonly addresses: readonly MemberAddress[];
}

export type Input =
  | { readonly type: "message"; readonly message: Message }
  /** One entry. `id` is the caller's, repeated in `accepted` or `refused`. */
  | { readonly type: "propose"; readonly id: number; readonly data: Uint8Array }
  /**
   * `nowMs`: monotonic milliseconds; never falls. Step one at the beginning of *every* turn, before
   * its other inputs, which are dated by it. Deadlines are looked at in `take`, when everything
   * that arrived in the turn has been seen.
   */
  | { readonly type: "tick"; readonly nowMs: number }
  /** Everything handed out as a write with a sequence up to `seq` is durable. */
  | { readonly type: "persisted"; readonly seq: number }
  | { readonly type: "applied"; readonly index: number }
  /** An outgoing connection to `peer` stands; `epoch` rises with every new one. */
  | { readonly type: "peerUp"; readonly peer: NodeId; readonly epoch: number }
  /**
   * Whether `peer` wants to be told of every advance of the commit index at once. Until told so the
   * leader assumes it; a peer that nobody waits at can learn it with the next append or heartbeat.
   */
  | { readonly type: "commitInterest"; readonly peer: NodeId; readonly isInterested: boolean }
  /**
   * The outgoing connection ended. `closed`: the other process closed it (FIN, RST), which means
   * that it is gone, as against a link that fell silent.
   */
  | {
      readonly type: "peerDown";
      readonly peer: NodeId;
      readonly epoch: number;
      readonly closed: boolean;
    }
  /**
   * Asks for an index that a read begun before this may trust (thesis, 6.4). Answered in `reads` by
   * a quorum round that began afterwards, or in `readsRefused`.
   */
  | { readonly type: "readIndex"; readonly id: number }
  /** Answered in `accepted` with the index of the first configuration entry, or in `refused`. */
  | {
      readonly type: "changeMembership";
      readonly id: number;
      readonly target: MembershipTarget;
    }
  /**
   * Hands leadership to `target`, 0 for the voter whose log is most complete. Refused in `refused`
   * when it cannot begin; its end comes in `transferEnded`. Proposals are refused meanwhile.
   */
  | { readonly type: "transferLeadership"; readonly id: number; readonly target: NodeId }
  /**
   * A snapshot taken here is durable. Entries before `keepFrom` (at most `snapshot.index + 1`) are
   * not needed by anybody who is only slow.
   */
  | { readonly type: "compact"; readonly snapshot: SnapshotPoint; readonly keepFrom: number }
  /**
   * A snapshot that the leader of `term` sent is complete and durable here, though the log does not
   * name it yet. `epoch` is that of the sender's connection. Ignored when this node has moved on.
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

/** One atomic record of the log: all of it becomes durable or none of it. */
export interface Write {
  /** Process-wide and rising, so that an entry written again is never confused with its forerunner. */
  readonly seq: number;
  readonly hardState: HardState | undefined;
  /** Entries from this index on are removed before `entries` are appended. */
  readonly truncateFrom: number | undefined;
  /**
   * The log stands on this snapshot from now on. `isReset`: every entry is removed and the log goes
   * on behind `index`; else entries before `keepFrom` may be removed. Comes before `entries`.
   */
  readonly snapshot: WrittenSnapshot | undefined;
  readonly entries: readonly Entry[];
}

export interface WrittenSnapshot extends SnapshotPoint {
  readonly isReset: boolean;
  /** At most `index + 1`; exactly that after a reset. */
  readonly keepFrom: number;
}

/** A message that may leave only when the write `seq` is durable, which it may be already. */
export interface DeferredMessage {
  readonly seq: number;
  readonly message: Message;
}

export type RefusalReason =
  | "notLeader"
  /** Too many bytes are not committed. */
  | "busy"
  /** Leadership is being handed over. */
  | "transferring"
  /** Nothing of this term is committed yet, or an earlier change of members is under way. */
  | "notReady"
  /** A new voter lags too far behind to count. */
  | "notCaughtUp"
  /** The members that are to decide would not reach a majority as things are. */
  | "wouldLoseQuorum"
  /** The target is no voter, or the members are these already. */
  | "invalid";

export interface Refusal {
  readonly id: number;
  readonly reason: RefusalReason;
}

export interface RoleChange {
  readonly role: Role;
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: NodeId;
}

/**
 * What is to be done now. The caller's duties, in this order:
 * 1. send `sendNow`, which waits for no disk: the peers' disks and this one run side by side;
 * 2. hand `write` to the log (writes become durable in the order they are handed over);
 * 3. keep each of `sendAfter` until its `seq` is durable, then send it;
 * 4. `restore`, if asked to; then apply every entry up to `applyTo` and answer with `applied`;
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
  /** This node does not lead any more: ask whoever does. */
  readonly readsRefused: readonly number[];
  /** Peers whose next entry the log does not hold any more. `epoch` is that of the connection. */
  readonly snapshotsWanted: readonly { readonly peer: NodeId; readonly epoch: number }[];
  /**
   * The table is to be replaced by this snapshot, received before, as soon as the write of this
   * turn is durable. Nothing behind `index` may be applied before. When it is done, answer with
   * `applied` of `index`; until then this node does not stand for election, since it could not
   * serve. Waiting proposals and reads of this node are void.
   */
  readonly restore: InstalledSnapshot | undefined;
  /** The members changed: by an entry appended, cut or installed; it counts from here on. */
  readonly configuration: Configuration | undefined;
  readonly transferEnded: { readonly id: number; readonly isDone: boolean } | undefined;
  readonly nextDeadlineMs: number;
}

export interface RaftConfig {
  readonly id: NodeId;
  /** The least time without a leader before a node stands for election; drawn from [1, 2) times it. */
  readonly electionTimeoutMs: number;
  readonly heartbeatIntervalMs: number;
  /**
   * Longest delay before a pre-vote after the leader's process closed its connection; and so long a
   * vote binds who gave it (`election.ts`): an election, ballots and disks, should take no longer.
   */
  readonly closedPeerDelayMs: number;
  /** Proposals are refused as `busy` while so many bytes of entries are not committed. */
  readonly uncommittedBytesMax: number;
  /** Limits of what is sent to one peer and not yet acknowledged. */
  readonly inflightBytesMax: number;
  readonly inflightMessagesMax: number;
  /**
   * Entries that a majority has without them are sent to the other voters so much later, together
   * with what follows; 0: at once.
   */
  readonly spareDelayMs: number;
  /** A single append carries at most so many bytes (at least one entry). */
  readonly appendBytesMax: number;
}

/** What the log on disk held when the process started. */
export interface Boot {
  readonly hardState: HardState;
  /** The entry before the first of `entries`; 0, 0 for a log from its beginning. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly Entry[];
  /**
   * The last entry whose effects the restored table holds: that of the snapshot the log stands on,
   * 0 without one. From `baseIndex` to the last entry.
   */
  readonly snapshotIndex: number;
  /** The configuration in force at `snapshotIndex`. */
  readonly configuration: Configuration;
  /** The largest write sequence the log has seen; the core goes on after it. */
  readonly lastSeq: number;
}

/** Returns a number in [0, 1). Seeded: the same seed gives the same run. */
export type Random = () => number;
