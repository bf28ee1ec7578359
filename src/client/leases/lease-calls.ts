/**
 * The commands about leases: take, extend, give back. A lease belongs to no session, so a call only
 * has to find out what the table decided, and when it was asked. If a caller leaves a take that was
 * sent, the take is given back by its number, so that a repeat that got the lease meanwhile keeps it.
 */
import {
  assert,
  ERROR_NUMBERS,
  type ErrorNumber,
  errorCodeOf,
  type HoldfastError,
} from "../../errors/index.js";
import {
  type ActCommand,
  type ExtendCommand,
  type GiveBackCommand,
  isStrong,
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
  type TakeCommand,
} from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import type { WithoutHead } from "../calls/command-call.js";
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
  givenBackFailure,
  type LossReason,
  leaseFailure,
  lockTimeout,
  nameOf,
  takeExpired,
  unavailable,
} from "../failures.js";

/** What the table decided, and what that proves about time. */
export interface Decided {
  readonly result: Result;
  /** The revision of the entry that queued or executed the command, or of a later one. */
  readonly stamp: number;
  /** Lease time before the command was sent; 0 is the beginning of the call. */
  readonly sentAfterMs: number;
  /** The sequence of the command, in its session. */
  readonly sequence: number;
}

/** What calls on leases need of their client. */
export interface LeaseCallHost {
  readonly waiters: Waiters;
  submit(call: Call): void;
}

/** When a call begins, and how long it may look for the cluster. */
export interface CallTimes {
  readonly nowMs: number;
  readonly tryTimeoutMs: number;
}

/** A take, without its head. */
export type TakeTerms = WithoutHead<TakeCommand>;

export class TakeCall extends Call implements Awaited {
  readonly isStrong = true;
  readonly wish: TakeTerms;
  readonly #host: LeaseCallHost;
  readonly #startedMs: number;
  readonly #waiter: Waiter<Decided>;
  /** The stamp at which it began to wait in the table. */
  #queuedAt: number | undefined;

