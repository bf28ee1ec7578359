/**
 * Shared becomes exclusive. Until the grant was read the hold is what it was; from then on it has
 * another token. One that is given up leaves the hold shared, also when it was granted meanwhile.
 */

import { ERROR_NUMBERS } from "../errors.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../protocol/index.js";
import { quotedKey } from "../safe-text.js";
import { remainingWaitMs, waitDeadlineMs } from "./acquire-call.js";
import type { Caller } from "./awaited-call.js";
import type { DowngradeHost } from "./downgrade-call.js";
import { lockTimeout, unavailable, upgradeFailure } from "./failures.js";
import { type CancelCall, GrantCall, type GrantHost } from "./grant-call.js";
import type { Hold } from "./hold.js";
import type { Lowering, PendingUpgrade, Raise } from "./lowerings.js";

export interface UpgradeWish {
  readonly hold: Hold;
  readonly key: string;
  readonly waitMs: number;
  readonly detect: boolean;
  readonly signal: AbortSignal | undefined;
}

export interface UpgradeHost extends GrantHost, DowngradeHost {
  /** The hold has another token. Gives the one that stands for it here by now. */
  onToken(hold: Hold, token: number): Hold;
  /** A refusal with what is known of the circle behind it. */
  traced(refusal: Result, askedAt: string | undefined): Result;
}

export class UpgradeCall extends GrantCall<void> implements Lowering, PendingUpgrade {
  readonly wish: UpgradeWish;
  /** Also as a lowering: who asked behind it, and was not sent yet, waits for its cancel. */
  askedAs: number;
  /** Stack of the call, where stacks are captured. */
  askedAt: string | undefined = undefined;
  readonly #host: UpgradeHost;
  readonly #startedMs: number;
  /** What it is granted is shared again, by a command that was or will be executed behind it. */
  #isLowered = false;
  /** The same by the cancel of another one, which is no wish of who waits for this one. */
  #isUndone = false;

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
    this.askedAs = host.lowerings.nextNumber();
    this.#startedMs = nowMs;
    this.#add();
  }

  get owner(): number {
    return this.wish.hold.owner.id;
  }

  override get raise(): Raise {
    return { owner: this.owner, keys: [this.wish.key] };
  }

  concerns(key: string): boolean {
    return this.wish.key === key;
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
    this.#remove();
    if (result.status === ERROR_NUMBERS.LOCK_TIMEOUT) {
      this.fail(lockTimeout([{ key }], waitMs, "service"));
      return;
    }
    if (result.status !== STATUS.upgraded) {
      this.fail(upgradeFailure(key, this.#host.traced(result, this.askedAt)));
      return;
    }
    const here = this.#host.onToken(hold, result.token);
    // Of one that was left the cancel makes it shared again, or did; and of one that failed with its
    // hold nobody told what was lowered since.
    if (!this.isSettled && !this.#isLowered) {
      if (this.#isUndone) {
        this.#askAgain();
        return;
      }
      here.setMode(key, "exclusive");
    }
    this.fulfil(undefined);
  }

  override fail(reason: unknown): void {
    this.#remove();
    super.fail(reason);
  }

  /** The cancel makes it shared again. */
  override onCancel(call: CancelCall): void {
    super.onCancel(call);
    this.#host.lowerings.begin(this);
  }

  /** Also when it is answered first: its answer may come behind, told again. */
  onLowering(lowering: Lowering): void {
    const { lowerings } = this.#host;
    const isBehind = lowering.askedAs > this.askedAs || !lowerings.isHeldBack(this);
    if (!isBehind || !lowering.concerns(this.wish.key)) return;
    if (lowering instanceof UpgradeCall) this.#isUndone = true;
    else this.#isLowered = true;
  }

  override onGivenBack(): void {
    this.#host.onLowered(this);
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
    else this.abandon(unavailable(`the upgrade of lock ${quotedKey(key)}`, lastFailure));
  }

  /** What it was granted is shared again, or will be: behind that, under a sequence of its own. */
  #askAgain(): void {
    const { lowerings } = this.#host;
    this.startAnew();
    this.#isUndone = false;
    this.askedAs = lowerings.nextNumber();
    this.#add();
    if (!lowerings.holdBack(this)) this.#host.submit(this);
  }

  #add(): void {
    this.wish.hold.addUpgrade(this);
    this.#host.lowerings.addUpgrade(this);
  }

  #remove(): void {
    this.wish.hold.removeUpgrade(this);
    this.#host.lowerings.removeUpgrade(this);
  }
}
