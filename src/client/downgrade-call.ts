/** Exclusive becomes shared: believed at once, and until it is answered a lowering of the hold. */
import { OP, type Result } from "../protocol/index.js";
import { type AwaitedHost, type Caller, CommandCall, type CommandWish } from "./awaited-call.js";
import { nameOf } from "./failures.js";
import type { Hold } from "./hold.js";
import type { Lowering, Lowerings } from "./lowerings.js";

export interface DowngradeHost extends AwaitedHost {
  readonly lowerings: Lowerings;
  /** It was answered, or will never be executed. */
  onLowered(lowering: Lowering): void;
}

export class DowngradeCall extends CommandCall implements Lowering {
  readonly askedAs: number;
  readonly #key: string | undefined;
  readonly #host: DowngradeHost;
  readonly #hold: Hold;

  constructor(
    host: DowngradeHost,
    hold: Hold,
    key: string | undefined,
    deadlineMs: number,
    caller: Caller<Result>,
  ) {
    const wish: CommandWish = {
      command: (head) => ({ op: OP.downgrade, ...head, token: hold.token, key }),
      what: `the downgrade of ${nameOf(hold.items)}`,
      signal: undefined,
    };
    super(host, wish, deadlineMs, caller);
    this.askedAs = host.lowerings.nextNumber();
    this.#key = key;
    this.#host = host;
    this.#hold = hold;
    host.lowerings.begin(this);
  }

  get owner(): number {
    return this.#hold.owner.id;
  }

  concerns(key: string): boolean {
    if (this.#key !== undefined) return this.#key === key;
    return this.#hold.items.some((item) => item.key === key);
  }

  override onResult(result: Result): void {
    this.#end();
    super.onResult(result);
  }

  override giveUp(): boolean {
    this.#end();
    return super.giveUp();
  }

  override fail(reason: unknown): void {
    // One that nobody waits for is not sent for the first time.
    if (this.sequence === 0) this.#end();
    super.fail(reason);
  }

  #end(): void {
    this.#host.onLowered(this);
  }
}
