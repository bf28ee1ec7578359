/**
 * Shared becomes exclusive. Until the grant was read the hold is what it was; from then on it has
 * another token. One that is given up leaves the hold shared, also when it was granted meanwhile.
 */
import { ERROR_NUMBERS } from "../errors.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../protocol/index.js";
import { remainingWaitMs, waitDeadlineMs } from "./acquire-call.js";
import type { Caller } from "./awaited-call.js";
import type { DowngradeHost } from "./downgrade-call.js";
import { lockTimeout, unavailable, upgradeFailure } from "./failures.js";
import { type CancelCall, GrantCall, type GrantHost } from "./grant-call.js";
import type { Hold } from "./hold.js";
import type { Lowering } from "./lowerings.js";

export interface UpgradeWish {
  readonly hold: Hold;
  readonly key: string;
  readonly waitMs: number;
  readonly detect: boolean;
  readonly signal: AbortSignal | undefined;
}

export interface UpgradeHost extends GrantHost, DowngradeHost {
  /** The hold has another token. */
  onToken(hold: Hold, token: number): void;
  /** A refusal with what is known of the circle behind it. */
  traced(refusal: Result, askedAt: string | undefined): Result;
}

export class UpgradeCall extends GrantCall<void> implements Lowering {
  readonly wish: UpgradeWish;
  /** Stack of the call, where stacks are captured. */
  askedAt: string | undefined = undefined;
  readonly #host: UpgradeHost;
  readonly #startedMs: number;

  constructor(
    host: UpgradeHost,
    wish: UpgradeWish,
    nowMs: number,
    tryTimeoutMs: number,
    caller: Caller<void>,
  ) {
    super(host, waitDeadlineMs(wish.waitMs, nowMs, tryTimeoutMs), wish.signal, caller);
    this.#host = host;
    this.wish = wish;
    this.#startedMs = nowMs;
    wish.hold.addUpgrade(this);
  }

  get key(): string {
    return this.wish.key;
  }

  /** It may not be sent yet: it could be executed before what was asked for earlier. */
  get isHeldBack(): boolean {
    return this.wish.hold.lowerings.concern(this.key);
  }

  command(mark: number, nowMs: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    const { hold, key, detect } = this.wish;
    const waitMs = remainingWaitMs(this.wish.waitMs, this.#startedMs, nowMs);
    return {
      op: OP.upgrade,
      sequence,
      mark,
      acknowledged,
      token: hold.token,
      key,
      waitMs,
      detect,
    };
  }

  onResult(result: Result): void {
    const { hold, key, waitMs } = this.wish;
    hold.removeUpgrade(this);
    if (result.status === ERROR_NUMBERS.LOCK_TIMEOUT) {
      this.fail(lockTimeout([{ key }], waitMs, "service"));
      return;
    }
    if (result.status !== STATUS.upgraded) {
      this.fail(upgradeFailure(key, this.#host.traced(result, this.askedAt)));
      return;
    }
    this.#host.onToken(hold, result.token);
    // Of one that was left the cancel makes it shared again, or did.
    if (!this.isCancelled && !hold.lowerings.concern(key)) hold.setMode(key, "exclusive");
    this.fulfil(undefined);
  }

  override fail(reason: unknown): void {
    this.wish.hold.removeUpgrade(this);
    super.fail(reason);
  }

  /** The cancel makes it shared again. */
  override onCancel(call: CancelCall): void {
    super.onCancel(call);
    this.wish.hold.lowerings.begin(this);
  }

  override onGivenBack(): void {
    this.#host.onLowered(this.wish.hold, this);
  }

  override giveUp(): boolean {
    this.fail(upgradeFailure(this.wish.key, { status: this.refusal }));
    return true;
  }

  onSessionLost(): void {
    this.fail(upgradeFailure(this.wish.key, { status: ERROR_NUMBERS.NOT_HELD }));
  }

  onDeadline(lastFailure: string): void {
    const { key, waitMs } = this.wish;
    if (waitMs !== 0) this.abandon(lockTimeout([{ key }], waitMs, "client"));
    else this.abandon(unavailable(`the upgrade of lock ${JSON.stringify(key)}`, lastFailure));
  }
}
