/** A command that is answered at once and whose effect need not be undone. */
import { type ErrorCode, type ErrorNumber, errorCodeOf } from "../../errors/index.js";
import { isStrong, type Result, type SequencedCommand } from "../../protocol/index.js";
import { commandFailure } from "../failures.js";
import { Call, type CommandHead } from "./call.js";
import { unanswered } from "./unanswered.js";
import { type Awaited, type Deferred, Waiter, type Waiters } from "./waiters.js";

export type WithoutHead<C> = C extends unknown ? Omit<C, keyof CommandHead> : never;

export interface CommandWish<C extends SequencedCommand = SequencedCommand> {
  /** The command without its head. */
  readonly command: WithoutHead<C>;
  /** For messages: "the limit of semaphore "gpu"". */
  readonly what: string;
  /** What refusals mean for this command, if that differs from the common text. */
  readonly texts?: Readonly<Partial<Record<ErrorCode, string>>>;
  readonly signal: AbortSignal | undefined;
}

export class CommandCall extends Call implements Awaited {
  readonly isStrong: boolean;
  readonly #wish: CommandWish;
  readonly #waiter: Waiter<Result>;

  constructor(waiters: Waiters, wish: CommandWish, deadlineMs: number, caller: Deferred<Result>) {
    super();
    this.isStrong = isStrong(wish.command);
    this.#wish = wish;
    this.#waiter = new Waiter(waiters, this, deadlineMs, wish.signal, caller);
  }

  override get isUnwanted(): boolean {
    return this.#waiter.isSettled;
  }

  override get outlivesSession(): boolean {
    return true;
  }

  command(head: CommandHead): SequencedCommand {
    return { ...this.#wish.command, ...head } as SequencedCommand;
  }

  onResult(result: Result): void {
    if (errorCodeOf(result.status) === undefined) this.#waiter.resolve(result);
    else this.leave(commandFailure(this.#wish.what, result, this.#wish.texts));
  }

  override onRefused(status: ErrorNumber): void {
    this.leave(commandFailure(this.#wish.what, { status }, this.#wish.texts));
  }

  onSessionLost(): void {
    this.onDeadline("the session ended before the answer came");
  }

  leave(reason: unknown): void {
    this.#waiter.reject(reason);
  }

  onDeadline(why: string): void {
    this.leave(unanswered(this, this.#wish.what, why));
  }
}
