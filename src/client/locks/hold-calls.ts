/** What is asked of the table about one hold, which is known to it by the number that it was given with. */
import { ERROR_NUMBERS, type ErrorNumber, HoldfastError } from "../../errors.js";
import {
  OP,
  type Result,
  type SequencedCommand,
  STATUS,
  WAIT_FOREVER,
} from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import { CommandCall } from "../calls/command-call.js";
import { remainingWaitMs } from "../calls/wait-times.js";
import { type Awaited, type Caller, Waiter, type Waiters } from "../calls/waiters.js";
import {
  commandFailure,
  type LossReason,
  lockLost,
  lossReasonOf,
  nameOf,
  unavailable,
} from "../failures.js";
import type { Ticket } from "../options/lock-options.js";
import type { Hold, Join } from "./hold.js";
import type { ReleaseResult } from "./lock.js";

/** Tells the table that a hold is not wanted any more. */
export interface Ending extends Call {
  /** It ended before that, as far as is known. */
  onLost(reason: LossReason): void;
}

/** Who waits for the end of a release. */
export interface ReleaseWaiter {
  onReleased(result: ReleaseResult): void;
}

/** The call that is to be ended, or what it was granted. */
export interface EndTarget {
  /** 0: its number was taken back, and there is nothing to end. */
  readonly sequence: number;
  onPassed?(order: number): void;
  /** Nothing of it is left in the table. */
  onGivenBack?(): void;
}

/** Ends the hold or the wait of a command that was sent, whichever the table has. */
export class EndCall extends Call implements Ending {
  readonly isStrong = false;
  readonly target: EndTarget;
  #waiter: ReleaseWaiter | undefined;

  constructor(target: EndTarget, waiter?: ReleaseWaiter) {
    super();
    this.target = target;
    this.#waiter = waiter;
  }

  override get isUnwanted(): boolean {
    return this.target.sequence === 0;
  }

  command({ sequence, mark, acknowledged }: CommandHead): SequencedCommand {
    // Written out: to spread it would cost more than all the rest of a release.
    return { op: OP.end, sequence, mark, acknowledged, target: this.target.sequence };
  }

  onResult(result: Result): void {
    const isReleased = result.status === STATUS.released;
    const reason = "reason" in result ? lossReasonOf(result.reason) : "unknown";
    this.#tell(isReleased ? { released: true } : { released: false, reason });
  }

  onLost(reason: LossReason): void {
    this.#tell({ released: false, reason });
  }

  override onPassing(): void {
    this.target.onPassed?.(this.order);
  }

  onSessionLost(): void {
    // If it may have arrived, either this release or the end of the session may have come first.
    this.onLost(this.mayBeExecuted ? "unknown" : "expired");
  }

  #tell(result: ReleaseResult): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.target.onGivenBack?.();
    waiter?.onReleased(result);
  }
}

/** Makes a ticket of a hold that nobody has here any more. */
export class DetachCall extends Call implements Ending, Awaited {
  readonly isStrong = false;
  readonly target: Hold;
  readonly #secret: string;
  readonly #ticketTtlMs: number;
  readonly #waiter: Waiter<Ticket>;

  constructor(
    waiters: Waiters,
    hold: Hold,
    wish: { readonly secret: string; readonly ticketTtlMs: number },
    caller: Caller<Ticket>,
  ) {
    super();
    this.target = hold;
    this.#secret = wish.secret;
    this.#ticketTtlMs = wish.ticketTtlMs;
    this.#waiter = new Waiter(waiters, this, Number.POSITIVE_INFINITY, undefined, caller);
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  command(head: CommandHead): SequencedCommand {
    const secret = this.#secret;
    const ticketTtlMs = this.#ticketTtlMs;
    return { op: OP.detach, ...head, target: this.target.sequence, secret, ticketTtlMs };
  }

  onResult(result: Result): void {
    if (result.status !== STATUS.ok) {
      this.onLost("unknown");
      return;
    }
    this.target.onGivenBack();
    this.#waiter.resolve({ token: this.target.token, secret: this.#secret });
  }

  onLost(reason: LossReason): void {
    this.leave(lockLost(this.target.items, this.target.token, reason));
  }

  override onPassing(): void {
    this.target.onPassed(this.order);
  }

  onSessionLost(): void {
    this.onLost("expired");
  }

  leave(reason: unknown): void {
    this.target.onGivenBack();
    this.#waiter.reject(reason);
  }

  onDeadline(): void {}
}

/** Shared becomes exclusive: on behalf of all who ask for that key when it is sent. */
export class UpgradeCall extends Call {
  readonly isStrong = true;
  readonly key: string;
  readonly #hold: Hold;
  /** Who asked for it when it was sent. */
  #served: readonly Join[] = [];

