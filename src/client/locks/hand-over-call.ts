/**
 * Gives a hold to an owner: a bearer, from whom another process adopts it, or one that is named. Must
 * never leave a handle valid once the cluster may have executed the command (semantics.md, 8.8).
 */
import { ERROR_NUMBERS, type ErrorNumber } from "../../errors/index.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../../protocol/index.js";
import { Call, type CommandHead } from "../calls/call.js";
import { unanswered } from "../calls/unanswered.js";
import { type Awaited, type Deferred, Waiter, type Waiters } from "../calls/waiters.js";
import { type LossReason, leaseFailure, lockLost, nameOf } from "../failures.js";
import type { HandOverWish } from "../options/hand-over-options.js";
import type { Ending, HoldTarget } from "./hold-calls.js";

export interface HandOverTarget extends HoldTarget {
  onGivenBack(): void;
  /** It is a hold as before, and has no handle any more. */
  onNotHandedOver(): void;
}

/**
 * The hold keeps its handles until a connection has the session: then the call begins. From then on its
 * caller gets an answer that is true: whether the cluster confirmed it.
 */
export class HandOverCall<Target extends HandOverTarget = HandOverTarget>
  extends Call
  implements Ending, Awaited
{
  readonly isStrong = true;
  readonly target: Target;
  readonly #wish: HandOverWish;
  readonly #waiter: Waiter<boolean>;
  #hasBegun = false;

  constructor(
    waiters: Waiters,
    target: Target,
    wish: HandOverWish,
    deadlineMs: number,
    caller: Deferred<boolean>,
  ) {
    super();
    this.target = target;
    this.#wish = wish;
    this.#waiter = new Waiter(waiters, this, deadlineMs, undefined, caller);
  }

  /** It leaves its client with this call, unless its caller has left. */
  begins(): boolean {
    this.#hasBegun = !this.#waiter.isSettled;
    return this.#hasBegun;
  }

  override get givesBack(): boolean {
    return this.#hasBegun;
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  command(head: CommandHead): SequencedCommand {
    return { op: OP.handOver, ...head, target: this.target.sequence, ...this.#wish };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.leased) {
      this.target.onGivenBack();
      this.#waiter.resolve(true);
    } else if (result.status === ERROR_NUMBERS.NOT_HELD) {
      this.onLost("unknown");
    } else this.#refuse(result);
  }

  override onRefused(status: ErrorNumber): void {
    this.#refuse({ status });
  }

  /** What cannot be handed over is released: its user has given it up. */
  #refuse(result: Result): void {
    this.target.onNotHandedOver();
    const keys = this.target.items.map(({ key }) => ({ key }));
    this.#waiter.reject(leaseFailure(keys, this.#wish, result, this.#what));
  }

  /** The table had ended it before it came to this call. */
  onLost(reason: LossReason): void {
    this.#fail(this.#lost(reason));
  }

  onGivenUp(reason: LossReason): void {
    this.leave(this.#lost(reason));
  }

  onSessionLost(reason: LossReason): void {
    this.leave(this.#lost(reason));
  }

  leave(reason: unknown): void {
    if (this.mayBeExecuted) {
      this.target.onGivenBack();
      this.#waiter.resolve(false);
    } else this.#fail(reason);
  }

  onDeadline(why: string): void {
    if (!this.#hasBegun) this.#waiter.reject(unanswered(this, this.#what, why));
  }

  #fail(reason: unknown): void {
    if (this.#hasBegun) this.target.onGivenBack();
    this.#waiter.reject(reason);
  }

  #lost(reason: LossReason): Error {
    return lockLost(this.target.items, this.target.token, reason);
  }

  get #what(): string {
    return `the hand-over of ${nameOf(this.target.items)}`;
  }
}
