/** What one run came to. Plain data, so that it can pass between processes. */
export interface SeedFailure {
  readonly rule: string;
  readonly message: string;
  /** The last events before it, when they were told. */
  readonly story: readonly string[];
}

export interface SeedResult {
  readonly seed: number;
  /** Over all events, in their order. */
  readonly hash: string;
  readonly simulatedMs: number;
  readonly faultEpisodes: number;
  readonly committedEntries: number;
  readonly grants: number;
  readonly elections: number;
  readonly quarantines: number;
  /** Of clients that did not look at the deadline of their lease. */
  readonly overlapsWithoutDeadline: number;
  /** Commands and reads by `op/status`. */
  readonly outcomes: Readonly<Record<string, number>>;
  readonly failure: SeedFailure | undefined;
}
