/**
 * What a client may believe about cluster time: the lease of the SDK, and nothing else decides. After an
 * attach what was learned is put off until the cluster was asked what became of the holds: only the
 * answer shows revokes of which the connection before did not hear.
 */
import { SessionLease } from "../../../../src/client/session-lease/session-lease.js";

interface Pair {
  readonly stamp: number;
  readonly sentMs: number;
}

export class Evidence {
  readonly #lease: SessionLease;
  #deferred: Pair[] | undefined;

  constructor(ttlMs: number) {
    this.#lease = new SessionLease(ttlMs);
  }

  /** When holds are given up unless there is newer evidence. */
  get deadlineMs(): number {
    return this.#lease.deadlineMs;
  }

  /** The entry of `stamp` executed what was first sent at `sentMs`. */
  add(stamp: number, sentMs: number): void {
    if (this.#deferred === undefined) this.#lease.renew(sentMs, stamp);
    else this.#deferred.push({ stamp, sentMs });
  }

  defer(): void {
    this.#deferred ??= [];
  }

  /** What was put off counts now. */
  admit(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = undefined;
    for (const { stamp, sentMs } of deferred) this.#lease.renew(sentMs, stamp);
  }

  /** The local time by which what ends at `clusterMs` is to be given up. */
  localMs(clusterMs: number): number {
    return this.#lease.localMs(clusterMs);
  }

  endSessionAt(clusterMs: number): void {
    this.#lease.force(clusterMs, "");
  }

  reset(ttlMs: number): void {
    this.#lease.reset(ttlMs);
    this.#deferred = undefined;
  }
}
