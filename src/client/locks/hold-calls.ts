/**
 * Commands about one hold: they give it back, downgrade it or change its value. The table knows a
 * hold by the number of the command that brought it, and a command here knows the hold only as such
 * a target. The upgrade is in `hold.ts`, because its answer decides what the hold asks for next.
 */
import { type ErrorNumber, HoldfastError } from "../../errors/index.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import { unanswered } from "../calls/unanswered.js";
import { type Awaited, type Deferred, Waiter, type Waiters } from "../calls/waiters.js";
import { commandFailure, type LossReason, lockLost, lossReasonOf, nameOf } from "../failures.js";
import type { HeldItem } from "../options/lock-options.js";
import type { ReleaseResult } from "./lock.js";

/** Informs the table that a hold is no longer wanted. */
export interface Ending extends Call {
  /** The table says that the hold ended before that. */
  onLost(reason: LossReason): void;
  /** Nobody waits for the table any more. */
  onGivenUp(reason: LossReason): void;
}

/** A caller that waits for the end of a release. */
export interface ReleaseWaiter {
  onReleased(result: ReleaseResult): void;
}

/** The call to be ended, or the hold that it was granted. */
export interface EndTarget {
  /** 0: its number was taken back, and there is nothing to end. */
  readonly sequence: number;
  onPassed?(order: number): void;
  /** The table has nothing of it any more. */
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
    // Written out: a spread would cost more than all the rest of a release.
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

  onGivenUp(reason: LossReason): void {
    this.onLost(reason);
  }

  override onPassing(): void {
    this.target.onPassed?.(this.order);
  }

  onSessionLost(): void {
    // If it may have arrived, the release and the end of the session are equally possible.
    this.onLost(this.mayBeExecuted ? "unknown" : "expired");
  }

  #tell(result: ReleaseResult): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    this.target.onGivenBack?.();
    waiter?.onReleased(result);
  }
}

/** The hold that a command is about, as far as the command and its errors name it. */
export interface HoldTarget {
  readonly sequence: number;
  readonly token: number;
  readonly items: readonly HeldItem[];
  /** A command about it, called in this place, is sent before commands that were called earlier. */
  onPassed(order: number): void;
}

/** Exclusive becomes shared. It also ends a waiting upgrade of the key. */
export class DowngradeCall extends Call implements Awaited {
  readonly isStrong = false;
  readonly target: HoldTarget;
  /** `undefined`: all of its keys. */
  readonly key: string | undefined;
  #waiter: Waiter<void> | undefined;

  constructor(target: HoldTarget, key: string | undefined) {
    super();
    this.target = target;
    this.key = key;
  }

  await(waiters: Waiters, deadlineMs: number, caller: Deferred<void>): void {
    this.#waiter = new Waiter(waiters, this, deadlineMs, undefined, caller);
  }

  command(head: CommandHead): SequencedCommand {
    return { op: OP.downgrade, ...head, target: this.target.sequence, key: this.key };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.ok) this.#waiter?.resolve();
    else this.leave(commandFailure(this.#what, result));
  }

  override onPassing(): void {
    this.target.onPassed(this.order);
  }

  onSessionLost(reason: LossReason): void {
    this.leave(lockLost(this.target.items, this.target.token, reason));
  }

  leave(reason: unknown): void {
    this.#waiter?.reject(reason);
  }

  onDeadline(why: string): void {
    this.leave(unanswered(this, this.#what, why));
  }

  get #what(): string {
    return `the downgrade of ${nameOf(this.target.items)}`;
  }
}

/** A hold whose value is being changed. */
export interface UpdateTarget extends HoldTarget {
  value: string;
  addUpdate(update: UpdateCall): void;
  removeUpdate(update: UpdateCall): void;
}

/**
 * Changes the value that others see. It does not outlive the session: in the next one its number
 * belongs to another hold.
 */
export class UpdateCall extends Call implements Awaited {
  readonly isStrong = true;
  readonly #target: UpdateTarget;
  readonly #value: string;
  readonly #waiter: Waiter<void>;

  constructor(
    waiters: Waiters,
    target: UpdateTarget,
    wish: { readonly value: string; readonly signal: AbortSignal | undefined },
    deadlineMs: number,
    caller: Deferred<void>,
  ) {
    super();
    this.#target = target;
    this.#value = wish.value;
    this.#waiter = new Waiter(waiters, this, deadlineMs, wish.signal, caller);
    target.addUpdate(this);
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  command(head: CommandHead): SequencedCommand {
    return { op: OP.update, ...head, target: this.#target.sequence, value: this.#value };
  }

  onResult(result: Result): void {
    if (result.status !== STATUS.ok) {
      this.leave(commandFailure(this.#what, result));
      return;
    }
    this.#target.removeUpdate(this);
    this.#target.value = this.#value;
    this.#waiter.resolve();
  }

  override onRefused(status: ErrorNumber): void {
    this.leave(commandFailure(this.#what, { status }));
  }

  onSessionLost(): void {
    this.onDeadline("the session ended before the answer came");
  }

  leave(reason: unknown): void {
    this.#target.removeUpdate(this);
    this.#waiter.reject(reason);
  }

  onDeadline(why: string): void {
    this.leave(unanswered(this, this.#what, why));
  }

  /** A later call on the hold is sent first. */
  onPassed(order: number): void {
    if (this.sequence !== 0 || this.order > order) return;
    const text = `${this.#what}: not changed, since a later call on the lock was sent first`;
    this.leave(new HoldfastError("CANCELLED", text));
  }

  get #what(): string {
    return `the value of ${nameOf(this.#target.items)}`;
  }
}
