/**
 * Payloads of answers to reads: plain data, packed with msgpackr. Ages and remaining times are in
 * cluster time as of the last applied entry. That entry is at most a second old while anything
 * waits for time to pass; reads write nothing, and only entries carry time.
 */
import type { AccessLevel, ClaimMode, CredentialKind } from "./commands.js";
import type { AuditKind, Revision } from "./questions.js";
import type { Blocker, CycleMember, EndReason, Holder } from "./replies.js";

/** Payload of `inspect`. */
export interface KeyView {
  readonly key: string;
  /** `null` while the key is not in use. */
  readonly kind: "lock" | "semaphore" | null;
  /** Permits of a semaphore in use; 0 for locks. */
  readonly limit: number;
  readonly holds: readonly HoldView[];
  readonly waiters: readonly WaiterView[];
  readonly cooldowns: readonly CooldownView[];
  /** The real numbers; present only if the lists above were cut short. */
  readonly truncated?: {
    readonly holds: number;
    readonly waiters: number;
    readonly cooldowns: number;
  };
  /** Present if an owner was asked about: its lease of the key, or `null`. */
  readonly mine?: OwnLeaseView | null;
}

/** What an owner has in a key. It does not say for how long to rely on that: only an extend can. */
export interface OwnLeaseView {
  readonly token: number;
  /** Cluster milliseconds until it ends; `null`: it has no end. */
  readonly endsInMs: number | null;
}

/** One holder of a key. Times are in milliseconds. */
export interface HoldView {
  readonly token: number;
  readonly mode: ClaimMode;
  /** 0 for a hold of an owner. */
  readonly session: number;
  readonly sessionName: string;
  /** The name of the identity of the holder. */
  readonly identity: string;
  readonly task: number;
  /** The sequence of the command that brought it to its holder; with a session, it identifies it. */
  readonly sequence: number;
  readonly heldMs: number;
  /** How long its request waited, in cluster milliseconds. */
  readonly waitedMs: number;
  /** Cluster milliseconds until the lease of its session, or its own, ends. */
  readonly leaseMs: number;
  /** The whole length of that lease, in milliseconds. */
  readonly ttlMs: number;
  /** Milliseconds until it ends by its maximum duration or a revoke; `null` if neither is set. */
  readonly endsInMs: number | null;
  readonly isRevoked: boolean;
  /** The identity that has revoked it, or ordered the end of its session; "" if none has. */
  readonly orderedBy: string;
  readonly holder: Holder;
  /**
   * For an owner or bearer: 8 hex digits of a digest of it, which prove nothing; "" for a
   * session's. Such a hold has session 0, and `sessionName` is the name that its take gave, or the
   * name of the session that handed it over.
   */
  readonly leaseOwner: string;
  readonly permits: number;
  readonly slots: readonly number[];
  readonly value: string;
}

/** One request that waits for a key, in the order of its queue. Times are in milliseconds. */
export interface WaiterView {
  readonly mode: ClaimMode;
  readonly session: number;
  readonly sessionName: string;
  readonly identity: string;
  readonly task: number;
  readonly sequence: number;
  /** Its number among all requests of the table: earlier requests have smaller numbers. */
  readonly arrival: number;
  readonly waitingMs: number;
  /** Milliseconds until it times out; `null` if it does not. */
  readonly endsInMs: number | null;
  readonly priority: number;
  readonly permits: number;
  /** Whether it already holds the key, in shared mode. */
  readonly isUpgrade: boolean;
  /** Whether nothing blocks it in this key, so that it waits for another of its keys. */
  readonly isEligible: boolean;
}

/** A cooldown: a hold has ended and keeps the key closed. */
export interface CooldownView {
  readonly mode: ClaimMode;
  readonly token: number;
  /** What it counts against; "" if it is of the cluster before a restore. */
  readonly identity: string;
  readonly endsInMs: number;
  readonly permits: number;
}

