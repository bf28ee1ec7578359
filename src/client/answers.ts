/**
 * What the table's answers mean: evidence for the lease, the end of calls, the fate of locks. An
 * answer is evidence only when the entry that gave it executed the command: refusals by a node
 * (stamp 0), pushed outcomes and `SESSION_EXPIRED` are none. ("What renews a lease".)
 *
 * Nor is anything believed of a new connection before it told what the ones before it missed: the
 * word that a hold was revoked may be part of that, and a lease that is renewed without it would
 * outlive the hold.
 */
import { unreachable } from "../assert.js";
import { ERROR_NUMBERS, HoldfastError } from "../errors.js";
import {
  MESSAGE,
  type Outcome,
  RECALL_STATE,
  type Recalled,
  type Reply,
  type Result,
  type SessionMessage,
  STATUS,
} from "../protocol/index.js";
import type { Call, Refusal } from "./call.js";
import { lossReasonOf } from "./failures.js";
import { GrantCall } from "./grant-call.js";
import type { Lease } from "./lease.js";
import type { LossReason } from "./lock-types.js";
import type { Locks } from "./locks.js";
import type { Outgoing } from "./outgoing.js";

/** Stands for the stamp of an answer that may be an old one given again. */
const LONG_AGO = 0;

export class Answers {
  readonly #outgoing: Outgoing;
  readonly #locks: Locks;
  readonly #lease: Lease;
  /** The newest evidence of a connection that is not believed yet. */
  #withheld: { readonly sentMs: number; readonly stamp: number } | undefined;

  constructor(outgoing: Outgoing, locks: Locks, lease: Lease) {
    this.#outgoing = outgoing;
    this.#locks = locks;
    this.#lease = lease;
  }

  /** An entry of that stamp executed what was first transmitted at `sentMs`. */
  renew(sentMs: number, stamp: number): void {
    if (!this.#outgoing.pulses.isCatchingUp) this.#lease.renew(sentMs, stamp);
    else if (this.#withheld === undefined || sentMs > this.#withheld.sentMs) {
      this.#withheld = { sentMs, stamp };
    }
  }

  /** The connection is gone: what it proved was not to be believed yet. */
  disconnect(): void {
    this.#withheld = undefined;
  }

  /** Why the session is no more, if this says so; then it means nothing else. */
  onMessage(message: SessionMessage, session: number, nowMs: number): LossReason | undefined {
    switch (message.kind) {
      case MESSAGE.reply:
        if (message.result.status === ERROR_NUMBERS.SESSION_EXPIRED) return "expired";
        this.#onReply(message, nowMs);
        return undefined;
      case MESSAGE.outcome:
        this.#onOutcome(message, message.stamp);
        return undefined;
      case MESSAGE.pulse:
        this.#onPulse(message.number, message.stamp);
        return undefined;
      case MESSAGE.recalled:
        this.#onRecalled(message, nowMs);
        return undefined;
      case MESSAGE.lost:
        this.#locks.onLost(message.token, lossReasonOf(message.reason));
        return undefined;
      case MESSAGE.contended:
        this.#locks.onContended(message.token);
        return undefined;
      case MESSAGE.revoking:
        this.#locks.onRevoking(message, nowMs);
        return undefined;
      case MESSAGE.ended:
        return message.session === session ? lossReasonOf(message.reason) : undefined;
      default:
        return unreachable(message);
    }
  }

  #onReply(reply: Reply, nowMs: number): void {
    const { window } = this.#outgoing;
    const { result, stamp, sequence } = reply;
    const call = window.get(sequence);
    if (call === undefined) return;
    const refusal = stamp === 0 ? refusalOf(result.status) : undefined;
    if (refusal !== undefined) {
      this.#outgoing.onRefused(call, refusal, nowMs, this.#lease.ttlMs);
      return;
    }
    if (stamp > 0) {
      this.#outgoing.served();
      this.renew(call.firstSentMs, stamp);
    }
    window.remove(call);
    if (result.status === STATUS.queued) {
      if (call instanceof GrantCall) this.#locks.calls.onQueued(call);
      return;
    }
    if (call instanceof GrantCall && isKeptUntilRead(call, result)) call.onRead(result);
    call.onResult(result, call.isRepeated ? LONG_AGO : stamp);
  }

  #onOutcome({ sequence, result }: Outcome, stamp: number): void {
    // No correct node calls this an end; whatever waits goes on waiting.
    if (result.status === STATUS.queued) return;
    const { window } = this.#outgoing;
    let call: Call | undefined = this.#locks.calls.take(sequence);
    if (call === undefined) {
      // It ended before the answer `queued`, which was lost, could be given again.
      call = window.get(sequence);
      if (!(call instanceof GrantCall)) return;
      window.remove(call);
    }
    if (call instanceof GrantCall) call.onRead(result);
    call.onResult(result, stamp);
  }

  #onPulse(number: number, stamp: number): void {
    const { pulses } = this.#outgoing;
    const wasCatchingUp = pulses.isCatchingUp;
    const sentMs = pulses.end(number);
    if (sentMs !== undefined && stamp > 0) this.renew(sentMs, stamp);
    if (!wasCatchingUp || pulses.isCatchingUp) return;
    const withheld = this.#withheld;
    this.#withheld = undefined;
    if (withheld !== undefined) this.renew(withheld.sentMs, withheld.stamp);
  }

  #onRecalled(recalled: Recalled, nowMs: number): void {
    for (const told of recalled.sequences) {
      const { sequence } = told;
      if (told.state === RECALL_STATE.done) {
        const { stamp, result } = told;
        this.#onOutcome({ kind: MESSAGE.outcome, sequence, stamp, result }, LONG_AGO);
      } else if (told.state !== RECALL_STATE.queued) {
        // What was answered `queued` is kept until it is acknowledged: it cannot be unknown.
        this.#locks.calls.take(sequence)?.fail(forgotten(sequence));
      }
    }
    for (const told of recalled.tokens) {
      if (!told.held) this.#locks.onLost(told.token, lossReasonOf(told.reason));
    }
    const { holds } = this.#locks;
    // What ends by itself is to be known before anything is believed for longer.
    for (const told of recalled.tokens) if (told.held) holds.limit(told);
    this.#onPulse(recalled.number, recalled.stamp);
    for (const told of recalled.tokens) if (told.held) holds.onHeld(told, nowMs);
  }
}

/**
 * The table keeps a grant, and every end of a wait, until it knows that it was read. Of a request
 * that was sent again the answer may be the end of a wait whose `queued` was lost.
 */
function isKeptUntilRead(call: Call, { status }: Result): boolean {
  const isGrant =
    status === STATUS.granted || status === STATUS.upgraded || status === STATUS.claimed;
  return isGrant || call.copies > 1;
}

/** A node, or the leader behind it, has no room: the same may be sent again. */
function refusalOf(status: number): Refusal | undefined {
  if (status === ERROR_NUMBERS.DISK_FULL) return status;
  const isBusy = status === ERROR_NUMBERS.BUSY || status === ERROR_NUMBERS.UNAVAILABLE;
  return isBusy ? ERROR_NUMBERS.BUSY : undefined;
}

function forgotten(sequence: number): HoldfastError {
  return new HoldfastError("PROTOCOL", `the cluster forgot the waiting request ${sequence}`);
}
