/**
 * What was read of a snapshot and is not linked up yet. Its records came in an order that means
 * nothing, so nothing here is in the order that the table needs.
 */
import type { LoneHold } from "../holds/lone-holds.js";
import { hashNumber, ShardedMap } from "../index/sharded-map.js";
import type { Closing } from "../records/closing.js";
import type { Place } from "../records/key.js";
import type { Slot } from "../records/reply-window.js";
import type { Hold, Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { Order } from "../records/waiting-queue.js";

/** How many records of each sort the snapshot says it has. */
export interface PartCounts {
  readonly sessions: number;
  readonly holds: number;
  readonly requests: number;
  readonly work: number;
  readonly closings: number;
  readonly semaphores: number;
}

export interface SessionParts {
  readonly session: Session;
  /** Those of waiting requests included. */
  readonly slots: Slot<Request>[];
  readonly holds: (Hold | LoneHold)[];
}

/** Names what it means; that may come later. */
export type WorkPart =
  | {
      readonly kind: "key";
      readonly name: string;
      readonly frontier: number;
      readonly evictFrom: Order | undefined;
    }
  | { readonly kind: "session"; readonly session: Session }
  | { readonly kind: "request"; readonly session: number; readonly sequence: number };

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
  /** The sequences of holds that requests are to make exclusive. */
  readonly upgraded = new Map<Request, number>();
  /** The numbers of the due times of holds. */
  readonly endNumbers = new Map<Hold, number>();
  readonly closings: Closing[] = [];
  semaphoreCount = 0;
  /** In order. */
  readonly work: WorkPart[] = [];
  /** Slots, but for those of waiting requests. */
  slotCount = 0;

  constructor(state: TableState, counts: PartCounts) {
    this.state = state;
    this.counts = counts;
  }
}
