/**
 * What ends a hold at the wish of its holder: release and detach. The token is read anew for each
 * transmission, since an upgrade on its way may replace it, and the old one is forgotten then.
 */
import { ERROR_NUMBERS } from "../errors.js";
import { OP, type Result, type SequencedCommand, STATUS } from "../protocol/index.js";
import { Call } from "./call.js";
import { lossReasonOf } from "./failures.js";
import type { LossReason, ReleaseResult } from "./lock-types.js";

/** Something that the table knows by its token. */
export interface TokenBearer {
  readonly token: number;
}

/** Who waits for the end of a release. */
export interface ReleaseWaiter {
  onReleased(result: ReleaseResult): void;
}

/** What a release needs of its session. */
export interface ReleaseHost {
  submit(call: Call): void;
  /** The loss of this token was read. */
  acknowledge(token: number): void;
}

export class ReleaseCall extends Call {
  readonly bearer: TokenBearer;
  readonly #host: ReleaseHost;
  readonly #waiter: ReleaseWaiter | undefined;

  constructor(host: ReleaseHost, bearer: TokenBearer, waiter: ReleaseWaiter | undefined) {
    super();
    this.#host = host;
    this.bearer = bearer;
    this.#waiter = waiter;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    return { op: OP.release, sequence, mark, acknowledged, token: this.bearer.token };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.released) {
      this.#waiter?.onReleased({ released: true });
    } else if (result.status === STATUS.notReleased) {
      // The word that it was lost may have gone to a connection that broke.
      this.#host.acknowledge(this.bearer.token);
      this.#waiter?.onReleased({ released: false, reason: lossReasonOf(result.reason) });
    } else {
      // Refused as one too many, by a limit that was lowered: the hold is to go all the same.
      this.#host.submit(new ReleaseCall(this.#host, this.bearer, this.#waiter));
    }
  }

  onSessionLost(): void {
    // If it may have arrived, either this release or the end of the session may have come first.
    const reason = this.copies === 0 ? "expired" : "unknown";
    this.#waiter?.onReleased({ released: false, reason });
  }
}

/** What a detach needs of its session. */
export interface DetachHost {
  submit(call: Call): void;
  onDetached(wish: DetachWish): void;
  /** It is no ticket, and nobody's any more. */
  onNotDetached(wish: DetachWish, reason: LossReason): void;
}

/** A hold on its way to be a ticket. */
export interface DetachWish {
  readonly bearer: TokenBearer;
  readonly secret: string;
  readonly ticketTtlMs: number;
  /** How often the hold was held here: so often it is released if no ticket comes of it. */
  readonly heldCount: number;
  /** Nobody waits for the ticket any more: what was not executed yet need not be. */
  isGivenUp: boolean;
}

/** Must end as it was meant to: nobody holds what it is about. */
export class DetachCall extends Call {
  readonly wish: DetachWish;
  readonly #host: DetachHost;

  constructor(host: DetachHost, wish: DetachWish) {
    super();
    this.#host = host;
    this.wish = wish;
  }

  override get isUnwanted(): boolean {
    return this.wish.isGivenUp;
  }

  override giveUp(): boolean {
    return this.wish.isGivenUp;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged } = this;
    const { bearer, secret, ticketTtlMs } = this.wish;
    const { token } = bearer;
    return { op: OP.detach, sequence, mark, acknowledged, token, secret, ticketTtlMs };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.ok) this.#host.onDetached(this.wish);
    else if (result.status !== ERROR_NUMBERS.TOO_MANY_IN_FLIGHT) {
      this.#host.onNotDetached(this.wish, "unknown");
    } else {
      this.#host.submit(new DetachCall(this.#host, this.wish));
    }
  }

  onSessionLost(): void {
    this.#host.onNotDetached(this.wish, "expired");
  }
}
