/**
 * A call that somebody waits for. Two things end separately: what the caller is told (`isSettled`)
 * and what the table has. A caller leaves early by its signal or its deadline; what that means for
 * the table is the subclass's.
 */
import { type ErrorCode, errorCodeOf } from "../errors.js";
import type { Result, SequencedCommand } from "../protocol/index.js";
import { type Abortable, unwatchAbort, watchAbort } from "./abort-watch.js";
import { Call } from "./call.js";
import { commandFailure, unavailable } from "./failures.js";
import type { Raise } from "./lowerings.js";

/** What every one of them needs of its session. */
export interface AwaitedHost {
  /** The caller was told; the call counts no longer as open. */
  onSettled(call: AwaitedCall<never>): void;
}

export interface Caller<T> {
  readonly resolve: (value: T) => void;
  readonly reject: (reason: unknown) => void;
}

export abstract class AwaitedCall<T> extends Call implements Abortable {
  /** When the client itself gives up. */
  readonly deadlineMs: number;
  /** The caller was told how it ended. */
  isSettled = false;
  readonly #host: AwaitedHost;
  readonly #signal: AbortSignal | undefined;
  readonly #caller: Caller<T>;

  constructor(
    host: AwaitedHost,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    caller: Caller<T>,
  ) {
    super();
    this.#host = host;
    this.deadlineMs = deadlineMs;
    this.#signal = signal;
    this.#caller = caller;
    if (signal !== undefined) watchAbort(signal, this);
  }

  /** Tells the caller `reason`, and takes care of what the table may do all the same. */
  abstract abandon(reason: unknown): void;
  /** The client's own deadline passed without an answer. */
  abstract onDeadline(lastFailure: string): void;

  /** `undefined`: nothing that its owner may hold already (`lowerings.ts`). */
  get raise(): Raise | undefined {
    return undefined;
  }

  onAbort(reason: unknown): void {
    this.abandon(reason);
  }

  override get isUnwanted(): boolean {
    return this.isSettled;
  }

  /** Rejects without a word to the table. */
  fail(reason: unknown): void {
    if (this.isSettled) return;
    this.#settle();
    this.#caller.reject(reason);
  }

  protected fulfil(value: T): void {
    if (this.isSettled) return;
    this.#settle();
    this.#caller.resolve(value);
  }

  #settle(): void {
    this.isSettled = true;
    if (this.#signal !== undefined) unwatchAbort(this.#signal, this);
    this.#host.onSettled(this);
  }
}

/** What every command begins with, filled in when it is sent. */
export interface CommandHead {
  readonly sequence: number;
  readonly mark: number;
  readonly acknowledged: readonly number[];
}

export interface CommandWish<C extends SequencedCommand = SequencedCommand> {
  /** Called for each transmission. */
  readonly command: (head: CommandHead) => C;
  /** For messages: "the limit of semaphore "gpu"". */
  readonly what: string;
  /** What refusals mean here, where that is more than they mean anywhere. */
  readonly texts?: Readonly<Partial<Record<ErrorCode, string>>>;
  readonly signal: AbortSignal | undefined;
}

/** A command that has an answer at once, whose effect needs no undoing. */
export class CommandCall extends AwaitedCall<Result> {
  readonly #wish: CommandWish;

  constructor(host: AwaitedHost, wish: CommandWish, deadlineMs: number, caller: Caller<Result>) {
    super(host, deadlineMs, wish.signal, caller);
    this.#wish = wish;
  }

  override get outlivesSession(): boolean {
    return true;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    return this.#wish.command({ sequence, mark, acknowledged });
  }

  onResult(result: Result): void {
    if (errorCodeOf(result.status) === undefined) this.fulfil(result);
    else this.fail(commandFailure(this.#wish.what, result, this.#wish.texts));
  }

  override giveUp(): boolean {
    this.fail(commandFailure(this.#wish.what, { status: this.refusal }));
    return true;
  }

  onSessionLost(): void {
    this.#giveUpAs("the session ended before the answer came");
  }

  abandon(reason: unknown): void {
    this.fail(reason);
  }

  onDeadline(lastFailure: string): void {
    this.#giveUpAs(lastFailure);
  }

  #giveUpAs(why: string): void {
    this.fail(unavailable(this.#wish.what, why, this.copies > 0));
  }
}
