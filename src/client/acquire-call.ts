/**
 * One request for a lock, from `acquire` to grant, refusal or abort. Two things end separately: what
 * the caller is told (`isSettled`) and what the table has. A caller that left early leaves a call
 * behind that gives back whatever it is still granted, so that nothing leaks.
 */
import { assert } from "../assert.js";
import { ERROR_NUMBERS } from "../errors.js";
import {
  type LockMode,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../protocol/index.js";
import { type Abortable, unwatchAbort, watchAbort } from "./abort-watch.js";
import { Call } from "./call.js";
import { acquireFailure, lockTimeout, sessionExpired, unavailable } from "./failures.js";
import type { HeldLock } from "./held-lock.js";

/** What an acquire needs of its session. */
export interface AcquireHost {
  /** The table granted `token` to `call`: hand it out, or keep it until the lease is proven. */
  onGranted(call: AcquireCall, token: number): void;
  /** The caller was told; the call counts no longer as open. */
  onSettled(call: AcquireCall): void;
  cancel(sequence: number): void;
  releaseToken(token: number): void;
}

export interface AcquireWish {
  readonly key: string;
  readonly mode: LockMode;
  readonly owner: number;
  /** As on the wire: `WAIT_FOREVER`, 0 or a number of milliseconds. */
  readonly waitMs: number;
  /** Resolves to `undefined` instead of rejecting with `LOCK_HELD`. */
  readonly isTry: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Time for the table's own answer before the client enforces a deadline by itself. */
const DEADLINE_GRACE_MS = 500;

export class AcquireCall extends Call implements Abortable {
  readonly wish: AcquireWish;
  /** When the client itself gives up. */
  readonly deadlineMs: number;
  readonly #startedMs: number;
  readonly #host: AcquireHost;
  readonly #resolve: (lock: HeldLock | undefined) => void;
  readonly #reject: (reason: unknown) => void;
  /** The caller was told how it ended. */
  isSettled = false;
  /** Granted but not handed out, since the lease was not proven; else 0. */
  #asideToken = 0;

  constructor(
    host: AcquireHost,
    wish: AcquireWish,
    nowMs: number,
    connectTimeoutMs: number,
    resolve: (lock: HeldLock | undefined) => void,
    reject: (reason: unknown) => void,
  ) {
    super();
    this.#host = host;
    this.wish = wish;
    this.#startedMs = nowMs;
    this.#resolve = resolve;
    this.#reject = reject;
    if (wish.waitMs === WAIT_FOREVER) this.deadlineMs = Number.POSITIVE_INFINITY;
    else if (wish.waitMs === 0) this.deadlineMs = nowMs + connectTimeoutMs;
    else this.deadlineMs = nowMs + wish.waitMs + DEADLINE_GRACE_MS;
    if (wish.signal !== undefined) watchAbort(wish.signal, this);
  }

  onAbort(reason: unknown): void {
    this.abandon(reason);
  }

  override get isUnwanted(): boolean {
    return this.isSettled;
  }

  command(mark: number, nowMs: number): SequencedCommand {
    const { key, mode, owner } = this.wish;
    return {
      op: OP.acquire,
      sequence: this.sequence,
      mark,
      acknowledged: this.acknowledged,
      owner,
      items: [{ key, mode }],
      waitMs: this.#remainingWaitMs(nowMs),
    };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.granted) {
      if (this.isSettled) this.#host.releaseToken(result.token);
      else this.#host.onGranted(this, result.token);
      return;
    }
    assert(result.status !== STATUS.queued, () => `acquire ${this.sequence} ended as queued`);
    if (this.isSettled) return;
    if (this.wish.isTry && result.status === ERROR_NUMBERS.LOCK_HELD) this.#fulfil(undefined);
    else this.#fail(acquireFailure(this.wish.key, result));
  }

  /** The grant waits here for fresh evidence of the lease. */
  putAside(token: number): void {
    this.#asideToken = token;
  }

  handOut(lock: HeldLock): void {
    this.#asideToken = 0;
    this.#fulfil(lock);
  }

  override giveUp(): boolean {
    if (!this.isSettled) {
      this.#fail(acquireFailure(this.wish.key, { status: ERROR_NUMBERS.BUSY }));
    }
    return true;
  }

  onSessionLost(): void {
    this.#asideToken = 0;
    if (!this.isSettled) this.#fail(sessionExpired(this.wish.key));
  }

  /** The client's own deadline passed without an answer. */
  onDeadline(lastFailure: string): void {
    const { key, waitMs } = this.wish;
    if (waitMs !== 0) this.abandon(lockTimeout(key, waitMs));
    else this.abandon(unavailable(`lock ${JSON.stringify(key)}`, lastFailure));
  }

  /** Tells the caller `reason` and gives back, now or later, whatever the table granted. */
  abandon(reason: unknown): void {
    if (this.isSettled) return;
    const token = this.#asideToken;
    this.#asideToken = 0;
    this.#fail(reason);
    if (token !== 0) this.#host.releaseToken(token);
    else if (this.sequence !== 0) this.#host.cancel(this.sequence);
  }

  /** Rejects without a word to the table, whose session ends anyway. */
  fail(error: unknown): void {
    if (!this.isSettled) this.#fail(error);
  }

  #remainingWaitMs(nowMs: number): number {
    const { waitMs } = this.wish;
    if (waitMs === WAIT_FOREVER || waitMs === 0) return waitMs;
    const remainingMs = Math.ceil(waitMs - (nowMs - this.#startedMs));
    return Math.min(Math.max(remainingMs, 1), WAIT_MS_MAX);
  }

  #fulfil(lock: HeldLock | undefined): void {
    this.#settle();
    this.#resolve(lock);
  }

  #fail(reason: unknown): void {
    this.#settle();
    this.#reject(reason);
  }

  #settle(): void {
    this.isSettled = true;
    if (this.wish.signal !== undefined) unwatchAbort(this.wish.signal, this);
    this.#host.onSettled(this);
  }
}
