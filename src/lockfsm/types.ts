/** The contract of the lock table: its entries, and where its messages go. */
import type { ERROR_NUMBERS } from "../errors/index.js";
import type {
  AccessLevel,
  AcquireCommand,
  AttachCommand,
  Attached,
  ChangeType,
  ClaimMode,
  Command,
  EndReason,
  Holder,
  OrderCommand,
  Origin,
  SequencedCommand,
  SessionMessage,
} from "../protocol/index.js";

/**
 * One decoded command of an entry. `undefined` stands for bytes that no node of this model can
 * decode, which have no effect.
 */
export interface TableCommand {
  readonly session: number;
  readonly epoch: number;
  readonly command: Command | undefined;
  /** For a command that attaches: where its client is. It is shown, and decides nothing. */
  readonly origin?: Origin | undefined;
}

/** A stamped entry of the log. */
export interface TableEntry {
  readonly index: number;
  /** Cluster time in milliseconds; never falls from entry to entry. */
  readonly stamp: number;
  /**
   * The leader's wall clock, in milliseconds; for display and for the first token of a new cluster.
   */
  readonly wallMs: number;
  readonly commands: readonly TableCommand[];
}

/**
 * Receives the messages of the table, in log order. Called synchronously inside `apply`; an
 * implementation must not call the table. The table keeps messages as stored replies, so they must
 * not be changed.
 */
export interface TableOutbox {
  /** A message for the node that the session is attached to, with the epoch of that attachment. */
  toSession(session: number, epoch: number, message: SessionMessage): void;
  /** An answer for the connection that sent this open or resume. */
  attached(message: Attached): void;
}

/** For a node that no client is connected to: messages to it need not be made. */
export const NOBODY: TableOutbox = Object.freeze({ toSession: () => {}, attached: () => {} });

/** A change in one key of a claim, for watches and the history. Times are cluster time. */
export interface TableChange {
  readonly type: ChangeType;
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 for a hold of an owner, and for a cooldown. */
  readonly session: number;
  readonly sessionName: string;
  /** The name of its identity; empty without a session. */
  readonly identity: string;
  readonly task: number;
  /** 0 for a request. */
  readonly token: number;
  /** The sequence of what brought it, or of the waiting upgrade; 0 for a cooldown. */
  readonly sequence: number;
  /** Whose the hold is; "session" if it is none. */
  readonly holder: Holder;
  /** Set for a hold, otherwise 0. */
  readonly grantedAt: number;
  /**
   * When the request came to the table that this change grants or ends without a grant; 0 for every
   * other change.
   */
  readonly requestedAt: number;
  /** Why a request `left`, as the status that its client gets or would get; otherwise 0. */
  readonly status: number;
  /** How long its request waited, in milliseconds; set for a hold, otherwise 0. */
  readonly waitedMs: number;
  readonly value: string;
  readonly reason: EndReason;
  /** For an end: the identity that ordered it, or stole the hold; "" if nobody did. */
  readonly orderedBy: string;
}

/**
 * Receives every change in log order. Called synchronously inside `apply`. It must not call the
 * table, and must not keep the object, which is reused for the next change.
 */
export type ChangeListener = (change: TableChange) => void;

