/**
 * The contract of the lock table: what an entry is to it, and where its answers go. Types only.
 */
import type { Attached, Command, SessionMessage } from "../protocol/index.js";

/** One command of an entry, decoded. `undefined`: bytes no node could decode; it does nothing. */
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

/** Replicated settings: limits that decide outcomes. Not options of one node. */
export interface TableSettings {
  readonly waitersMax: number;
  readonly inFlightMax: number;
  /** Outcomes that one session has not acknowledged, beyond which it gets no new acquire. */
  readonly unacknowledgedMax: number;
  /** Units of due and queued work that one entry does before its commands. */
  readonly unitsPerEntryMax: number;
  /** Grants that a command makes in its own step; the rest goes to the work queue. */
  readonly grantsPerStepMax: number;
}

/** Sizes, for status and metrics. */
export interface TableCounts {
  readonly sessions: number;
  readonly keys: number;
  readonly holds: number;
  readonly waiters: number;
}