/** Payload of `query`. Pass `next` as `after` to get the next page; it is null at the end. */
export interface KeysView {
  readonly keys: readonly KeyView[];
  readonly next: string | null;
}

/** Payload of `explain`: what stands between a request and its grant. */
export interface ExplainView {
  readonly key: string;
  /** The request that was asked about; `null` for a new one. */
  readonly request: WaiterView | null;
  /** All its keys, the one that was asked about first. */
  readonly keys: readonly ExplainedKey[];
  /** The possible deadlock in which the request waits, beginning with it; empty if there is none. */
  readonly possibleDeadlock: readonly CycleMember[];
}

/** What blocks a request in one of its keys. */
export interface ExplainedKey {
  readonly key: string;
  readonly mode: ClaimMode;
  readonly isEligible: boolean;
  /** The number of requests ahead of it in this key. */
  readonly aheadCount: number;
  /** Holds and requests that it conflicts with, a few of each. */
  readonly blockers: readonly Blocker[];
  readonly cooldowns: readonly CooldownView[];
  /**
   * An estimate in milliseconds from how long the key was held before; `null` if nothing is known.
   */
  readonly expectedWaitMs: number | null;
}

/** Payload of `waitGraph`. */
export interface WaitGraphView {
  readonly tasks: readonly GraphTask[];
  readonly edges: readonly GraphEdge[];
  /** Whether there are more edges than were asked for. */
  readonly isTruncated: boolean;
  /**
   * The last deadlocks that this node saw refused, at most `REFUSED_DEADLOCKS_MAX`, newest first. A
   * node does not keep them: one that was started again knows the ones in the log that it has
   * applied since.
   */
  readonly refused: readonly RefusedDeadlock[];
  /** Some possible deadlocks, at most `POSSIBLE_DEADLOCKS_MAX`. */
  readonly possible: readonly PossibleDeadlock[];
}
/**
 * Waits that would be a deadlock if, in each session, the task that waits were the one that holds
 * what the session before it waits for. The table cannot know this for acquires that name no task.
 */
export interface PossibleDeadlock {
  /** Since when all of them wait, in cluster milliseconds. */
  readonly waitingMs: number;
  /** Each waits for a lock or for permits of the session of the next one, the last of the first. */
  readonly cycle: readonly CycleMember[];
}
/** A cycle of waits that was broken by refusing one of them. */
export interface RefusedDeadlock {
  /** The leader's wall clock, in milliseconds since 1970; for display. */
  readonly wallMs: number;
  /** Each waited for the next, and the last for the first, whose request was refused. */
  readonly cycle: readonly CycleMember[];
}
/** One task of the wait-for graph. */
export interface GraphTask {
  /** The number by which edges refer to it. */
  readonly id: number;
  readonly session: number;
  readonly sessionName: string;
  readonly identity: string;
  readonly task: number;
}
/** One task waits for another. */
export interface GraphEdge {
  /** The task that waits. */
  readonly from: number;
  /** The task that it waits for. */
  readonly to: number;
  readonly key: string;
  readonly mode: ClaimMode;
  /** `holds`: the other one holds the key. `ahead`: the other one waits before it. */
  readonly why: "holds" | "ahead";
}

/** Payload of `verify`. */
export interface VerifyView {
  readonly isCurrent: boolean;
  /** The newest token of the key; 0 while it is not in use. */
  readonly newestToken: number;
}

/** Payload of `settings`, by name. */
export interface SettingView {
  readonly name: string;
  readonly value: number;
  readonly defaultValue: number;
  /** The lowest and highest value that it can be set to. */
  readonly least: number;
  readonly most: number;
}

