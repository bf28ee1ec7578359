/**
 * Questions of clients, which do not change the table, and operations of operators. The numbers of
 * these requests are in `OP`. The client chooses an `id`, and the answer repeats it.
 */
import {
  type AccessLevel,
  type Command,
  isCommandOp,
  isOperationOp,
  isQueryOp,
  OP,
} from "./commands.js";
import type { LogLevel } from "./log-level.js";

export interface InspectQuery {
  readonly op: typeof OP.inspect;
  /** Chosen by the client, repeated by the answer. */
  readonly id: number;
  readonly key: string;
  /** Asks for the lease of this owner too, by its digest as in a take: 32 hex digits. */
  readonly owner?: string | undefined;
}

/** Keys in byte order, after `after`. */
export interface KeysQuery {
  readonly op: typeof OP.query;
  readonly id: number;
  readonly prefix: string;
  readonly after: string | undefined;
  readonly limit: number;
}

/** Why a request waits, or, with session 0 and sequence 0, what a new request would find. */
export interface ExplainQuery {
  readonly op: typeof OP.explain;
  readonly id: number;
  readonly key: string;
  readonly session: number;
  readonly sequence: number;
}

/** Which task waits for which, with a limited number of edges. */
export interface WaitGraphQuery {
  readonly op: typeof OP.waitGraph;
  readonly id: number;
  /** 1 … `WAIT_GRAPH_EDGES_MAX`. */
  readonly limit: number;
}

/** Whether the token is current. */
export interface VerifyQuery {
  readonly op: typeof OP.verify;
  readonly id: number;
  readonly key: string;
  readonly token: number;
}

/** The replicated settings. */
export interface SettingsQuery {
  readonly op: typeof OP.settings;
  readonly id: number;
}

/** The past holders of a key, newest first. */
export interface HistoryQuery {
  readonly op: typeof OP.history;
  readonly id: number;
  readonly key: string;
  /** 1 … `HISTORY_PAGE_MAX`. */
  readonly limit: number;
}

/** Live sessions in the order of their numbers, after `after`. */
export interface SessionsQuery {
  readonly op: typeof OP.sessions;
  readonly id: number;
  readonly after: number;
  /** 1 … `QUERY_PAGE_MAX`. */
  readonly limit: number;
}

/**
 * A position in the sequence of all changes: the entry, and the number of the change within it,
 * from 0. As the position up to which everything has been sent, `REVISION_NUMBER_MAX` means all
 * changes of the entry; at index 0, where there is no entry, it is the place before all changes.
 */
export interface Revision {
  readonly index: number;
  readonly number: number;
}

/**
 * Changes after that revision, as they occur; `undefined` means from now on. Answered with a
 * `WatchView`, and then with `changes` messages of the same id until it ends.
 */
export interface WatchQuery {
  readonly op: typeof OP.watch;
  readonly id: number;
  readonly key: string;
  readonly isPrefix: boolean;
  readonly after: Revision | undefined;
}

/** Ends the watch that was requested with that id. */
export interface UnwatchQuery {
  readonly op: typeof OP.unwatch;
  readonly id: number;
  readonly watch: number;
}

/** Who may do what: identities in the order of their names, after `after`. */
export interface AccessQuery {
  readonly op: typeof OP.access;
  readonly id: number;
  readonly after: string | undefined;
  /** 1 … `QUERY_PAGE_MAX`. */
  readonly limit: number;
}

/** Whether an identity may do that with a key, or with all keys that begin so. */
export interface CheckAccessQuery {
  readonly op: typeof OP.checkAccess;
  readonly id: number;
  readonly name: string;
  readonly level: AccessLevel;
  readonly key: string;
  readonly isPrefix: boolean;
}

/** As whom this connection speaks, and what it may do. */
export interface WhoAmIQuery {
  readonly op: typeof OP.whoAmI;
  readonly id: number;
}

/** The first request of a connection, if any: it speaks for the identity of that token from now on. */
export interface SignInQuery {
  readonly op: typeof OP.signIn;
  readonly id: number;
  readonly token: string;
}

/**
 * How a node is, and what happened on it lately. The node that answers knows this about itself. It
 * asks another member over their link; the answer is `null` if it does not hear from that member.
 */
export interface VitalsQuery {
  readonly op: typeof OP.vitals;
  readonly id: number;
  /** 0: the node that answers. */
  readonly node: number;
  /** Only points and events after this wall time, in milliseconds since 1970; 0: all that are kept. */
  readonly after: number;
}

/**
 * From now on this connection may only read: every command and every operation that changes something
 * is `FORBIDDEN` on it, whatever its identity may do. For a connection without a session.
 */
export interface ReadOnlyQuery {
  readonly op: typeof OP.readOnly;
  readonly id: number;
}

/**
 * Whether this node still answers: a client asks when it waits for something and hears nothing.
 */
export interface PingQuery {
  readonly op: typeof OP.ping;
  readonly id: number;
}

