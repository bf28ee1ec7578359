/**
 * What a client may believe about times that the cluster decides. Evidence is a pair (s, t): the
 * stamp s of the entry that executed a command, and the local time t before that command was first
 * transmitted. Since s is no earlier than t, a cluster deadline X is not before t + (X − s) by the
 * local clock, less a margin for the drift between the clocks. X is the end of the lease, the end
 * of a hold by `maxHoldMs`, or the forced end of a revoke. (semantics.md, 3.4.)
 *
 * The newest pair is the one with the largest t; every pair is safe, and the newest has drifted
 * least.
 */

const MARGIN_RATIO = 0.1;
const MARGIN_MS_MIN = 250;
const NEVER = Number.POSITIVE_INFINITY;

/** What is subtracted from a span of `spanMs` cluster milliseconds before it is trusted here. */
export function marginMs(spanMs: number): number {
  return Math.max(spanMs * MARGIN_RATIO, MARGIN_MS_MIN);
}

/** The lease of the session, as far as this client may believe in it. */
export class SessionLease {
  ttlMs: number;
  /** The newest pair: t (-Infinity without evidence) and s. */
  #newestMs = Number.NEGATIVE_INFINITY;
  #stamp = 0;
  /** Cluster time at which an operator ends the session; `Infinity`: none does. */
  #forcedEndAt = NEVER;
  /** Why an operator ends the session; `undefined`: none does. */
  forcedReason: string | undefined;
  /** When holds are given up unless newer evidence arrives. -Infinity without evidence. */
  deadlineMs = Number.NEGATIVE_INFINITY;
  /** The reason of their end at that time. */
  endReason: "expired" | "revoked" = "expired";

  constructor(ttlMs: number) {
    this.ttlMs = ttlMs;
  }

  get newestMs(): number {
    return this.#newestMs;
  }

  /** An entry with that stamp executed a command that was first transmitted at `sentMs`. */
  renew(sentMs: number, stamp: number): void {
    if (sentMs <= this.#newestMs) return;
    this.#newestMs = sentMs;
    this.#stamp = stamp;
    this.#count();
  }

  /** By the local clock, the latest time at which `clusterMs` has certainly not come yet. */
  localMs(clusterMs: number): number {
    if (clusterMs === NEVER) return NEVER;
    const spanMs = clusterMs - this.#stamp;
    return this.#newestMs + spanMs - marginMs(spanMs);
  }

  /** An operator ends the session at `endsAt`, unless it ends earlier. */
  force(endsAt: number, reason: string): void {
    this.#forcedEndAt = Math.min(this.#forcedEndAt, endsAt);
    this.forcedReason = reason;
    this.#count();
  }

  /** A new session: there is no evidence yet. */
  reset(ttlMs: number): void {
    this.ttlMs = ttlMs;
    this.#newestMs = Number.NEGATIVE_INFINITY;
    this.#forcedEndAt = NEVER;
    this.forcedReason = undefined;
    this.#count();
  }

  #count(): void {
    const leaseMs = this.localMs(this.#stamp + this.ttlMs);
    const forcedMs = this.localMs(this.#forcedEndAt);
    this.deadlineMs = Math.min(leaseMs, forcedMs);
    this.endReason = forcedMs < leaseMs ? "revoked" : "expired";
  }
}
