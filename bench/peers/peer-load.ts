/** The load of the peer: its workers and locks, and whether workers compete for them. */
export interface PeerLoad {
  readonly connections: number;
  readonly workers: number;
  /** One for each worker, or a single one that all share. */
  readonly keys: readonly string[];
  /** False: each worker has locks of its own, and never waits for another. */
  readonly isShared: boolean;
  readonly signal: AbortSignal;
}