/**
 * What a record of the audit is about: a hold that ended, an order, a change of access, holds that
 * were stolen, members, an operation on the cluster, a saved snapshot, a refused request, a refused
 * sign-in, something that is missing. On the wire and on disk the number, which is never reused.
 */
export const AUDIT_KIND = {
  ...({ hold: 0, order: 1, access: 2, steal: 3, members: 4 } as const),
  ...({ operation: 5, snapshot: 6, refused: 7, signIn: 8, gap: 9 } as const),
};
/** What a record of the audit is about. */
export type AuditKind = keyof typeof AUDIT_KIND;
export const AUDIT_KINDS = Object.keys(AUDIT_KIND) as readonly AuditKind[];

/** The audit of the node that answers, newest first: what is older than a place, and fits. */
export interface AuditQuery {
  readonly op: typeof OP.audit;
  readonly id: number;
  /** Only what is older than this record of this block; block 0: everything. */
  readonly block: number;
  readonly at: number;
  /** 1 … `AUDIT_PAGE_MAX`. */
  readonly limit: number;
  /** Only about this key, or about keys that begin so; `undefined`: about anything. */
  readonly key: string | undefined;
  readonly isPrefix: boolean;
  /** `undefined`: of anybody. */
  readonly identity: string | undefined;
  /** `undefined`: of any kind. */
  readonly kind: AuditKind | undefined;
  /** Wall times in milliseconds since 1970, both included. */
  readonly since: number;
  readonly until: number;
}

export type Query =
  | InspectQuery
  | KeysQuery
  | ExplainQuery
  | WaitGraphQuery
  | VerifyQuery
  | SettingsQuery
  | HistoryQuery
  | SessionsQuery
  | WatchQuery
  | UnwatchQuery
  | AccessQuery
  | CheckAccessQuery
  | WhoAmIQuery
  | SignInQuery
  | VitalsQuery
  | ReadOnlyQuery
  | AuditQuery
  | PingQuery;

/** The members of the cluster, as the leader knows them. */
export interface MembersOperation {
  readonly op: typeof OP.members;
  readonly id: number;
}

/**
 * `add`: a learner, or a new address for a member. `promote`: a learner that has caught up becomes
 * a voter. `demote`: a voter becomes a learner. On the wire the number.
 */
export const MEMBER_ACTION = { add: 0, promote: 1, demote: 2, remove: 3 } as const;
export type MemberAction = keyof typeof MEMBER_ACTION;

/** Answered when the change is committed. */
export interface ChangeMemberOperation {
  readonly op: typeof OP.changeMember;
  readonly id: number;
  readonly action: MemberAction;
  readonly node: number;
  /** `host:port` at which the peers dial it; only with `add`. */
  readonly address: string | undefined;
}

/** Answered when another node leads. */
export interface TransferOperation {
  readonly op: typeof OP.transfer;
  readonly id: number;
  /** 0 means the voter that is most up to date. */
  readonly node: number;
}

/**
 * Makes a snapshot of everything that was committed when this arrived, to be read with
 * `readSnapshot` on the same connection. The client repeats it until the snapshot is ready.
 * `isStale` asks for a snapshot of what the node has applied, without asking the others.
 */
export interface SaveSnapshotOperation {
  readonly op: typeof OP.saveSnapshot;
  readonly id: number;
  readonly isStale: boolean;
}

/** Reads a chunk of the saved snapshot. */
export interface ReadSnapshotOperation {
  readonly op: typeof OP.readSnapshot;
  readonly id: number;
  /** 64 lower-case hex digits; 32 bytes on the wire. */
  readonly checksum: string;
  /** 0 … 2^32 − 1. */
  readonly chunk: number;
}

/** Shows the level of the node's log, or changes it for a while. */
export interface LogLevelOperation {
  readonly op: typeof OP.logLevel;
  readonly id: number;
  /** The node that is meant; 0: the one that it reaches. Another one refuses it. */
  readonly node: number;
  /** `undefined`: it stays as it is. */
  readonly level: LogLevel | undefined;
  /** After how long the node goes back to its own level; 0 without a level, or at once. */
  readonly forMs: number;
}

/** Carried out by the leader, whichever node they reach. */
export type LeaderOperation = MembersOperation | ChangeMemberOperation | TransferOperation;
/** Carried out by the node that they reach. */
export type NodeOperation = SaveSnapshotOperation | ReadSnapshotOperation | LogLevelOperation;
export type Operation = LeaderOperation | NodeOperation;
export type ClientRequest = Command | Query | Operation;

export function isCommand(request: ClientRequest): request is Command {
  return isCommandOp(request.op);
}

export function isQuery(request: ClientRequest): request is Query {
  return isQueryOp(request.op);
}

export function isOperation(request: ClientRequest): request is Operation {
  return isOperationOp(request.op);
}

export function isNodeOperation(operation: Operation): operation is NodeOperation {
  const { op } = operation;
  return op === OP.saveSnapshot || op === OP.readSnapshot || op === OP.logLevel;
}
