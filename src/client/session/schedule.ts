/**
 * When a session has something to do by itself. All times in one place, so that there is one timer
 * and no duty is forgotten; doing them is the session's. (semantics.md, 2.8 and 3.4.)
 */
import type { Outgoing } from "../calls/outgoing.js";
import { type Lease, marginMs } from "../lease/lease.js";
import type { Locks } from "../locks/locks.js";
import type { Reads } from "../reads/reads.js";
import type { Watches } from "../reads/watches.js";
import type { Connection } from "../transport/connection.js";
import type { Attachment } from "./attachment.js";
import type { Lifetime } from "./lifetime.js";

/** A keepalive goes out this part of the TTL after the newest evidence, and while … */
const KEEPALIVE_PER_TTL = 1 / 4;
/** A node that leaves a transmission unanswered for this part of the TTL is left. */
export const MOVE_PER_TTL = 1 / 3;
/**
 * … the session has nothing that its end would take away and nobody waits for news, so late that
 * its lease outlives a failover of this length, which may begin just before the keepalive, …
 */
const FAILOVER_MS = 5_000;
/**
 * … and what its client then needs to come back, among thousands that do so: one attempt at a node
 * that says nothing (2 s), a pause of at most 1 s before the next round, and attaching.
 */
const RETURN_MS = 3_000;
/** Nor is a node waited for longer that does not answer an open or resume: nothing is served. */
const ATTACH_TIMEOUT_MS_MAX = 5_000;
/** While something is held the lease is looked at so often, should the machine have slept. */
const LEASE_CHECK_MS = 1_000;

function keepaliveMs(ttlMs: number): number {
  return ttlMs * KEEPALIVE_PER_TTL;
}

/** A node that fell silent is noticed late, and the failover is over by then, or nearly. */
function idleKeepaliveMs(ttlMs: number): number {
  const awayMs = Math.max(FAILOVER_MS, ttlMs * MOVE_PER_TTL) + RETURN_MS;
  return Math.max(ttlMs - marginMs(ttlMs) - awayMs, keepaliveMs(ttlMs));
}

/** The parts of a session that have due times. */
export interface Duties {
  readonly connection: Connection;
  readonly attachment: Attachment;
  readonly outgoing: Outgoing;
  readonly lease: Lease;
  readonly locks: Locks;
  readonly reads: Reads;
  readonly watches: Watches;
  readonly lifetime: Lifetime;
}

export class Schedule {
  readonly #of: Duties;

  constructor(duties: Duties) {
    this.#of = duties;
  }

  /** When the node is left because something on this connection has no answer. */
  moveMs(isAttached: boolean): number {
    const { outgoing, attachment, lease } = this.#of;
    const patienceMs = lease.ttlMs * MOVE_PER_TTL;
    if (isAttached) return outgoing.oldestSentMs + patienceMs;
    return attachment.sentMs + Math.min(patienceMs, ATTACH_TIMEOUT_MS_MAX);
  }

  keepaliveMs(isAttached: boolean): number {
    if (!isAttached) return Number.POSITIVE_INFINITY;
    const { lease, outgoing } = this.#of;
    const lastMs = Math.max(lease.newestMs, outgoing.keepalives.lastSentMs);
    return lastMs + (this.#isIdle ? idleKeepaliveMs : keepaliveMs)(lease.ttlMs);
  }

  get #isIdle(): boolean {
    const { locks, reads, watches, outgoing } = this.#of;
    const isAsked = locks.isBusy || reads.size > 0 || watches.size > 0;
    return !isAsked && !outgoing.window.hasAcknowledgements;
  }

  /** The earliest of everything. */
  nextMs(isAttached: boolean, nowMs: number): number {
    const { connection, attachment, locks, reads, outgoing, lifetime } = this.#of;
    let dueMs = Math.min(
      connection.dueMs,
      attachment.againAtMs,
      locks.waiters.dueMs,
      locks.lapseMs,
      lifetime.openingUntilMs,
      lifetime.closingUntilMs,
      this.moveMs(isAttached),
      this.keepaliveMs(isAttached),
    );
    if (reads.size > 0) {
      dueMs = Math.min(dueMs, reads.dueMs(isAttached, outgoing.window.answeredUpTo));
    }
    if (locks.isHolding) dueMs = Math.min(dueMs, nowMs + LEASE_CHECK_MS);
    if (!isAttached) return dueMs;
    return Math.min(dueMs, outgoing.pausedUntilMs(nowMs), this.#of.watches.dueMs);
  }
}