  constructor(
    host: LeaseCallHost,
    wish: TakeTerms,
    signal: AbortSignal | undefined,
    { nowMs, tryTimeoutMs }: CallTimes,
    caller: Deferred<Decided>,
  ) {
    super();
    this.#host = host;
    this.wish = wish;
    this.#startedMs = nowMs;
    const deadlineMs = waitDeadlineMs(wish.waitMs, nowMs, tryTimeoutMs);
    this.#waiter = new Waiter(host.waiters, this, deadlineMs, signal, caller);
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  override get outlivesSession(): boolean {
    return true;
  }

  override get mayWait(): boolean {
    return true;
  }

  command({ sequence, mark, acknowledged }: CommandHead, nowMs: number): SequencedCommand {
    const { owner, request, name, ttlMs, isSplit, items, options } = this.wish;
    const waitMs = remainingWaitMs(this.wish.waitMs, this.#startedMs, nowMs);
    // Written out, as in an acquire.
    return {
      op: OP.take,
      sequence,
      mark,
      acknowledged,
      owner,
      request,
      name,
      ttlMs,
      isSplit,
      items,
      waitMs,
      options,
    };
  }

  override onQueued(stamp: number): void {
    this.#queuedAt ??= stamp;
  }

  onResult(result: Result, stamp: number): void {
    assert(result.status !== STATUS.queued, () => `take ${this.sequence} ended as queued`);
    const { items, waitMs } = this.wish;
    if (result.status === STATUS.leased) {
      const sentAfterMs = this.sentMs - this.#startedMs;
      const { sequence } = this;
      this.#waiter.resolve({ result, stamp: this.#queuedAt ?? stamp, sentAfterMs, sequence });
    } else if (result.status === ERROR_NUMBERS.LOCK_TIMEOUT) {
      this.#waiter.reject(lockTimeout(items, waitMs, "service"));
    } else if (result.status === ERROR_NUMBERS.NOT_HELD) {
      this.#waiter.reject(givenBackFailure(items));
    } else this.#waiter.reject(leaseFailure(items, this.wish, result));
  }

  override onRefused(status: ErrorNumber): void {
    this.#waiter.reject(leaseFailure(this.wish.items, this.wish, { status }));
  }

  /** A recall found nothing, though it has not ended as far as this client knows. */
  override onForgotten(): void {
    const why = "the cluster does not know what became of it";
    this.#waiter.reject(unavailable(nameOf(this.wish.items), why, true));
  }

  /** A wait ends with its session, but a lease that was granted before that stays. */
  onSessionLost(reason: LossReason): void {
    const { items } = this.wish;
    if (this.#queuedAt !== undefined) {
      this.#waiter.reject(takeExpired(items, reason, this.mayBeExecuted));
    } else {
      const why = "the session ended before the answer came";
      this.#waiter.reject(unanswered(this, nameOf(items), why));
    }
  }

  leave(reason: unknown): void {
    if (this.#waiter.isSettled) return;
    if (this.sequence !== 0) this.#host.submit(new GiveBackTakenCall(this));
    this.#waiter.reject(reason);
  }

  onDeadline(lastFailure: string): void {
    const { items, waitMs } = this.wish;
    this.leave(unansweredWait(this, items, waitMs, lastFailure));
  }
}

/** Ends what a take got, or its wait, unless a later take has named it. */
class GiveBackTakenCall extends Call {
  readonly isStrong = false;
  readonly #take: TakeCall;

  constructor(take: TakeCall) {
    super();
    this.#take = take;
  }

  /** The number of the take was taken back: it is not sent again. */
  override get isUnwanted(): boolean {
    return this.#take.sequence === 0;
  }

  command(head: CommandHead): SequencedCommand {
    const { owner, items } = this.#take.wish;
    const keys = items.map(({ key }) => key);
    return { op: OP.giveBack, ...head, owner, keys, taken: this.#take.sequence };
  }

  onResult(): void {}

  onSessionLost(): void {}
}

/** An extension, the end of what an owner has, or an act. */
export type LeaseWish =
  | WithoutHead<ExtendCommand>
  | WithoutHead<GiveBackCommand>
  | WithoutHead<ActCommand>;

/** A command on leases that is answered at once. */
export class LeaseCall extends Call implements Awaited {
  readonly isStrong: boolean;
  readonly #wish: LeaseWish;
  readonly #startedMs: number;
  readonly #waiter: Waiter<Decided>;

  constructor(
    { waiters }: LeaseCallHost,
    wish: LeaseWish,
    signal: AbortSignal | undefined,
    { nowMs, tryTimeoutMs }: CallTimes,
    caller: Deferred<Decided>,
  ) {
    super();
    this.isStrong = isStrong(wish);
    this.#wish = wish;
    this.#startedMs = nowMs;
    this.#waiter = new Waiter(waiters, this, nowMs + tryTimeoutMs, signal, caller);
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  /** The number of a take means another one in another session. */
  override get outlivesSession(): boolean {
    return this.#wish.op !== OP.giveBack || this.#wish.taken === 0;
  }

  command(head: CommandHead): SequencedCommand {
    return { ...this.#wish, ...head };
  }

  onResult(result: Result, stamp: number): void {
    const sentAfterMs = this.sentMs - this.#startedMs;
    if (errorCodeOf(result.status) === undefined) {
      this.#waiter.resolve({ result, stamp, sentAfterMs, sequence: this.sequence });
    } else this.leave(this.#failure(result));
  }

  override onRefused(status: ErrorNumber): void {
    this.leave(this.#failure({ status }));
  }

  onSessionLost(): void {
    this.onDeadline("the session ended before the answer came");
  }

  leave(reason: unknown): void {
    this.#waiter.reject(reason);
  }

  onDeadline(why: string): void {
    this.leave(unanswered(this, nameOf(this.#items), why));
  }

  #failure(result: Result): HoldfastError {
    const asked = this.#wish.op === OP.extend ? { ttlMs: this.#wish.ttlMs } : {};
    return leaseFailure(this.#items, asked, result);
  }

  get #items(): readonly { readonly key: string }[] {
    const wish = this.#wish;
    return wish.op === OP.act ? wish.steps : wish.keys.map((key) => ({ key }));
  }
}
