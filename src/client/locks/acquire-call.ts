/**
 * One request for locks, from `acquire` to grant, refusal or abort, and the adoption of a hold
 * that was handed over, which also brings one. If a caller leaves a request that was sent, its number is ended, so
 * that the table keeps neither a hold nor a wait of it.
 */
import { assert, ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import {
  END_REASON,
  type EndReason,
  type Item,
  OP,
  type RecalledHold,
  type Result,
  type SequencedCommand,
  STATUS,
} from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import { unanswered, unansweredWait } from "../calls/unanswered.js";
import {
  type Awaited,
  type Deferred,
  remainingWaitMs,
  Waiter,
  type Waiters,
  waitDeadlineMs,
} from "../calls/waiters.js";
import {
  acquireFailure,
  adoptFailure,
  adoptionOf,
  type LossReason,
  lockTimeout,
  lossReasonOf,
  sessionExpired,
} from "../failures.js";
import type { AcquireWish, AdoptWish, HeldItem } from "../options/lock-options.js";
import type { Task } from "../options/task.js";
import type { HeldLock, MakeLock } from "./held-lock.js";
import type { Granted, GrantTaker, Hold, Join } from "./hold.js";

/** What a call that brings a hold needs from the claims of its session. */
export interface GrantHost {
  readonly waiters: Waiters;
  /** The table granted `granted`: hand it out, or keep it until the lease is proven. */
  onGranted(taker: GrantTaker, granted: Granted): void;
  /** The granted hold ended before the grant was read. */
  onGrantLost(taker: GrantTaker, granted: Granted, reason: LossReason): void;
  /** A caller leaves; the table may have a hold or a wait under the number of this call. */
  onLeft(call: GrantCall): void;
  /** The refusal, with the captured stacks of its cycle. */
  traced(refusal: Result, askedAt: string | undefined): Result;
}

/** What an acquire needs from the locks of its client. */
export interface AcquireHost {
  readonly claims: GrantHost;
  /** Makes a handle of the hold for the requested items; without `makeLock` a plain lock. */
  lockOf(hold: Hold, items: readonly HeldItem[], makeLock?: MakeLock): HeldLock;
  /** The caller of an acquire has its result. */
  onAcquired(call: AcquireCall): void;
  /** The hold is the one that a nested acquire asks for. */
  share(call: AcquireCall): void;
  /** The hold that a nested acquire was going to share has ended. */
  askAnew(call: AcquireCall): void;
}

/** An acquire as the rest of the SDK asks for it. */
export interface LockWish extends AcquireWish {
  /** Makes the handle that the caller gets; `undefined`: a plain lock. */
  readonly makeLock?: MakeLock;
}

const NEVER = Number.POSITIVE_INFINITY;
const NO_SLOTS: readonly number[] = Object.freeze([]);

/** Asks for locks: a grant, a refusal or a place in queues. */
export class AcquireCall extends Call implements GrantTaker, Join, Awaited {
  readonly isStrong = true;
  /** Stack of the call, if stacks are captured. */
  askedAt: string | undefined = undefined;
  readonly wish: LockWish;
  readonly startedMs: number;
  /** A join without a handle: it asks for one. */
  readonly handle = undefined;
  /** The hold of its task that it will share. */
  joined: Hold | undefined = undefined;
  /** It waits for an earlier acquire of its task. */
  isPostponed = false;
  readonly #host: AcquireHost;
  readonly #waiter: Waiter<HeldLock | undefined>;

  constructor(
    host: AcquireHost,
    wish: LockWish,
    nowMs: number,
    tryTimeoutMs: number,
    caller: Deferred<HeldLock | undefined>,
  ) {
    super();
    this.#host = host;
    this.wish = wish;
    this.startedMs = nowMs;
    const deadlineMs = waitDeadlineMs(wish.waitMs, nowMs, tryTimeoutMs);
    this.#waiter = new Waiter(host.claims.waiters, this, deadlineMs, wish.signal, caller);
  }

  get task(): Task {
    return this.wish.task;
  }

  /** Its caller has its result. */
  get isSettled(): boolean {
    return this.#waiter.isSettled;
  }

  override get isUnwanted(): boolean {
    return this.isSettled;
  }

  override get outlivesSession(): boolean {
    return true;
  }

  override get mayWait(): boolean {
    return true;
  }

  /** One that shares a hold is never sent, but the upgrade that it waits for is. */
  override get mayBeExecuted(): boolean {
    return this.joined === undefined ? super.mayBeExecuted : this.joined.mayCover(this);
  }

  command(head: CommandHead, nowMs: number): SequencedCommand {
    const { items, task, options } = this.wish;
    const { sequence, mark, acknowledged } = head;
    const waitMs = remainingWaitMs(this.wish.waitMs, this.startedMs, nowMs);
    // Written out, as in a release: these are the most frequent messages.
    return {
      op: OP.acquire,
      sequence,
      mark,
      acknowledged,
      task: task.id,
      items,
      waitMs,
      options,
    };
  }

  onResult(result: Result, stamp: number): void {
    const { items, options, waitMs, isTry } = this.wish;
    const { status } = result;
    if (status === STATUS.granted) {
      const maxHoldMs = options?.maxHoldMs ?? 0;
      const endsAt = maxHoldMs === 0 ? NEVER : stamp + maxHoldMs;
      const held = heldItems(items, result.slots);
      this.#take(granted(this, result.token, held, options?.value, endsAt));
      return;
    }
    assert(status !== STATUS.queued, () => `acquire ${this.sequence} ended as queued`);
    if (isTry && status === ERROR_NUMBERS.LOCK_HELD) this.#end(undefined);
    else if (status === ERROR_NUMBERS.LOCK_TIMEOUT)
      this.fail(lockTimeout(items, waitMs, "service"));
    else this.fail(acquireFailure(items, this.#host.claims.traced(result, this.askedAt)));
  }

  override onHeld(told: RecalledHold): void {
    this.#take(stillHeld(told));
  }

  override onEnded(token: number, reason: EndReason): void {
    if (this.isSettled) return;
    const lost = granted(this, token, heldItems(this.wish.items, undefined));
    this.#host.claims.onGrantLost(this, lost, lossReasonOf(reason));
  }

  override onForgotten(): void {
    this.onEnded(0, END_REASON.unknown);
  }

  override onRefused(status: ErrorNumber): void {
    this.fail(acquireFailure(this.wish.items, { status }));
  }

  onSessionLost(reason: LossReason): void {
    this.fail(sessionExpired(this.wish.items, reason));
  }

  /** `items`: the requested ones, if the hold is stronger. */
  handOut(hold: Hold, items: readonly HeldItem[] = hold.items): void {
    this.#end(this.#host.lockOf(hold, items, this.wish.makeLock));
  }

  fail(reason: unknown): void {
    this.#waiter.reject(reason);
    this.#host.onAcquired(this);
  }

  leave(reason: unknown): void {
    if (this.isSettled) return;
    // Before other calls of its task run: nothing may pass the command that ends it.
    if (this.joined === undefined) this.#host.claims.onLeft(this);
    else this.joined.leave(this);
    this.fail(reason);
  }

  onDeadline(lastFailure: string): void {
    const { items, waitMs } = this.wish;
    this.leave(unansweredWait(this, items, waitMs, lastFailure));
  }

  #take(granted: Granted): void {
    // Otherwise its number is being ended.
    if (!this.isSettled) this.#host.claims.onGranted(this, granted);
  }

  #end(lock: HeldLock | undefined): void {
    this.#waiter.resolve(lock);
    this.#host.onAcquired(this);
  }

  // When it shares a hold of its task; then it is never sent.

  get asks(): readonly Item[] {
    return this.wish.items;
  }

  get waitMs(): number {
    return this.wish.waitMs;
  }

  get detects(): boolean {
    return this.wish.options?.detect ?? true;
  }

  onCovered(): void {
    this.#host.share(this);
  }

  onRefusal(_key: string, result: Result): void {
    this.onResult(result, 0);
  }

  onHoldLost(): void {
    this.#host.askAnew(this);
  }
}

/**
 * Makes a hold that was handed over one of this session. It ends with its session: the next one may be
 * of a cluster that was restored meanwhile, which would say of each hold that it is gone.
 */
export class AdoptCall extends Call implements GrantTaker, Awaited {
  readonly isStrong = true;
  readonly askedAt = undefined;
  readonly task: Task;
  readonly #host: AcquireHost;
  readonly #wish: AdoptWish;
  readonly #waiter: Waiter<HeldLock>;

  constructor(host: AcquireHost, wish: AdoptWish, deadlineMs: number, caller: Deferred<HeldLock>) {
    super();
    this.#host = host;
    this.task = wish.task;
    this.#wish = wish;
    this.#waiter = new Waiter(host.claims.waiters, this, deadlineMs, wish.signal, caller);
  }

  /** Its caller has its result. */
  get isSettled(): boolean {
    return this.#waiter.isSettled;
  }

  override get isUnwanted(): boolean {
    return this.isSettled;
  }

  command(head: CommandHead): SequencedCommand {
    const { key, secret } = this.#wish;
    return { op: OP.adopt, ...head, key, secret, task: this.task.id };
  }

  onResult(result: Result): void {
    if (result.status !== STATUS.adopted) {
      this.fail(adoptFailure(this.#wish.key, result));
      return;
    }
    const { token, items, value, endsAt } = result;
    this.#take(granted(this, token, items, value, endsAt === 0 ? NEVER : endsAt));
  }

  override onHeld(told: RecalledHold): void {
    this.#take(stillHeld(told));
  }

  override onEnded(_token: number, reason: EndReason): void {
    this.fail(adoptFailure(this.#wish.key, { status: ERROR_NUMBERS.NOT_HELD, reason }));
  }

  override onRefused(status: ErrorNumber): void {
    this.fail(adoptFailure(this.#wish.key, { status }));
  }

  onSessionLost(): void {
    const why = `the session ended before ${this.mayBeExecuted ? "the answer came" : "it was sent"}`;
    this.fail(unanswered(this, adoptionOf(this.#wish.key), why));
  }

  handOut(hold: Hold): void {
    this.#waiter.resolve(this.#host.lockOf(hold, hold.items));
  }

  fail(reason: unknown): void {
    this.#waiter.reject(reason);
  }

  leave(reason: unknown): void {
    if (this.isSettled) return;
    this.#host.claims.onLeft(this);
    this.fail(reason);
  }

  onDeadline(lastFailure: string): void {
    this.leave(unanswered(this, adoptionOf(this.#wish.key), lastFailure));
  }

  #take(granted: Granted): void {
    if (!this.isSettled) this.#host.claims.onGranted(this, granted);
  }
}

/** A call that brings a hold. */
export type GrantCall = AcquireCall | AdoptCall;

export function isGrantCall(call: Call): call is GrantCall {
  return call instanceof AcquireCall || call instanceof AdoptCall;
}

/** The hold that the table granted to a call. */
function granted(
  { sequence }: Call,
  token: number,
  items: readonly HeldItem[],
  value = "",
  endsAt = NEVER,
): Granted {
  return { sequence, token, items, value, endsAt, isRevoked: false, isContended: false };
}

/** The hold that a recall found. */
function stillHeld(told: RecalledHold): Granted {
  return { ...told, endsAt: told.endsAt === 0 ? NEVER : told.endsAt };
}

/** `slots`: the slots of each semaphore among the items, in order. */
function heldItems(
  items: readonly Item[],
  slots: readonly (readonly number[])[] | undefined,
): HeldItem[] {
  const held: HeldItem[] = [];
  let semaphores = 0;
  for (const item of items) {
    if (item.mode !== "permits") {
      held.push({ key: item.key, mode: item.mode, permits: 0, slots: NO_SLOTS });
      continue;
    }
    const { key, mode, permits } = item;
    held.push({ key, mode, permits, slots: slots?.[semaphores] ?? NO_SLOTS });
    semaphores += 1;
  }
  return held;
}
