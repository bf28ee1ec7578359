/**
 * Payloads of answers to reads: plain data, packed with msgpackr. Ages and rests are in cluster
 * time as of the last applied entry, which lies at most a second back while anything waits for
 * time: reads write nothing, and only entries carry time.
 */
import type { ClaimMode } from "./commands.js";
import type { Revision } from "./questions.js";
import type { Blocker, EndReason } from "./replies.js";

/** Payload of `inspect`. */
export interface KeyView {
  readonly key: string;
  /** `null` while the key is not in use. */
  readonly kind: "lock" | "semaphore" | null;
  /** Permits of a semaphore in use; 0 of locks. */
  readonly limit: number;
  readonly holds: readonly HoldView[];
  readonly waiters: readonly WaiterView[];
  readonly closings: readonly ClosingView[];
  /** How many there really are; present only where the lists above were cut short. */
  readonly truncated?: {
    readonly holds: number;
    readonly waiters: number;
    readonly closings: number;
  };
}

/** One holder of a key. Times are milliseconds. */
export interface HoldView {
  readonly token: number;
  readonly mode: ClaimMode;
  /** 0 of a ticket. */
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
  /** Of the acquire or claim that brought it: with the session, what it is known by. */
  readonly sequence: number;
  readonly heldMs: number;
  /** Cluster milliseconds until the lease of its session, or the ticket, ends. */
  readonly leaseMs: number;
  /** Until it ends by its cap or a revoke; `null`: neither is set. */
  readonly endsInMs: number | null;
  readonly isRevoked: boolean;
  readonly isTicket: boolean;
  readonly permits: number;
  readonly slots: readonly number[];
  readonly value: string;
}

/** One request that waits in a key, in the order of its queue. */
export interface WaiterView {
  readonly mode: ClaimMode;
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
  readonly sequence: number;
  /** Its number among all requests of the table: smaller ones came before. */
  readonly arrival: number;
  readonly waitingMs: number;
  /** Until it gives up; `null`: never. */
  readonly endsInMs: number | null;
  readonly priority: number;
  readonly permits: number;
  /** It holds the key already, as shared. */
  readonly isUpgrade: boolean;
  /** Nothing keeps it back in this key, but something does in another of its keys. */
  readonly isEligible: boolean;
}

/** The rest of a hold that ended: it keeps the key closed. */
export interface ClosingView {
  readonly mode: ClaimMode;
  readonly token: number;
  readonly endsInMs: number;
  readonly permits: number;
}

/** Payload of `query`. `next`: give it as `after` to get the next page; null at the end. */
export interface KeysView {
  readonly keys: readonly KeyView[];
  readonly next: string | null;
}

/** Payload of `explain`: what stands between a request and its grant. */
export interface ExplainView {
  readonly key: string;
  /** Of the request that was asked about; `null` for a newcomer. */
  readonly request: WaiterView | null;
  /** Every key of it, the one that was asked about first. */
  readonly keys: readonly ExplainedKey[];
}

/** What stands in the way of a request in one of its keys. */
export interface ExplainedKey {
  readonly key: string;
  readonly mode: ClaimMode;
  readonly isEligible: boolean;
  /** Requests ahead of it in this key. */
  readonly aheadCount: number;
  /** Holds and requests that it conflicts with, a few of each. */
  readonly blockers: readonly Blocker[];
  readonly closings: readonly ClosingView[];
  /** From how long the key was held before; `null` where nothing is known. */
  readonly expectedWaitMs: number | null;
}

/** Payload of `waitGraph`. */
export interface WaitGraphView {
  readonly owners: readonly GraphOwner[];
  readonly edges: readonly GraphEdge[];
  /** There are more edges than were asked for. */
  readonly isTruncated: boolean;
}
/** One task of the wait-for graph. */
export interface GraphOwner {
  /** Referred to by the edges. */
  readonly id: number;
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
}
/** One task waits for another. */
export interface GraphEdge {
  /** Who waits, */
  readonly from: number;
  /** and for whom. */
  readonly to: number;
  readonly key: string;
  readonly mode: ClaimMode;
  /** `holds`: it has what is wanted. `ahead`: it waits before. */
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
  /** What it may be set to, both included. */
  readonly least: number;
  readonly most: number;
}

/** Payload of `sessions`. */
export interface SessionsView {
  readonly sessions: readonly SessionView[];
  /** Give it as `after` to get the next page; null at the end. */
  readonly next: number | null;
}
/** One live session. */
export interface SessionView {
  readonly session: number;
  readonly name: string;
  readonly metadata: string;
  readonly ttlMs: number;
  readonly leaseMs: number;
  readonly holds: number;
  readonly waits: number;
  /** It will be ended by an operator. */
  readonly isRevoked: boolean;
}

/** Payload of `history`: newest first. */
export interface HistoryView {
  readonly tenures: readonly Tenure[];
  /** There are older ones than were asked for, or there may have been some that are forgotten. */
  readonly isTruncated: boolean;
  /** Where the audit of the node was damaged, the newest first; then `isTruncated` is true. */
  readonly lost: readonly LostTenures[];
}

/** Tenures that were written down and are gone: at most `count`, of this key or of others. */
export interface LostTenures {
  readonly count: number;
  /** They ended after this revision and before the other one. */
  readonly after: Revision;
  readonly before: Revision;
}

/** Once that a key was held, from its grant to its end. */
export interface Tenure {
  readonly key: string;
  readonly mode: ClaimMode;
  readonly token: number;
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
  /** Of the acquire or claim that brought it. */
  readonly sequence: number;
  /** By the leader's wall clock, milliseconds since 1970; for display. */
  readonly grantedWallMs: number;
  /** Cluster time, which stands still while nobody leads. */
  readonly heldMs: number;
  /** `null` while it is held. `released` too for who made it a ticket. */
  readonly reason: EndReason | null;
}

/** Answer to `watch`: the changes that follow are behind this revision. */
export interface WatchView {
  readonly revision: Revision;
}

/** Payload of `changes`. */
export interface ChangesView {
  readonly changes: readonly ChangeView[];
  /** Up to here everything was told, also where nothing matched. */
  readonly revision: Revision;
}

/**
 * `queued` a request began to wait; `left` it ended without a grant; `granted`; `converted` a hold
 * has a new token or mode; `updated` its value; `detached` it is a ticket; `ended` it is no more;
 * `opened` nothing keeps the key closed any more.
 */
export const CHANGE_TYPES = [
  "queued",
  "left",
  "granted",
  "converted",
  "updated",
  "detached",
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
  readonly owner: number;
  /** 0 of a request. */
  readonly token: number;
  /** Of the acquire or claim: with the session, what a hold or a request is known by. 0 of a closing. */
  readonly sequence: number;
  readonly value: string;
  /** Why it ended; `END_REASON.unknown` of everything else. */
  readonly reason: EndReason;
  /** Cluster time. */
  readonly stamp: number;
  readonly wallMs: number;
}
