/**
 * The parts of a snapshot that have been read and not linked yet. Its records can be in any order,
 * so nothing here is in the order that the table needs.
 */
import type { LoneHold } from "../holds/lone-holds.js";
import type { Cooldown } from "../records/cooldown.js";
import type { Hold } from "../records/hold.js";
import type { Identity } from "../records/identity.js";
import type { Place } from "../records/key.js";
import type { Slot } from "../records/reply-window.js";
import type { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { QueueOrder } from "../records/waiting-queue.js";
import { hashNumber, ShardedMap } from "../structures/sharded-map.js";

/** How many records of each kind the snapshot announces. */
export interface PartCounts {
  readonly sessions: number;
  readonly holds: number;
  readonly requests: number;
  readonly work: number;
  readonly cooldowns: number;
  readonly semaphores: number;
  readonly identities: number;
  readonly endedLeases: number;
}

export interface SessionParts {
  readonly session: Session;
  /** The numbers of its identity and of its credential. */
  readonly identity: number;
  readonly credential: number;
  /** Includes the slots of waiting requests. */
  readonly slots: Slot<Request>[];
  readonly holds: (Hold | LoneHold)[];
}

/**
 * An item of the work queue. It refers to a key, session or request, whose record may come later.
 */
export type WorkPart =
  | {
      readonly kind: "key";
      readonly name: string;
      readonly frontier: number;
      readonly evictFrom: QueueOrder | undefined;
    }
  | { readonly kind: "session"; readonly session: Session }
  | { readonly kind: "identity"; readonly number: number; readonly orderedBy: string }
  | { readonly kind: "request"; readonly session: number; readonly sequence: number };

export class SnapshotParts {
  /** Has the numbers, and the keys of all claims; its lists are still empty. */
  readonly state: TableState;
  readonly counts: PartCounts;
  /** By their numbers; without `local`. */
  readonly identities = new Map<number, Identity>();
  readonly credentials = new Set<number>();
  readonly sessions: SessionParts[] = [];
  readonly sessionsById = new ShardedMap<number, SessionParts>(hashNumber);
  /** Held places that can share a key; several in one key are in the order of their tokens. */
  readonly sharedHeld: Place[] = [];
  holdCount = 0;
  readonly requests: Request[] = [];
  /** The sequences of the holds that requests are to upgrade. */
  readonly upgraded = new Map<Request, number>();
  /** The numbers of the identities that leases and cooldowns count against. */
  readonly countedFor = new Map<Hold | Cooldown, number>();
  endedLeaseCount = 0;
  /** The numbers of the due times of holds. */
  readonly endNumbers = new Map<Hold, number>();
  readonly cooldowns: Cooldown[] = [];
  semaphoreCount = 0;
  /** In order. */
  readonly work: WorkPart[] = [];
  /** Counts slots except the slots of waiting requests. */
  slotCount = 0;

  constructor(state: TableState, counts: PartCounts) {
    this.state = state;
    this.counts = counts;
  }
}