/** Payload of `sessions`. */
export interface SessionsView {
  readonly sessions: readonly SessionView[];
  /** Pass it as `after` to get the next page; null at the end. */
  readonly next: number | null;
}
/** One live session. */
export interface SessionView {
  readonly session: number;
  readonly name: string;
  readonly identity: string;
  readonly metadata: string;
  readonly ttlMs: number;
  readonly leaseMs: number;
  /** Cluster milliseconds since the table last executed a command of it or heard that it lives. */
  readonly idleMs: number;
  /** The node to which its client attached last, whether or not it is still connected. */
  readonly node: number;
  /** The address from which that client came, as the node saw it; "" if it is not known. */
  readonly address: string;
  readonly holds: number;
  readonly waits: number;
  /** Whether an operator has ordered its end. */
  readonly isRevoked: boolean;
}

/** Payload of `history`: newest first. */
export interface HistoryView {
  readonly tenures: readonly Tenure[];
  /** Whether there are older ones than were asked for, or may have been some that are forgotten. */
  readonly isTruncated: boolean;
  /**
   * The damaged parts of the node's audit, newest first; if there are any, `isTruncated` is true.
   */
  readonly lost: readonly LostTenures[];
}

/** Tenures that were recorded and are lost: at most `count`, of this key or of others. */
export interface LostTenures {
  readonly count: number;
  /** They ended after this revision and before the other one. */
  readonly after: Revision;
  readonly before: Revision;
}

/** One period in which a key was held, from its grant to its end. */
export interface Tenure {
  readonly key: string;
  readonly mode: ClaimMode;
  readonly token: number;
  readonly session: number;
  readonly sessionName: string;
  /** The name of the identity that the holder had at the end. */
  readonly identity: string;
  readonly task: number;
  /** The sequence of its acquire, adopt or hand-over. */
  readonly sequence: number;
  /** A bearer's has the name and the identity of the session that handed it over. */
  readonly holder: Holder;
  /** The leader's wall clock, in milliseconds since 1970; for display. */
  readonly grantedWallMs: number;
  /** Milliseconds of cluster time, which stands still while there is no leader. */
  readonly heldMs: number;
  /** How long its request waited, in cluster milliseconds. */
  readonly waitedMs: number;
  /**
   * The identity that stole it, or ordered its end, also if its holder then released it in time; ""
   * if nobody did.
   */
  readonly orderedBy: string;
  /** `null` while it is held; `moved`: the holder gave it to another. */
  readonly reason: EndReason | null;
}

/** Answer to `watch`: the changes that follow come after this revision. */
export interface WatchView {
  readonly revision: Revision;
}

/** Payload of `changes`. */
export interface ChangesView {
  readonly changes: readonly ChangeView[];
  /** Every matching change up to here has been sent, even if there was none. */
  readonly revision: Revision;
}

/**
 * `queued`: a request began to wait. `left`: it ended without a grant. `granted`: a request became
 * a hold. `converted`: a hold has a new token or mode. `updated`: it has a new value. `moved`:
 * its holder gives it to another, which a `converted` then shows. `ended`: it has ended. `opened`: nothing keeps the key closed any more.
 */
export const CHANGE_TYPES = [
  "queued",
  "left",
  "granted",
  "converted",
  "updated",
  "moved",
  "ended",
  "opened",
] as const;
export type ChangeType = (typeof CHANGE_TYPES)[number];

export interface ChangeView {
  readonly revision: Revision;
  readonly type: ChangeType;
  readonly key: string;
  readonly mode: ClaimMode;
  readonly session: number;
  readonly sessionName: string;
  /** The name of the identity of the session; "" without a session. */
  readonly identity: string;
  readonly task: number;
  /** 0 for a request. */
  readonly token: number;
  /**
   * The sequence of its acquire, adopt or hand-over, which, with a session, identifies a hold or
   * request. 0 for a cooldown.
   */
  readonly sequence: number;
  readonly value: string;
  /** Why it ended; `END_REASON.unknown` for every other change. */
  readonly reason: EndReason;
  /** Cluster time, in milliseconds. */
  readonly stamp: number;
  readonly wallMs: number;
}

/** What an identity may do with a key, or with all keys that begin so. */
export interface GrantView {
  readonly key: string;
  readonly isPrefix: boolean;
  readonly level: AccessLevel;
}