/** Replicated settings: limits that decide results. They are not options of one node. */
export interface TableSettings {
  /** Requests that may wait for one key. */
  readonly waitersMax: number;
  /**
   * Outcomes and losses that one session may leave unacknowledged; beyond that, its acquires are
   * refused.
   */
  readonly unacknowledgedMax: number;
  /** Units of due and queued work that one entry does before its commands. */
  readonly unitsPerEntryMax: number;
  /** Grants that a command makes in its own step; the rest go to the work queue. */
  readonly grantsPerStepMax: number;
  /** Holds and cooldowns that one command may end by stealing, renew by taking over, or revoke. */
  readonly holdsPerStepMax: number;
  /** The head start that one step of priority gives, in milliseconds. */
  readonly priorityStepMs: number;
  readonly sessionsMax: number;
  /** Holds of one session, including its cooldowns. */
  readonly holdsPerSessionMax: number;
  readonly waitsPerSessionMax: number;
  /** The size of one session with its holds, cooldowns and waits; see `sizes.ts`. */
  readonly bytesPerSessionMax: number;
  /** The size of the whole table. */
  readonly tableBytesMax: number;
  /** The longest `minHoldMs` of an acquire. */
  readonly minHoldMsMax: number;
  /** The longest `lockDelayMs` of an acquire. */
  readonly lockDelayMsMax: number;
  readonly sessionsPerIdentityMax: number;
  /** Holds, cooldowns and waits of all sessions and owners of one identity, together. */
  readonly claimsPerIdentityMax: number;
  /** The size of all that counts against one identity; see `sizes.ts`. */
  readonly bytesPerIdentityMax: number;
  /** Requests of one identity that may wait for one key. */
  readonly waitersPerIdentityMax: number;
  /** 1: these four limits refuse; 0: they only count what they would refuse. */
  readonly identityLimitsEnforced: number;
  /** The longest lease of a named owner, in milliseconds, to which doors add a hundredth. */
  readonly leaseTtlMsMax: number;
  /** 1: named owners may take leases without end. */
  readonly endlessLeases: number;
}

/** The limits on what counts against one identity. */
export type IdentityLimit = "sessions" | "claims" | "bytes" | "waiters";

/** A command that its identity may not give, or a wait that it may not go on with. */
export interface ForbiddenCommand {
  /** `undefined`: a request that waited. */
  readonly command: AttachCommand | SequencedCommand | undefined;
  /** The session that gave it; 0 without one. */
  readonly session: number;
  /** The name of the identity; "" if its credential is gone. */
  readonly identity: string;
  /** The level that it needs. */
  readonly verb: AccessLevel;
  readonly status: typeof ERROR_NUMBERS.FORBIDDEN | typeof ERROR_NUMBERS.UNAUTHENTICATED;
  /** The first key of the command or wait; "" if it names none. */
  readonly key: string;
}

/**
 * Receives what the grants decided, in log order, on every node. Called synchronously inside
 * `apply`; it must not call the table.
 */
export interface AccessListener {
  onRefused(refused: ForbiddenCommand): void;
  /** A request took these holds of others away. `wallMs` is the time of its entry. */
  onSteal(by: OrderGiver, command: AcquireCommand, holds: number, wallMs: number): void;
  /**
   * An order was carried out; one that changes access has changed something. `wallMs` is the time
   * of its entry.
   */
  onOrder(by: OrderGiver, command: OrderCommand, wallMs: number): void;
}

/** Who gave an order. */
export interface OrderGiver {
  readonly identity: string;
  /** `KIND:LABEL` of the credential by which it spoke; "" for `anonymous` and `local`. */
  readonly credential: string;
  /** The session that gave it; 0 without one. */
  readonly session: number;
}

/** When credentials expire, as a wall clock has it. */
export interface CredentialCounts {
  /** Within the given time. */
  readonly soon: number;
  readonly expired: number;
}

/** What became of rights, for metrics. */
export interface AccessCounts {
  /** Without `anonymous` and `local`. */
  readonly identities: number;
  /** Refusals because of missing rights since this table was made, by the level needed. Not replicated. */
  readonly refused: Readonly<Record<AccessLevel, number>>;
}

/** Sizes, for status and metrics. */
export interface TableCounts {
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
  readonly cooldowns: number;
  /** Holds that are leases of named owners, and how many of them are without end. */
  readonly leases: number;
  readonly endlessLeases: number;
  /** The size of the table, as `tableBytesMax` counts it. */
  readonly tableBytes: number;
  /**
   * Searches for a cycle of waits that were left to later entries since this table was made. Not
   * replicated.
   */
  readonly searchesDeferred: number;
  /** Searches for which all steps of an entry were too few, since then. Not replicated. */
  readonly searchesGivenUp: number;
  /** Requests refused because they closed a cycle, since then. Not replicated. */
  readonly deadlocks: number;
  /**
   * Commands that met a limit of their identity, since then: refused, or with
   * `identityLimitsEnforced` 0 only counted. Not replicated.
   */
  readonly limited: Readonly<Record<IdentityLimit, number>>;
}
