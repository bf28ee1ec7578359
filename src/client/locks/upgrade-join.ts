/**
 * The request of one handle to be exclusive in a key. Until the table grants it, the handle is
 * unchanged. If the caller leaves, the request is dropped, and the hold does the rest.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import type { Result } from "../../protocol/index.js";
import { quotedKey } from "../../text/index.js";
import { unansweredWait } from "../calls/unanswered.js";
import {
  type Awaited,
  type Deferred,
  Waiter,
  type Waiters,
  waitDeadlineMs,
} from "../calls/waiters.js";
import { type LossReason, lockLost, lockTimeout, upgradeFailure } from "../failures.js";
import type { UpgradeWish } from "../options/lock-options.js";
import type { HeldLock } from "./held-lock.js";
import type { Hold, Join } from "./hold.js";

/** What it needs from its session. */
export interface UpgradeHost {
  readonly waiters: Waiters;
  /** The refusal, with the captured stacks of its cycle. */
  traced(refusal: Result, askedAt: string | undefined): Result;
}

export class UpgradeJoin implements Join, Awaited {
  readonly asks: Join["asks"];
  readonly waitMs: number;
  readonly detects: boolean;
  readonly handle: HeldLock;
  readonly startedMs: number;
  readonly askedAt: string | undefined;
  readonly #host: UpgradeHost;
  readonly #hold: Hold;
  readonly #key: string;
  readonly #waiter: Waiter<void>;

  constructor(
    host: UpgradeHost,
    of: { readonly hold: Hold; readonly handle: HeldLock; readonly askedAt: string | undefined },
    wish: UpgradeWish,
    times: { readonly nowMs: number; readonly tryTimeoutMs: number },
    caller: Deferred<void>,
  ) {
    this.#host = host;
    this.#hold = of.hold;
    this.handle = of.handle;
    this.askedAt = of.askedAt;
    this.#key = wish.key;
    this.asks = [{ key: wish.key, mode: "exclusive" }];
    this.waitMs = wish.waitMs;
    this.detects = wish.detect;
    this.startedMs = times.nowMs;
    const deadlineMs = waitDeadlineMs(wish.waitMs, times.nowMs, times.tryTimeoutMs);
    this.#waiter = new Waiter(host.waiters, this, deadlineMs, wish.signal, caller);
  }

  get mayBeExecuted(): boolean {
    return this.#hold.mayCover(this);
  }

  onCovered(): void {
    this.handle.setMode(this.#key, "exclusive");
    this.#waiter.resolve();
  }

  onRefusal(key: string, result: Result): void {
    const isTimeout = result.status === ERROR_NUMBERS.LOCK_TIMEOUT;
    const error = isTimeout
      ? lockTimeout([{ key }], this.waitMs, "service")
      : upgradeFailure(key, this.#host.traced(result, this.askedAt));
    this.#waiter.reject(error);
  }

  onHoldLost(reason: LossReason): void {
    this.#waiter.reject(lockLost(this.#hold.items, this.#hold.token, reason));
  }

  leave(reason: unknown): void {
    this.#waiter.reject(reason);
    this.#hold.leave(this);
  }

  onDeadline(lastFailure: string): void {
    const key = this.#key;
    const what = `the upgrade of lock ${quotedKey(key)}`;
    this.leave(unansweredWait(this, [{ key }], this.waitMs, lastFailure, what));
  }
}
