/**
 * What clients say. A request is a msgpack array `[op, …]` in canonical form (`reader.ts`). Ops
 * below 64 are commands: their bytes are replicated as they came. Ops from 64 on are reads: they
 * are answered by the node they reach and never enter the log. Ops from 70 on are operations on the
 * cluster itself: they need no session and are passed on to the leader.
 *
 * `sequence`   numbers the commands of a session, from 1, each used once for ever.
 * `mark`       the lowest sequence whose reply the client still needs; replies below are dropped.
 * `acknowledged` acquires whose outcome the client has read, so that their slot can go.
 * `number`     of keepalive and recall: repeated by the reply, not part of the sequence; the reply
 *              is not stored and the command is never sent again under the same number.
 */

export const OP = {
  open: 1,
  resume: 2,
  keepalive: 3,
  acquire: 4,
  release: 5,
  cancel: 6,
  recall: 7,
  close: 8,
  /** Reads. */
  inspect: 64,
  query: 65,
  /** Operators' requests: answered by the leader, whichever node they reach. */
  members: 70,
  changeMember: 71,
  transfer: 72,
} as const;

export type LockMode = "exclusive" | "shared";

/** On the wire `[key, 0]` or `[key, 1]`. */
export interface LockItem {
  readonly key: string;
  readonly mode: LockMode;
}

/** `[1, nonce(bin 16), attempt, ttlMs, name, metadata]` */
export interface OpenCommand {
  readonly op: typeof OP.open;
  /** 32 lower-case hex digits; 16 bytes on the wire. */
  readonly nonce: string;
  /** Raised by the client with every transmission of an open or resume of this session. From 1. */
  readonly attempt: number;
  readonly ttlMs: number;
  readonly name: string;
  readonly metadata: string;
}

/** `[2, session, nonce(bin 16), attempt]` */
export interface ResumeCommand {
  readonly op: typeof OP.resume;
  readonly session: number;
  readonly nonce: string;
  readonly attempt: number;
}

/** `[3, number, mark, acknowledged]` */
export interface KeepaliveCommand {
  readonly op: typeof OP.keepalive;
  readonly number: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

/** `waitMs` of an acquire that waits without a deadline; nil on the wire. */
export const WAIT_FOREVER = -1;

/** `[4, sequence, mark, acknowledged, owner, items, waitMs | nil, options(map)]` */
export interface AcquireCommand {
  readonly op: typeof OP.acquire;
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
  /** A task inside the session, numbered by the client. */
  readonly owner: number;
  readonly items: readonly LockItem[];
  /** 0: try. `WAIT_FOREVER`: until granted, cancelled or the session ends. */
  readonly waitMs: number;
}

/** `[5, sequence, mark, acknowledged, token]` */
export interface ReleaseCommand {
  readonly op: typeof OP.release;
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
  readonly token: number;
}

/** `[6, sequence, mark, acknowledged, target]` */
export interface CancelCommand {
  readonly op: typeof OP.cancel;
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
  /** The sequence of the acquire that is to be given up. */
  readonly target: number;
}

/** `[7, number, mark, acknowledged, sequences, tokens]` */
export interface RecallCommand {
  readonly op: typeof OP.recall;
  readonly number: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
  readonly sequences: readonly number[];
  readonly tokens: readonly number[];
}

/** `[8, sequence, mark, acknowledged]`: ends the session and everything it holds or waits for. */
export interface CloseCommand {
  readonly op: typeof OP.close;
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

/** Commands that attach a connection to a session; they carry no session of their own. */
export type AttachCommand = OpenCommand | ResumeCommand;

/** Commands with a sequence: applied exactly once, their reply stored. */
export type SequencedCommand = AcquireCommand | ReleaseCommand | CancelCommand | CloseCommand;

export type SessionCommand = SequencedCommand | KeepaliveCommand | RecallCommand;
export type Command = AttachCommand | SessionCommand;

/** `[64, id, key]` */
export interface InspectQuery {
  readonly op: typeof OP.inspect;
  /** Chosen by the client, repeated by the answer. */
  readonly id: number;
  readonly key: string;
}

/** `[65, id, prefix, after | nil, limit]`: keys in byte order behind `after`. */
export interface KeysQuery {
  readonly op: typeof OP.query;
  readonly id: number;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

export type Query = InspectQuery | KeysQuery;

/** `[70, id]`: who belongs to the cluster, as the leader knows it. */
export interface MembersOperation {
  readonly op: typeof OP.members;
  readonly id: number;
}

/**
 * `add`: a learner, or a new address of a member. `promote`: a learner that has caught up becomes a
 * voter. `demote`: a voter becomes a learner. On the wire the number.
 */
export const MEMBER_ACTION = { add: 0, promote: 1, demote: 2, remove: 3 } as const;
export type MemberAction = keyof typeof MEMBER_ACTION;

/** `[71, id, action, node, address | nil]`. Answered when the change is committed. */
export interface ChangeMemberOperation {
  readonly op: typeof OP.changeMember;
  readonly id: number;
  readonly action: MemberAction;
  readonly node: number;
  /** `host:port` where the peers dial it; of `add` only. */
  readonly address: string | undefined;
}

/** `[72, id, node]`; 0: whoever is most up to date. Answered when another node leads. */
export interface TransferOperation {
  readonly op: typeof OP.transfer;
  readonly id: number;
  readonly node: number;
}

export type Operation = MembersOperation | ChangeMemberOperation | TransferOperation;
export type Request = Command | Query | Operation;
