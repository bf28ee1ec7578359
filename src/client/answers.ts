/**
 * What the table's answers mean: evidence for the lease, the end of calls, the fate of locks. An
 * answer is evidence only when the entry that gave it executed the command: refusals by a node
 * (stamp 0), pushed outcomes and `SESSION_EXPIRED` are none. ("What renews a lease".)
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
import { AcquireCall } from "./acquire-call.js";
import type { Call } from "./call.js";
import { lossReasonOf } from "./failures.js";
import type { Lease } from "./lease.js";
import type { Locks } from "./locks.js";
import type { Outgoing } from "./outgoing.js";
import type { LossReason } from "./types.js";

export class Answers {
  readonly #outgoing: Outgoing;
  readonly #locks: Locks;
  readonly #lease: Lease;

  constructor(outgoing: Outgoing, locks: Locks, lease: Lease) {
    this.#outgoing = outgoing;
    this.#locks = locks;
    this.#lease = lease;
  }

  /** What was first transmitted at `sentMs` was executed. */
  renew(sentMs: number, nowMs: number): void {
    this.#lease.renew(sentMs);
    if (this.#locks.holds.wantsEvidence) this.#locks.holds.onRenewed(nowMs);
  }

  /** Why the session is no more, if this says so; then it means nothing else. */
  onMessage(message: SessionMessage, session: number, nowMs: number): LossReason | undefined {
    switch (message.kind) {
      case MESSAGE.reply:
        if (message.result.status === ERROR_NUMBERS.SESSION_EXPIRED) return "expired";
        this.#onReply(message, nowMs);
        return undefined;
      case MESSAGE.outcome:
        this.#onOutcome(message);
        return undefined;
      case MESSAGE.pulse:
        this.#onPulse(message.number, message.stamp, nowMs);
        return undefined;
      case MESSAGE.recalled:
        this.#onRecalled(message, nowMs);
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
    if (stamp === 0 && isRefusal(result.status)) {
      this.#outgoing.onRefused(call, nowMs, this.#lease.ttlMs);
      return;
    }
    if (stamp > 0) {
      this.#outgoing.served();
      this.renew(call.firstSentMs, nowMs);
    }
    window.remove(call);
    if (result.status === STATUS.queued) {
      if (call instanceof AcquireCall) this.#locks.waits.onQueued(call);
      return;
    }
    if (call instanceof AcquireCall && isKeptUntilRead(call, result)) {
      window.acknowledge(sequence);
    }
    call.onResult(result);
  }

  #onOutcome(outcome: Outcome): void {
    const { sequence, result } = outcome;
    // No correct node calls this an end; whatever waits goes on waiting.
    if (result.status === STATUS.queued) return;
    const { window } = this.#outgoing;
    let call: Call | undefined = this.#locks.waits.take(sequence);
    if (call === undefined) {
      // It ended before the answer `queued`, which was lost, could be given again.
      call = window.get(sequence);
      if (!(call instanceof AcquireCall)) return;
      window.remove(call);
    }
    window.acknowledge(sequence);
    call.onResult(result);
  }

  #onPulse(number: number, stamp: number, nowMs: number): void {
    const sentMs = this.#outgoing.pulses.end(number);
    if (sentMs !== undefined && stamp > 0) this.renew(sentMs, nowMs);
  }

  #onRecalled(recalled: Recalled, nowMs: number): void {
    this.#onPulse(recalled.number, recalled.stamp, nowMs);
    for (const told of recalled.sequences) {
      const { sequence } = told;
      if (told.state === RECALL_STATE.done) {
        const { stamp, result } = told;
        this.#onOutcome({ kind: MESSAGE.outcome, sequence, stamp, result });
      } else if (told.state !== RECALL_STATE.queued) {
        // What was answered `queued` is kept until it is acknowledged: it cannot be unknown.
        this.#locks.waits.take(sequence)?.fail(forgotten(sequence));
      }
    }
    for (const { token, held, reason } of recalled.tokens) {
      if (!held) this.#locks.holds.loseOne(token, lossReasonOf(reason));
    }
  }
}

/**
 * The table keeps a grant, and every end of a wait, until it knows that it was read. Of a request
 * that was sent again the answer may be the end of a wait whose `queued` was lost.
 */
function isKeptUntilRead(call: AcquireCall, result: Result): boolean {
  return result.status === STATUS.granted || call.copies > 1;
}

function isRefusal(status: number): boolean {
  return status === ERROR_NUMBERS.BUSY || status === ERROR_NUMBERS.UNAVAILABLE;
}

function forgotten(sequence: number): HoldfastError {
  return new HoldfastError("PROTOCOL", `the cluster forgot the waiting request ${sequence}`);
}
