/**
 * When a session has something to do by itself. All due times are here, so that one timer is enough
 * and none is forgotten; the session acts on them. (semantics.md, 2.8 and 3.4.)
 */
import type { Outgoing } from "../calls/outgoing.js";
import type { Claims } from "../locks/claims.js";
import type { Questions } from "../reads/questions.js";
import type { Watches } from "../reads/watches.js";
import { marginMs, type SessionLease } from "../session-lease/session-lease.js";
import type { Connection } from "../transport/connection.js";
import type { AttachState } from "./attacher.js";
import type { Lifetime } from "./lifetime.js";

/** A keepalive is sent this part of the TTL after the newest evidence. But … */
const KEEPALIVE_PER_TTL = 1 / 4;
/**
 * A node that answers pings and leaves a transmission unanswered for this part of the TTL is left,
 * and never later than …
 */
export const PATIENCE_PER_TTL = 1 / 3;
const PATIENCE_MS_MAX = 5_000;
/**
 * … while the end of the session would end nothing and no caller waits for news, it is sent so late
 * that the lease just outlives a failover of this length that begins before the keepalive, …
 */
const FAILOVER_MS = 5_000;
/**
 * … and the time that a client then needs to reconnect, among thousands of others: one attempt at a
 * node that does not answer (2 s), a pause of at most 1 s before the next round, and attaching.
 */
const RETURN_MS = 3_000;
/** How often the lease is checked while a lock is held, in case the machine was suspended. */
const LEASE_CHECK_MS = 1_000;

function keepaliveMs(ttlMs: number): number {
  return ttlMs * KEEPALIVE_PER_TTL;
}

/** A node that stops answering is noticed within the time of the failover. */
function idleKeepaliveMs(ttlMs: number): number {
  return Math.max(ttlMs - marginMs(ttlMs) - FAILOVER_MS - RETURN_MS, keepaliveMs(ttlMs));
}

/** The parts of a session that have due times. */
export interface Duties {
  readonly connection: Connection;
  readonly attachState: AttachState;
  readonly outgoing: Outgoing;
  readonly lease: SessionLease;
  readonly claims: Claims;
  readonly questions: Questions;
  readonly watches: Watches;
  readonly lifetime: Lifetime;
}

export class Schedule {
  readonly #of: Duties;

  constructor(duties: Duties) {
    this.#of = duties;
  }

  /** When the node is left because something that was sent to it has no answer. */
  moveMs(isAttached: boolean): number {
    const patienceMs = Math.min(this.#of.lease.ttlMs * PATIENCE_PER_TTL, PATIENCE_MS_MAX);
    return this.#oldestSentMs(isAttached) + patienceMs;
  }

  #oldestSentMs(isAttached: boolean): number {
    const { outgoing, attachState } = this.#of;
    return isAttached ? outgoing.oldestSentMs : attachState.sentMs;
  }

  /**
   * Whether the node owes an answer, or is to say when a wait ends or something changes. It owes
   * nothing for a lock that is only held.
   */
  isAwaiting(isAttached: boolean): boolean {
    const { claims, questions, watches } = this.#of;
    const isAsked = claims.waiters.count > 0 || questions.size > 0 || watches.size > 0;
    return isAsked || this.#oldestSentMs(isAttached) !== Number.POSITIVE_INFINITY;
  }

  keepaliveMs(isAttached: boolean): number {
    if (!isAttached) return Number.POSITIVE_INFINITY;
    const { lease, outgoing } = this.#of;
    const lastMs = Math.max(lease.newestMs, outgoing.keepalives.lastSentMs);
    return lastMs + (this.#isIdle ? idleKeepaliveMs : keepaliveMs)(lease.ttlMs);
  }

  get #isIdle(): boolean {
    const { claims, questions, watches, outgoing } = this.#of;
    const isAsked = claims.isBusy || questions.size > 0 || watches.size > 0;
    return !isAsked && !outgoing.window.hasAcknowledgements;
  }

  /** The earliest of all due times. */
  nextMs(isAttached: boolean, nowMs: number): number {
    const { connection, attachState, claims, questions, outgoing, lifetime } = this.#of;
    let dueMs = Math.min(
      connection.dueMs,
      attachState.againAtMs,
      claims.waiters.dueMs,
      claims.lapseMs,
      lifetime.openingUntilMs,
      lifetime.closingUntilMs,
      this.moveMs(isAttached),
      this.keepaliveMs(isAttached),
    );
    if (questions.size > 0) {
      dueMs = Math.min(dueMs, questions.dueMs(isAttached, outgoing.window.answeredUpTo));
    }
    if (claims.isHolding) dueMs = Math.min(dueMs, nowMs + LEASE_CHECK_MS);
    if (!isAttached) return dueMs;
    return Math.min(dueMs, outgoing.pausedUntilMs(nowMs), this.#of.watches.dueMs);
  }
}
