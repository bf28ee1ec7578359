/**
 * What a client may believe about its lease. Evidence is a pair (s, t): the stamp s of the entry
 * that executed a command, and the local time t before that command was first transmitted. The
 * lease ends at s + ttl in cluster time at the earliest, and s is no earlier than t, so by the local
 * clock it lives until t + ttl, less a margin for the drift between the clocks. For the lease of the
 * session X − s is always the TTL; so of the pair only t has to be kept. ("What renews a lease".)
 */

const MARGIN_RATIO = 0.1;
const MARGIN_MS_MIN = 250;

/** What is taken off a span of `spanMs` cluster milliseconds before it is trusted here. */
export function marginMs(spanMs: number): number {
  return Math.max(spanMs * MARGIN_RATIO, MARGIN_MS_MIN);
}

export class Lease {
  ttlMs: number;
  /** The largest t of any evidence; -Infinity without any. */
  #newestMs = Number.NEGATIVE_INFINITY;
  /** When holds are given up unless newer evidence arrives. -Infinity without evidence. */
  deadlineMs = Number.NEGATIVE_INFINITY;

  constructor(ttlMs: number) {
    this.ttlMs = ttlMs;
  }

  get newestMs(): number {
    return this.#newestMs;
  }

  /** An entry executed what was first transmitted at `sentMs`. */
  renew(sentMs: number): void {
    if (sentMs <= this.#newestMs) return;
    this.#newestMs = sentMs;
    this.deadlineMs = sentMs + this.ttlMs - marginMs(this.ttlMs);
  }

  /** A new session: nothing is known. */
  reset(ttlMs: number): void {
    this.ttlMs = ttlMs;
    this.#newestMs = Number.NEGATIVE_INFINITY;
    this.deadlineMs = Number.NEGATIVE_INFINITY;
  }
}
