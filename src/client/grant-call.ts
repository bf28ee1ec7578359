/**
 * Calls that may bring a hold, or change one, long after they were sent. Whoever leaves such a call
 * has it cancelled, and the table gives back whatever it was granted: exactly once, also where a
 * hold is counted. So its outcome is not acknowledged before the cancel was answered; until then
 * the table remembers what there is to give back.
 */
import { ERROR_NUMBERS } from "../errors.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../protocol/index.js";
import { AwaitedCall, type AwaitedHost, type Caller } from "./awaited-call.js";
import { Call } from "./call.js";

export interface GrantHost extends AwaitedHost {
  submit(call: Call): void;
  /** The outcome of this sequence was read. */
  acknowledge(sequence: number): void;
}

export abstract class GrantCall<T> extends AwaitedCall<T> {
  readonly #host: GrantHost;
  #cancel: CancelCall | undefined;

  constructor(
    host: GrantHost,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    caller: Caller<T>,
  ) {
    super(host, deadlineMs, signal, caller);
    this.#host = host;
  }

  /** Whatever it is granted is given back by a cancel. */
  get isCancelled(): boolean {
    return this.#cancel !== undefined;
  }

  abandon(reason: unknown): void {
    if (this.isSettled) return;
    this.fail(reason);
    this.cancel();
  }

  protected cancel(): void {
    if (this.sequence === 0) return;
    this.#host.submit(new CancelCall(this.#host, this.sequence, this));
  }

  /** That call gives back what this one is granted. */
  onCancel(call: CancelCall): void {
    this.#cancel = call;
  }

  /** Whatever it was granted is given back, or there was nothing. */
  onGivenBack(): void {}

  /** Its outcome was read, and the table may forget it as soon as nobody needs it. */
  onRead(result: Result): void {
    if (this.#cancel === undefined) this.#host.acknowledge(this.sequence);
    else this.#cancel.onTargetRead("token" in result ? result.token : 0);
  }
}

/** Gives up a waiting acquire. Whatever comes of it is told by the acquire's own outcome. */
export class CancelCall extends Call {
  readonly target: number;
  readonly #host: GrantHost;
  readonly #call: GrantCall<never> | undefined;
  #result: Result | undefined;
  /** What the target was granted, 0 for nothing; `undefined` until its outcome was read. */
  #targetToken: number | undefined;

  constructor(host: GrantHost, target: number, call: GrantCall<never> | undefined) {
    super();
    this.#host = host;
    this.target = target;
    this.#call = call;
    call?.onCancel(this);
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged, target } = this;
    return { op: OP.cancel, sequence, mark, acknowledged, target };
  }

  onTargetRead(token: number): void {
    this.#targetToken = token;
    this.#settle();
  }

  onResult(result: Result): void {
    if (result.status === ERROR_NUMBERS.TOO_MANY_IN_FLIGHT) {
      const again = new CancelCall(this.#host, this.target, this.#call);
      again.#targetToken = this.#targetToken;
      this.#host.submit(again);
      return;
    }
    this.#result = result;
    this.#call?.onGivenBack();
    this.#settle();
  }

  onSessionLost(): void {}

  /** Both are known: the table need not remember either. */
  #settle(): void {
    if (this.#result === undefined || this.#targetToken === undefined) return;
    this.#host.acknowledge(this.target);
    // It was lost before it could be given back, and nobody else asks for that.
    const wasLost = this.#result.status === STATUS.notReleased;
    if (wasLost && this.#targetToken !== 0) this.#host.acknowledge(this.#targetToken);
  }
}
