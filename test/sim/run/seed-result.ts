/** The result of one run. Plain data, so that it can pass between processes. */
import type { PairCounts } from "../checks/coverage.js";

export interface SeedFailure {
  readonly rule: string;
  readonly message: string;
  /** The last events before it, if there is a story. */
  readonly story: readonly string[];
}

/** What is counted in a run, and added up over many. */
export interface RunCounts {
  readonly faultEpisodes: number;
  readonly committedEntries: number;
  readonly grants: number;
  readonly elections: number;
  readonly quarantines: number;
  /** Overlaps of clients that did not look at the deadline of their lease. */
  readonly overlapsWithoutDeadline: number;
  /** Overlaps of clients from which a hold was taken before they could hear of it. */
  readonly overlapsWithoutFence: number;
  /** Writes to what a hold guards, or had guarded, with a token that was too old. */
  readonly refusedWrites: number;
}

export const NO_COUNTS: RunCounts = Object.freeze({
  faultEpisodes: 0,
  committedEntries: 0,
  grants: 0,
  elections: 0,
  quarantines: 0,
  overlapsWithoutDeadline: 0,
  overlapsWithoutFence: 0,
  refusedWrites: 0,
});

export interface SeedResult extends RunCounts {
  readonly seed: number;
  /** Over all events, in their order. */
  readonly hash: string;
  readonly simulatedMs: number;
  /** Commands and reads by `op/status`, and other things seen, by name. */
  readonly outcomes: Readonly<Record<string, number>>;
  /** How often it came to each pair of a state and an event; empty unless that was asked for. */
  readonly coverage: PairCounts;
  readonly failure: SeedFailure | undefined;
}
