/**
 * What makes a hold, or a wait for one, belong to an owner outside of sessions (semantics.md, 8):
 * who that is, and for how long. A hold of an owner is found by its owner ("lease-index.ts").
 */
import type { Identity } from "./identity.js";

/**
 * Waits for leases belong to no task: each has a number of its own from here on, like a task that
 * waits for nothing else. A client that gives a task of its own such a number hides it from views,
 * and from nothing else that is not its own.
 */
export const LEASE_TASKS = 2 ** 52;

/** What others see of a task: nothing if it is only the wait for a lease. */
export const shownTask = (task: number): number => (task < LEASE_TASKS ? task : 0);

/** Who has a lease, or waits for one. */
export interface LeaseOwner {
  /** The digest of what names and proves the owner. */
  readonly ownerDigest: string;
  /** The identity of the session of its first take, or of the one that handed the hold over. */
  readonly identity: Identity;
  /** Owners of each identity have a name space of their own, and so have the bearers of all. */
  readonly isBearer: boolean;
}

/** What a take waits for. */
export interface LeaseWait extends LeaseOwner {
  /** Equal in a repeat of the take; "" of a hold that was handed over, which none repeats. */
  readonly request: string;
  /** What others see of the owner. */
  readonly name: string;
  /** 0: without end. */
  readonly ttlMs: number;
}

/** What makes a hold the lease of a named owner. */
export interface Lease extends LeaseWait {
  /** 0: without end. */
  readonly endsAt: number;
  /** The session and the sequence of the take that got it; 0 once it was repeated, or handed over. */
  readonly takenBy: number;
  readonly takenAs: number;
}
