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
    // Once transmitted, either this release or the end of the session may have come first.
    const reason = this.sequence === 0 ? "expired" : "unknown";
    this.#waiter?.onReleased({ released: false, reason });
  }
}

/** What a detach needs of its session. */
export interface DetachHost {
  submit(call: Call): void;
  onDetached(call: DetachCall): void;
  /** It is no ticket, and nobody's any more. */
  onNotDetached(call: DetachCall, reason: LossReason): void;
}

/** Must end as it was meant to: nobody holds what it is about. */
export class DetachCall extends Call {
  readonly bearer: TokenBearer;
  readonly secret: string;
  readonly #host: DetachHost;
  readonly #ticketTtlMs: number;

  constructor(host: DetachHost, bearer: TokenBearer, secret: string, ticketTtlMs: number) {
    super();
    this.#host = host;
    this.bearer = bearer;
    this.secret = secret;
    this.#ticketTtlMs = ticketTtlMs;
  }

  command(mark: number): SequencedCommand {
    const { sequence, acknowledged, secret } = this;
    const ticketTtlMs = this.#ticketTtlMs;
    const { token } = this.bearer;
    return { op: OP.detach, sequence, mark, acknowledged, token, secret, ticketTtlMs };
  }

  onResult(result: Result): void {
    if (result.status === STATUS.ok) this.#host.onDetached(this);
    else if (result.status !== ERROR_NUMBERS.TOO_MANY_IN_FLIGHT) {
      this.#host.onNotDetached(this, "unknown");
    } else {
      // Its waiters are the host's, by the bearer.
      const { bearer, secret } = this;
      this.#host.submit(new DetachCall(this.#host, bearer, secret, this.#ticketTtlMs));
    }
  }

  onSessionLost(): void {
    this.#host.onNotDetached(this, "expired");
  }
}
