/**
 * One request for locks, from `acquire` to grant, refusal or abort, and the claim of a ticket,
 * which brings a hold likewise. A caller that left early leaves a call behind that gives back
 * whatever it is still granted, so that nothing leaks.
 */
import { assert } from "../assert.js";
import { ERROR_NUMBERS } from "../errors.js";
import {
  type AcquireOptions,
  type Item,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../protocol/index.js";
import type { Caller } from "./awaited-call.js";
import {
  acquireFailure,
  claimFailure,
  lockTimeout,
  nameOf,
  sessionExpired,
  unavailable,
} from "./failures.js";
import { GrantCall, type GrantHost } from "./grant-call.js";
import type { HeldLock } from "./held-lock.js";
import type { Granted, GrantTaker, MakeLock } from "./hold.js";
import type { HeldItem, LossReason, Ticket } from "./lock-types.js";
import type { Raise } from "./lowerings.js";
import type { Owner } from "./owner.js";

/** What an acquire needs of its session. */
export interface AcquireHost extends GrantHost {
  /** The table granted `granted`: hand it out, or keep it until that is certain. */
  onGranted(taker: GrantTaker, granted: Granted): void;
  /** Gives one grant of `token` back. */
  releaseToken(token: number): void;
  /** A refusal with what is known of the circle behind it. */
  traced(refusal: Result, askedAt: string | undefined): Result;
}

export interface AcquireWish {
  readonly items: readonly Item[];
  readonly owner: Owner;
  /** As on the wire: `WAIT_FOREVER`, 0 or a number of milliseconds. */
  readonly waitMs: number;
  /** Resolves to `undefined` instead of rejecting with `LOCK_HELD`. */
  readonly isTry: boolean;
  readonly signal: AbortSignal | undefined;
  /** `undefined`: the defaults. */
  readonly options: AcquireOptions | undefined;
  /** What the caller is given for its hold; `undefined`: a plain lock. */
  readonly makeLock?: MakeLock;
}

const NO_SLOTS: readonly number[] = Object.freeze([]);

/** Time for the table's own answer before the client enforces a deadline by itself. */
const DEADLINE_GRACE_MS = 500;

/** When the client gives up by itself what may wait in the table for `waitMs`. */
export function waitDeadlineMs(waitMs: number, nowMs: number, tryTimeoutMs: number): number {
  if (waitMs === WAIT_FOREVER) return Number.POSITIVE_INFINITY;
  return waitMs === 0 ? nowMs + tryTimeoutMs : nowMs + waitMs + DEADLINE_GRACE_MS;
}

/** What is left of a wait that began at `startedMs`, as it is told to the table. */
export function remainingWaitMs(waitMs: number, startedMs: number, nowMs: number): number {
  if (waitMs === WAIT_FOREVER || waitMs === 0) return waitMs;
  const remainingMs = Math.ceil(waitMs - (nowMs - startedMs));
  return Math.min(Math.max(remainingMs, 1), WAIT_MS_MAX);
}

/** A call that is granted a hold. */
abstract class HoldCall<T> extends GrantCall<T> implements GrantTaker {
  /** Stack of the call, where stacks are captured. */
  askedAt: string | undefined = undefined;
  readonly #host: AcquireHost;
  /** Granted but not handed out, since it was not certain; else 0. */
  #asideToken = 0;

  constructor(
    host: AcquireHost,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    caller: Caller<T>,
  ) {
    super(host, deadlineMs, signal, caller);
    this.#host = host;
  }

  abstract readonly owner: Owner;
  abstract handOut(lock: HeldLock): void;

  get makeLock(): MakeLock | undefined {
    return undefined;
  }

  override get outlivesSession(): boolean {
    return true;
  }

  putAside(token: number): void {
    this.#asideToken = token;
  }

  get count(): number {
    return 1;
  }

  onStillHeld(): void {}

  override onSessionLost(reason: LossReason): void {
    this.#asideToken = 0;
    this.onLost(reason);
  }

  override abandon(reason: unknown): void {
    if (this.isSettled || this.#asideToken === 0) {
      super.abandon(reason);
      return;
    }
    this.fail(reason);
    this.#host.releaseToken(this.#asideToken);
    this.#asideToken = 0;
  }

  protected abstract onLost(reason: LossReason): void;

  protected take(granted: Granted): void {
    if (!this.isSettled) this.#host.onGranted(this, granted);
    else if (!this.isCancelled) this.#host.releaseToken(granted.token);
  }
}

export class AcquireCall extends HoldCall<HeldLock | undefined> {
  readonly wish: AcquireWish;
  readonly #host: AcquireHost;
  readonly #startedMs: number;

  constructor(
    host: AcquireHost,
    wish: AcquireWish,
    nowMs: number,
    tryTimeoutMs: number,
    caller: Caller<HeldLock | undefined>,
  ) {
    super(host, waitDeadlineMs(wish.waitMs, nowMs, tryTimeoutMs), wish.signal, caller);
    this.wish = wish;
    this.#host = host;
    this.#startedMs = nowMs;
  }

  get owner(): Owner {
    return this.wish.owner;
  }

  /** What is held exclusively may be counted up. */
  override get raise(): Raise | undefined {
    const { items, owner, options } = this.wish;
    if (options?.reentrant !== true) return undefined;
    const keys = items.filter(({ mode }) => mode === "exclusive").map(({ key }) => key);
    return keys.length === 0 ? undefined : { owner: owner.id, keys };
  }

  command(mark: number, nowMs: number): SequencedCommand {
    const { items, owner, options, waitMs } = this.wish;
    return {
      op: OP.acquire,
      sequence: this.sequence,
      mark,
      acknowledged: this.acknowledged,
      owner: owner.id,
      items,
      waitMs: remainingWaitMs(waitMs, this.#startedMs, nowMs),
      options,
    };
  }

  onResult(result: Result, stamp: number): void {
    if (result.status === STATUS.granted) {
      this.take(this.#granted(result, stamp));
      return;
    }
    const { status } = result;
    assert(status !== STATUS.queued, () => `acquire ${this.sequence} ended as queued`);
    const { items, waitMs, isTry } = this.wish;
    if (isTry && status === ERROR_NUMBERS.LOCK_HELD) this.fulfil(undefined);
    else if (status === ERROR_NUMBERS.LOCK_TIMEOUT)
      this.fail(lockTimeout(items, waitMs, "service"));
    else this.fail(acquireFailure(items, this.#host.traced(result, this.askedAt)));
  }

  override get makeLock(): MakeLock | undefined {
    return this.wish.makeLock;
  }

  handOut(lock: HeldLock): void {
    this.fulfil(lock);
  }

  override giveUp(): boolean {
    this.fail(acquireFailure(this.wish.items, { status: this.refusal }));
    return true;
  }

  onDeadline(lastFailure: string): void {
    const { items, waitMs } = this.wish;
    if (waitMs !== 0) this.abandon(lockTimeout(items, waitMs, "client"));
    else this.abandon(unavailable(nameOf(items), lastFailure));
  }

  protected onLost(reason: LossReason): void {
    this.fail(sessionExpired(this.wish.items, reason));
  }

  #granted(result: Extract<Result, { status: typeof STATUS.granted }>, stamp: number): Granted {
    const { items, options } = this.wish;
    const maxHoldMs = options?.maxHoldMs ?? 0;
    return {
      token: result.token,
      // The cap of a hold that was counted up began with its first grant.
      isCertain: stamp > 0 && (result.count ?? 1) === 1,
      endsAt: maxHoldMs === 0 ? Number.POSITIVE_INFINITY : stamp + maxHoldMs,
      value: options?.value ?? "",
      items: heldItems(items, result.slots),
    };
  }
}

/** `slots`: of each semaphore among the items, in their order. */
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

export interface ClaimWish {
  readonly ticket: Ticket;
  readonly owner: Owner;
  readonly signal: AbortSignal | undefined;
}

/** Turns a ticket into a hold of this session. */
export class ClaimCall extends HoldCall<HeldLock> {
  readonly wish: ClaimWish;

  constructor(host: AcquireHost, wish: ClaimWish, deadlineMs: number, caller: Caller<HeldLock>) {
    super(host, deadlineMs, wish.signal, caller);
    this.wish = wish;
  }

  get owner(): Owner {
    return this.wish.owner;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    const { ticket, owner } = this.wish;
    const { token, secret } = ticket;
    return { op: OP.claim, sequence, mark, acknowledged, token, secret, owner: owner.id };
  }

  onResult(result: Result, stamp: number): void {
    if (result.status !== STATUS.claimed) {
      this.fail(claimFailure(result));
      return;
    }
    const { token, items, value, endsAt } = result;
    this.take({
      token,
      isCertain: stamp > 0,
      endsAt: endsAt === 0 ? Number.POSITIVE_INFINITY : endsAt,
      value,
      items,
    });
  }

  handOut(lock: HeldLock): void {
    this.fulfil(lock);
  }

  override giveUp(): boolean {
    this.fail(claimFailure({ status: this.refusal }));
    return true;
  }

  onDeadline(lastFailure: string): void {
    this.abandon(unavailable("the ticket", lastFailure, this.copies > 0));
  }

  protected onLost(): void {
    const why = "the session ended before the answer came";
    this.fail(unavailable("the ticket", why, this.copies > 0));
  }
}
