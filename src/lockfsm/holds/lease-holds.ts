/**
 * What the table keeps of a lease in addition to its hold: how it is found, when it ends, and why
 * it ended. Every lease begins and ends through this file.
 */
import { END_REASON, type EndReason } from "../../protocol/index.js";
import { Hold } from "../records/hold.js";
import type { Lease, LeaseOwner } from "../records/lease.js";
import { spaceOf } from "../records/lease-index.js";
import type { Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { scheduleEnd } from "./due-time.js";

/** A hold that is in its keys becomes known as a lease. */
export function enterLease({ leases }: TableState, hold: Hold, lease: Lease): void {
  leases.add(hold, lease);
  leases.count += 1;
  if (lease.endsAt === 0) leases.endlessCount += 1;
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    leases.forget(place.key.name, lease);
  }
}

/** The lease has ended: only the reason is kept, for a while. */
export function leaveLease(state: TableState, hold: Hold, lease: Lease, reason: EndReason): void {
  const { leases, stamp: endedAt } = state;
  leases.remove(hold, lease);
  leases.count -= 1;
  if (lease.endsAt === 0) leases.endlessCount -= 1;
  const { ownerDigest } = lease;
  const space = spaceOf(lease);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    const ended = { key: place.key.name, space, ownerDigest, request: "", reason, endedAt };
    leases.remember(ended);
  }
}

/** The owner has given its claim back, which has ended: a late copy of that request takes nothing. */
export function rememberGivenBack(
  { leases, stamp: endedAt }: TableState,
  keys: readonly string[],
  owner: LeaseOwner,
  request: string,
): void {
  const reason = END_REASON.released;
  const [space, { ownerDigest }] = [spaceOf(owner), owner];
  for (const key of keys) {
    leases.remember({ key, space, ownerDigest, request, reason, endedAt });
  }
}

/** The keys of a claim that is in them. */
export function keysOf({ firstPlace }: Hold | Request): string[] {
  const keys: string[] = [];
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    keys.push(place.key.name);
  }
  return keys;
}

/** Replaces what may change of a lease. */
export function changeLease(
  state: TableState,
  hold: Hold,
  change: Partial<Pick<Lease, "endsAt" | "ttlMs" | "takenBy" | "takenAs">>,
): void {
  const extras = hold.changeExtras();
  const { lease } = extras;
  if (lease === undefined) return;
  const changed = { ...lease, ...change };
  extras.lease = changed;
  const endlessBefore = lease.endsAt === 0 ? 1 : 0;
  state.leases.endlessCount += (changed.endsAt === 0 ? 1 : 0) - endlessBefore;
  scheduleEnd(state, hold);
}

/** Leases that have an end and last longer than some time. */
export interface LongLeases {
  readonly count: number;
  /** The longest of them, and the longest with its lock delay, in milliseconds; 0 if there is none. */
  readonly longestMs: number;
  readonly closedMs: number;
}

/** Those whose keys may have to stay closed for longer than `ms`, each with its lock delay. Visits all. */
export function leasesBeyond({ detached, rows }: TableState, ms: number): LongLeases {
  let [count, longestMs, closedMs] = [0, 0, 0];
  for (let row = detached.firstHold; row !== 0; row = rows.nextOf(row)) {
    const content = rows.contentOf(row);
    const { lease, lockDelayMs = 0 } = (content instanceof Hold ? content.extras : undefined) ?? {};
    // Nobody relies on a hold before it is adopted.
    if (lease === undefined || lease.isBearer || lease.endsAt === 0) continue;
    if (lease.ttlMs + lockDelayMs <= ms) continue;
    count += 1;
    longestMs = Math.max(longestMs, lease.ttlMs);
    closedMs = Math.max(closedMs, lease.ttlMs + lockDelayMs);
  }
  return { count, longestMs, closedMs };
}