/** What proves an identity: a token, which is never shown, or a client certificate that names it. */
export interface CredentialView {
  /** Its name within the identity. */
  readonly label: string;
  readonly kind: CredentialKind;
  /** Milliseconds since 1970; 0: never. */
  readonly expiresWallMs: number;
  /** Milliseconds since 1970. */
  readonly createdWallMs: number;
}

/** What counts against an identity, as its limits count it. */
export interface UsageView {
  readonly sessions: number;
  /** With ended holds that keep their keys closed. */
  readonly holds: number;
  readonly waits: number;
  readonly bytes: number;
}

/** An identity: who may do what, by which proof, and what it has. */
export interface IdentityView {
  readonly name: string;
  readonly usage: UsageView;
  readonly grants: readonly GrantView[];
  readonly credentials: readonly CredentialView[];
}

/** Answer to `access`. */
export interface AccessView {
  readonly identities: readonly IdentityView[];
  /** `after` for the next page; `null` at the end. */
  readonly next: string | null;
}

/** Answer to `checkAccess`. */
export interface CheckAccessView {
  readonly isKnown: boolean;
  readonly isAllowed: boolean;
  /** The highest of the grants that cover what was asked for; `null`: none does. */
  readonly grant: GrantView | null;
}

/** Answer to `whoAmI`, and to `signIn`. */
export interface WhoAmIView {
  readonly name: string;
  readonly grants: readonly GrantView[];
}

/**
 * What a node is in its cluster. One that is `starting` or `quarantined` takes no requests: its page
 * `/status` says why.
 */
export const NODE_ROLES = [
  "starting",
  "follower",
  "candidate",
  "leader",
  "learner",
  "quarantined",
] as const;
export type NodeRole = (typeof NODE_ROLES)[number];
export const AUDIT_STATES = ["writing", "failing", "off"] as const;
export type AuditState = (typeof AUDIT_STATES)[number];
/** What clients may do that have not shown who they are: everything, something or nothing. */
export type AccessState = "open" | "partlyOpen" | "closed";

/**
 * Answer to `vitals`: how one node is, by what it knows itself. Counts of locks are taken from its
 * own table, in which all nodes agree once they have applied the same entries.
 */
export interface VitalsView {
  /** The id of the node that answers. */
  readonly node: number;
  readonly version: string;
  readonly modelVersion: number;
  /** When this process began, by its own wall clock, in milliseconds since 1970. */
  readonly startedWallMs: number;
  /** Its wall clock now. */
  readonly wallMs: number;
  readonly role: NodeRole;
  readonly term: number;
  /** 0 while unknown. */
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  /** Whether it has heard from a majority, or from a leader that has, within an election timeout. */
  readonly hasQuorumContact: boolean;
  readonly isDiskFull: boolean;
  /** It takes no commands that would enlarge the table. */
  readonly isMemoryScarce: boolean;
  /** It is being stopped. */
  readonly isDraining: boolean;
  /** Everybody may do everything in the cluster. */
  readonly isOpen: boolean;
  /** The longest stall of its event loop within the last ten seconds. */
  readonly loopDelayMaxMs: number;
  /** 99 of 100 writes of the log took at most about this long lately; `null`: there were none. */
  readonly logSyncP99Ms: number | null;
  /** Connections of clients of this node. */
  readonly connections: number;
  readonly watches: number;
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
  /** Requests refused for closing a cycle, since the start. */
  readonly deadlocks: number;
  /** Possible deadlocks whose waits have lasted a minute; counted every ten seconds. */
  readonly possibleDeadlocks: number;
  readonly auditState: AuditState;
  /** When its TLS certificate expires; `null` without TLS. */
  readonly certificateEndsWallMs: number | null;
  /** The other members, in the order of their ids. */
  readonly peers: readonly VitalsPeer[];
  /** One for each five seconds, oldest first, at most `VITALS_POINTS_MAX`. */
  readonly points: readonly VitalsPoint[];
  /** What happened on this node, oldest first, at most `VITALS_EVENTS_MAX`. */
  readonly events: readonly VitalsEvent[];
}

