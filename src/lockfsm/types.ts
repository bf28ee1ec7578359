/** The contract of the lock table: what an entry is to it, and where its answers go. */
import type {
  Attached,
  ChangeType,
  ClaimMode,
  Command,
  EndReason,
  SessionMessage,
} from "../protocol/index.js";

/** One command of an entry, decoded. `undefined`: bytes no node of this model can decode; it does nothing. */
export interface TableCommand {
  readonly session: number;
  readonly epoch: number;
  readonly command: Command | undefined;
}

/** A stamped entry of the log. */
export interface TableEntry {
  readonly index: number;
  /** Cluster time in milliseconds; never falls from entry to entry. */
  readonly stamp: number;
  /** The leader's wall clock; for display and for the first token of a new cluster. */
  readonly wallMs: number;
  readonly commands: readonly TableCommand[];
}

/**
 * Where the table puts what it has to say, in log order. Called synchronously inside `apply`; an
 * implementation must not call back into the table. Messages are retained by the table (stored
 * replies): they must not be changed.
 */
export interface Outbox {
  /** To whichever node the session is attached at, with the epoch of that attachment. */
  toSession(session: number, epoch: number, message: SessionMessage): void;
  /** To the connection that sent this open or resume. */
  attached(message: Attached): void;
}

/** For a node to which nobody is connected: what is said to it need not be put into words. */
export const NOBODY: Outbox = Object.freeze({ toSession: () => {}, attached: () => {} });

/** What happened to one key of a claim, for watches and the history. Numbers are cluster time. */
export interface TableChange {
  readonly type: ChangeType;
  readonly key: string;
  readonly mode: ClaimMode;
  /** 0 of a ticket, once it is `detached`, and of a closing. */
  readonly session: number;
  readonly sessionName: string;
  readonly owner: number;
  /** 0 of a request. */
  readonly token: number;
  /** Of the acquire or claim, or of the upgrade that waits; 0 of a closing. */
  readonly sequence: number;
  /** Of a hold, else 0. */
  readonly grantedAt: number;
  readonly value: string;
  readonly reason: EndReason;
}

/**
 * Hears every change in log order. Called synchronously inside `apply`; must not call back into the
 * table, and must not keep the object, which the next change is told with.
 */
export type ChangeListener = (change: TableChange) => void;

/** Replicated settings: limits that decide outcomes. Not options of one node. */
export interface TableSettings {
  /** Requests that wait for one key. */
  readonly waitersMax: number;
  /** Outcomes and losses that one session has not acknowledged, beyond which it gets no new acquire. */
  readonly unacknowledgedMax: number;
  /** Units of due and queued work that one entry does before its commands. */
  readonly unitsPerEntryMax: number;
  /** Grants that a command makes in its own step; the rest goes to the work queue. */
  readonly grantsPerStepMax: number;
  /** Holds and closings that one command may end by stealing, renew by taking over, or revoke. */
  readonly holdsPerStepMax: number;
  /** The head start that one step of priority gives, in milliseconds. */
  readonly priorityStepMs: number;
  readonly sessionsMax: number;
  /** Those that it left closed included. */
  readonly holdsPerSessionMax: number;
  readonly waitsPerSessionMax: number;
  /** What one session, its holds, what these left closed and its waits take; see `sizes.ts`. */
  readonly bytesPerSessionMax: number;
  /** What all of the table takes. */
  readonly tableBytesMax: number;
  /** The longest `minHoldMs` of an acquire. */
  readonly minHoldMsMax: number;
  /** The longest `lockDelayMs`. */
  readonly lockDelayMsMax: number;
}

/** Sizes, for status and metrics. */
export interface TableCounts {
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
  readonly closings: number;
  /** What the table takes, as `tableBytesMax` counts it. */
  readonly tableBytes: number;
  /** Searches for a cycle of waits that were left to later entries since this table was made; not replicated. */
  readonly searchesDeferred: number;
  /** Those for which all the steps of an entry were too few; likewise. */
  readonly searchesGivenUp: number;
  /** Requests that were refused because they closed a cycle; likewise. */
  readonly deadlocks: number;
}
