/**
 * The meaning of the table's answers: evidence for the lease, the end of calls, the fate of claims.
 * An answer is evidence only if it came over the connection that sent the command; pushed outcomes
 * and recalled answers are not. (`docs/internals/semantics.md`, 3.4.)
 *
 * Evidence from a new connection is not believed either until the connection has reported what
 * earlier ones missed. That may include the revoke of a hold, and a lease that was renewed without
 * it would outlive the hold.
 */
import { unreachable } from "../../errors/index.js";
import {
  MESSAGE,
  type Outcome,
  RECALL_STATE,
  type Recalled,
  type RecalledSequence,
  type Reply,
  type SessionMessage,
  STATUS,
} from "../../protocol/index.js";
import type { Call } from "../calls/call.js";
import type { Outgoing } from "../calls/outgoing.js";
import { lossReasonOf } from "../failures.js";
import type { Claims } from "../locks/claims.js";
import type { SessionLease } from "../session-lease/session-lease.js";

/** All messages but the end of the session. */
type Message = Exclude<SessionMessage, { kind: typeof MESSAGE.ended }>;

export class Answers {
  readonly #outgoing: Outgoing;
  readonly #claims: Claims;
  readonly #lease: SessionLease;
  /** The newest evidence of a connection that is not believed yet. */
  #withheld: { readonly sentMs: number; readonly stamp: number } | undefined;

  constructor(outgoing: Outgoing, claims: Claims, lease: SessionLease) {
    this.#outgoing = outgoing;
    this.#claims = claims;
    this.#lease = lease;
  }

  /** An entry with that stamp executed a command that was sent at `sentMs`. */
  renew(sentMs: number, stamp: number): void {
    if (!this.#outgoing.keepalives.isCatchingUp) {
      this.#lease.renew(sentMs, stamp);
      this.#claims.onEvidence();
    } else if (this.#withheld === undefined || sentMs > this.#withheld.sentMs) {
      this.#withheld = { sentMs, stamp };
    }
  }

  /** The connection is gone: its evidence was not believed yet. */
  disconnect(): void {
    this.#withheld = undefined;
  }

  onMessage(message: Message, nowMs: number): void {
    switch (message.kind) {
      case MESSAGE.reply:
        this.#onReply(message);
        break;
      case MESSAGE.outcome:
        this.#onOutcome(message);
        break;
      case MESSAGE.renewed:
        this.#onRenewed(message.number, message.stamp, nowMs);
        break;
      case MESSAGE.recalled:
        this.#onRecalled(message, nowMs);
        break;
      case MESSAGE.lost:
        this.#claims.onLost(message.sequence, lossReasonOf(message.reason));
        break;
      case MESSAGE.contended:
        this.#claims.onContended(message.sequence);
        break;
      case MESSAGE.revoking:
        this.#claims.onRevoking(message, nowMs);
        break;
      default:
        unreachable(message);
    }
  }

  #onReply({ sequence, result, stamp }: Reply): void {
    const { window } = this.#outgoing;
    const call = window.get(sequence);
    if (call === undefined) return;
    this.#outgoing.onAnswered(call);
    if (sequence > window.resumedAt) this.renew(call.sentMs, stamp);
    if (result.status === STATUS.queued) {
      call.onQueued(stamp);
      this.#claims.onQueued(call);
    } else call.onResult(result, stamp);
  }

  #onOutcome({ sequence, result, stamp }: Outcome): void {
    // A correct node never sends this as the end of a wait; the wait goes on.
    if (result.status === STATUS.queued) return;
    const call = this.#take(sequence);
    if (call === undefined) return;
    if (result.status !== STATUS.granted) this.#outgoing.window.acknowledge(sequence);
    call.onResult(result, stamp);
  }

  /** The call that waits in the table, or whose answer was lost with the last connection. */
  #take(sequence: number): Call | undefined {
    const call = this.#outgoing.window.get(sequence);
    if (call === undefined) return this.#claims.takeWait(sequence);
    this.#outgoing.onAnswered(call);
    return call;
  }

  #onRenewed(number: number, stamp: number, nowMs: number): void {
    const { keepalives } = this.#outgoing;
    const wasCatchingUp = keepalives.isCatchingUp;
    const sentMs = keepalives.end(number);
    this.#outgoing.recallMore(nowMs);
    if (sentMs !== undefined) this.renew(sentMs, stamp);
    if (!wasCatchingUp || keepalives.isCatchingUp) return;
    const withheld = this.#withheld;
    this.#withheld = undefined;
    if (withheld !== undefined) this.renew(withheld.sentMs, withheld.stamp);
  }

  #onRecalled({ number, stamp, sequences }: Recalled, nowMs: number): void {
    // First the holds that end by themselves, before the lease is extended.
    for (const told of sequences) this.#onTold(told, stamp, nowMs);
    this.#onRenewed(number, stamp, nowMs);
  }

  #onTold(told: RecalledSequence, stamp: number, nowMs: number): void {
    const { window } = this.#outgoing;
    const { sequence, state } = told;
    const sent = window.get(sequence);
    if (state === RECALL_STATE.waiting) {
      if (sent === undefined) this.#claims.onStillWaiting(sequence);
      else {
        this.#outgoing.onAnswered(sent);
        sent.onQueued(stamp);
        this.#claims.onQueued(sent);
      }
      return;
    }
    const call = this.#take(sequence);
    if (call === undefined) {
      this.#claims.onToldOfHold(told, nowMs);
      return;
    }
    switch (state) {
      case RECALL_STATE.held:
        call.onHeld(told);
        break;
      case RECALL_STATE.ended:
        window.acknowledge(sequence);
        call.onEnded(told.token, told.reason);
        break;
      case RECALL_STATE.replied:
        if (call.mayWait) window.acknowledge(sequence);
        call.onResult(told.result, told.stamp);
        break;
      case RECALL_STATE.unseen:
      case RECALL_STATE.forgotten:
        call.onForgotten();
        break;
      default:
        unreachable(state);
    }
  }
}
