/**
 * What was read of a snapshot and is not linked up yet. Its records came in an order that means
 * nothing, so nothing here is in the order that the table needs.
 */
import type { Hold } from "./hold.js";
import type { Place } from "./key.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";
import { hashNumber, ShardedMap } from "./sharded-map.js";
import type { Slot } from "./slot-list.js";
import type { TableState } from "./state.js";
import type { Work } from "./work-queue.js";

/** How many records of each sort the snapshot says it has. */
export interface PartCounts {
  readonly sessions: number;
  readonly holds: number;
  readonly requests: number;
  readonly work: number;
}

export interface SessionParts {
  readonly session: Session;
  /** Those of waiting acquires included. */
  readonly slots: Slot[];
  readonly holds: Hold[];
}

export class SnapshotParts {
  /** Has the numbers, and the keys of all claims; nothing stands in its lists yet. */
  readonly state: TableState;
  readonly counts: PartCounts;
  readonly sessions: SessionParts[] = [];
  readonly sessionsById = new ShardedMap<number, SessionParts>(hashNumber);
  /** Shared ones; the order in which several stand in a key is that of their tokens. */
  readonly sharedHeld: Place[] = [];
  holdCount = 0;
  readonly requests: Request[] = [];
  /** In order. */
  readonly work: Work[] = [];
  /** Slots, but for those of waiting acquires. */
  slotCount = 0;

  constructor(state: TableState, counts: PartCounts) {
    this.state = state;
    this.counts = counts;
  }
}
