/**
 * A held lock of a peer, or a lease, with the interface of Holdfast's locks: a token, the time for which its
 * holder is certain of it, and a signal that is aborted when that is over.
 */
import { HoldfastError, type ReleaseResult } from "../../sdk.js";
import type { HeldLock } from "../workload.js";

export interface LeasedLockParts {
  readonly token: number;
  /** On the monotonic clock of `performance.now()`: counted from before the lease was requested. */
  readonly untilMs: number;
  /** Rejects if it is not known whether it was released. Called once. */
  readonly giveBack: () => Promise<ReleaseResult>;
}

export class LeasedLock implements HeldLock {
  readonly token: number;
  readonly items = [];
  readonly #giveBack: () => Promise<ReleaseResult>;
  readonly #ended = new AbortController();
  #untilMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ token, untilMs, giveBack }: LeasedLockParts) {
    this.token = token;
    this.#giveBack = giveBack;
    this.#untilMs = untilMs;
    this.#await();
  }

  get remainingMs(): number {
    // A timer may be early by a fraction of a millisecond; an ended lock stays ended.
    if (this.#ended.signal.aborted) return 0;
    return Math.max(0, this.#untilMs - performance.now());
  }

  get isHeld(): boolean {
    return this.remainingMs > 0;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The lease was renewed. */
  extend(untilMs: number): void {
    if (!this.isHeld || untilMs <= this.#untilMs) return;
    this.#untilMs = untilMs;
    this.#await();
  }

  release(): Promise<ReleaseResult> {
    clearTimeout(this.#timer);
    this.#ended.abort();
    return this.#giveBack();
  }

  #await(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#lapse(), this.remainingMs);
    this.#timer.unref();
  }

  #lapse(): void {
    const details = { token: this.token, reason: "expired" };
    this.#ended.abort(new HoldfastError("LOCK_LOST", "its lease ran out", { details }));
  }
}

/** The service refused, and nothing waits any more. */
export function refused(key: string, waitMs: number): HoldfastError {
  if (waitMs === 0) return new HoldfastError("LOCK_HELD", `${key} is held`);
  const details = { key, waitMs, decidedBy: "service" };
  return new HoldfastError("LOCK_TIMEOUT", `${key}: not granted in ${waitMs} ms`, { details });
}

/** `indeterminate`: the request may have been carried out, or may still be. */
export function unanswered(key: string, cause: unknown, indeterminate = true): HoldfastError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new HoldfastError("UNAVAILABLE", `${key}: ${why}`, { details: { indeterminate }, cause });
}