/** Another member, as the node sees it that answers. */
export interface VitalsPeer {
  readonly node: number;
  /** Where clients reach it, as it told this node; "" while it did not. */
  readonly endpoint: string;
  readonly isVoter: boolean;
  /** When it last answered this node, by the wall clock of this node; `null`: not since the start. */
  readonly heardWallMs: number | null;
  /** Whether there is a link to it. */
  readonly isConnected: boolean;
  /** How long the last answer to a question over that link took; `null`: there was none. */
  readonly roundTripMs: number | null;
  /** On a leader: the log of the peer is durable and equal up to here; `null` on other nodes. */
  readonly matchIndex: number | null;
}

/**
 * Five seconds of one node. The numbers of locks count what it applied, no matter which client
 * asked. The times are estimates within a bucket of a histogram, or `null` if nothing happened.
 */
export interface VitalsPoint {
  /** The end of the five seconds, by the wall clock of the node. */
  readonly wallMs: number;
  /** Keys granted. */
  readonly grants: number;
  /** Requests that began to wait, key by key. */
  readonly waits: number;
  /** Requests that waited and ended without a grant, key by key. */
  readonly failures: number;
  /** Holds that ended in any other way than by their client, key by key. */
  readonly lost: number;
  /** On a leader: from the proposal of an entry to its commit. */
  readonly commitP50Ms: number | null;
  readonly commitP99Ms: number | null;
  /** From the arrival of a request in the table to its grant, in cluster time. */
  readonly waitP50Ms: number | null;
  readonly waitP99Ms: number | null;
  /** The longest stall of the event loop within the ten seconds before the end. */
  readonly loopDelayMaxMs: number;
}

/** What an event is about. A client must expect kinds that it does not know. */
export type VitalsEventKind =
  | "started"
  | "leader"
  | "noLeader"
  | "members"
  | "peer"
  | "disk"
  | "memory"
  | "snapshot"
  | "audit"
  | "access";

/** Something that happened on one node. */
export interface VitalsEvent {
  readonly wallMs: number;
  readonly kind: VitalsEventKind | (string & {});
  /** One sentence for people. It names no lock, session or client. */
  readonly text: string;
}

/** What else a record of the audit says, by name. */
export type AuditDetails = Readonly<Record<string, string | number | boolean | null>>;

/** One record of the audit of a node. */
export interface AuditEntry {
  /** Where it is in the chain: its block, its number in it from 0, and its number among all. */
  readonly block: number;
  readonly at: number;
  readonly record: number;
  /** The entry of the log with which it was noted. */
  readonly index: number;
  /** When it happened, in milliseconds since 1970; for people. */
  readonly wallMs: number;
  readonly kind: AuditKind;
  /** "" if it is not known. */
  readonly identity: string;
  /** `token:LABEL`, `certificate:LABEL`, or what a certificate names; "" without one. */
  readonly credential: string;
  /** The address of the client, if it was connected to the node of this audit; otherwise "". */
  readonly address: string;
  /** The name of the request; `held` for a hold. */
  readonly what: string;
  /** "" if it is about no key. */
  readonly key: string;
  /** `done`, the code of an error, or why a hold ended. */
  readonly outcome: string;
  readonly details: AuditDetails;
}

/** A place in the audit of a node: a block, and a record in it. */
export interface AuditPlace {
  readonly block: number;
  readonly at: number;
}

/** Payload of `audit`: newest first. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** Where the next page goes on, which may be there although this one is empty; null at the end. */
  readonly next: AuditPlace | null;
  /** Records that were passed and are lost or unreadable. */
  readonly lost: number;
  /** `NUMBER:DIGEST` of the newest block; "" if there is none. */
  readonly head: string;
}