  constructor(hold: Hold, key: string) {
    super();
    this.#hold = hold;
    this.key = key;
  }

  get hold(): Hold {
    return this.#hold;
  }

  get served(): readonly Join[] {
    return this.#served;
  }

  override get isUnwanted(): boolean {
    return this.#hold.upgrade !== this;
  }

  override get mayWait(): boolean {
    return true;
  }

  command(head: CommandHead, nowMs: number): SequencedCommand {
    const { key } = this;
    const joins = this.#hold.joinsOf(key);
    this.#served = joins;
    let longestMs = 0;
    for (const { waitMs, startedMs } of joins) {
      const ms = remainingWaitMs(waitMs, startedMs, nowMs);
      longestMs =
        ms === WAIT_FOREVER || longestMs === WAIT_FOREVER ? WAIT_FOREVER : Math.max(longestMs, ms);
    }
    const detect = joins.some(({ detects }) => detects);
    return { op: OP.upgrade, ...head, target: this.#hold.sequence, key, waitMs: longestMs, detect };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.upgraded) this.#hold.onUpgraded(this, result.token);
    else this.#hold.onUpgradeRefused(this, result);
  }

  /** Whom that answer concerns; for the others it is asked for again. */
  refusedBy(status: number): readonly Join[] {
    const joins = this.#hold.joinsOf(this.key);
    switch (status) {
      case ERROR_NUMBERS.LOCK_HELD:
      case ERROR_NUMBERS.LOCK_TIMEOUT:
        return joins.filter((join) => this.#served.includes(join));
      case ERROR_NUMBERS.DEADLOCK:
        return joins.filter(({ detects }) => detects);
      default:
        return joins;
    }
  }

  override onRefused(status: ErrorNumber): void {
    this.#hold.onUpgradeRefused(this, { status });
  }

  onSessionLost(): void {}
}

export type DowngradeTarget = Pick<Hold, "sequence" | "token" | "items" | "onPassed">;

/** Exclusive becomes shared. It ends a waiting upgrade of the key, too. */
export class DowngradeCall extends Call implements Awaited {
  readonly isStrong = false;
  readonly hold: DowngradeTarget;
  /** `undefined`: all of its keys. */
  readonly key: string | undefined;
  #waiter: Waiter<void> | undefined;

  constructor(hold: DowngradeTarget, key: string | undefined) {
    super();
    this.hold = hold;
    this.key = key;
  }

  await(waiters: Waiters, deadlineMs: number, caller: Caller<void>): void {
    this.#waiter = new Waiter(waiters, this, deadlineMs, undefined, caller);
  }

  command(head: CommandHead): SequencedCommand {
    return { op: OP.downgrade, ...head, target: this.hold.sequence, key: this.key };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.ok) this.#waiter?.resolve();
    else this.leave(commandFailure(this.#what, result));
  }

  override onPassing(): void {
    this.hold.onPassed(this.order);
  }

  onSessionLost(reason: LossReason): void {
    this.leave(lockLost(this.hold.items, this.hold.token, reason));
  }

  leave(reason: unknown): void {
    this.#waiter?.reject(reason);
  }

  onDeadline(why: string): void {
    this.leave(unavailable(this.#what, why, this.mayBeExecuted));
  }

  get #what(): string {
    return `the downgrade of ${nameOf(this.hold.items)}`;
  }
}

/** Changes the value that others see. */
export class UpdateCall extends CommandCall {
  readonly #hold: Hold;
  readonly #value: string;

  constructor(
    waiters: Waiters,
    hold: Hold,
    wish: { readonly value: string; readonly signal: AbortSignal | undefined },
    deadlineMs: number,
    caller: Caller<Result>,
  ) {
    const { value, signal } = wish;
    const command = { op: OP.update, target: hold.sequence, value } as const;
    const what = `the value of ${nameOf(hold.items)}`;
    super(waiters, { command, what, signal }, deadlineMs, caller);
    this.#hold = hold;
    this.#value = value;
    hold.addUpdate(this);
  }

  /** It would mean the next session's hold of that number. */
  override get outlivesSession(): boolean {
    return false;
  }

  override onResult(result: Result): void {
    this.#hold.removeUpdate(this);
    if (result.status === STATUS.ok) this.#hold.value = this.#value;
    super.onResult(result);
  }

  override leave(reason: unknown): void {
    this.#hold.removeUpdate(this);
    super.leave(reason);
  }

  /** A later call on the hold goes first. */
  onPassed(order: number): void {
    if (this.sequence !== 0 || this.order > order) return;
    const what = `the value of ${nameOf(this.#hold.items)}`;
    const text = `${what}: not changed, since a later call on the lock went first`;
    this.leave(new HoldfastError("CANCELLED", text));
  }
}
