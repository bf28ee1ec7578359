/**
 * What a turn has to say, lane by lane, until `take` drains it. `sendNow` may leave before the
 * local write is durable, `sendDurable` must wait for everything the node held when it was said.
 * Which message belongs in which lane is decided where it is made. No allocation while idle.
 */
import type { DeferredMessage, Effects, Message, Refusal } from "./types.js";

const EMPTY: readonly never[] = Object.freeze([]);

export class Outbox {
  private now: Message[] = [];
  private durable: Message[] = [];
  private accepted: Effects["accepted"][number][] = [];
  private refused: Refusal[] = [];

  /** How much waits to be drained. */
  get size(): number {
    const { now, durable, accepted, refused } = this;
    return now.length + durable.length + accepted.length + refused.length;
  }

  sendNow(message: Message): void {
    this.now.push(message);
  }

  sendDurable(message: Message): void {
    this.durable.push(message);
  }

  accept(id: number, index: number, term: number): void {
    this.accepted.push({ id, index, term });
  }

  refuse(id: number, reason: Refusal["reason"]): void {
    this.refused.push({ id, reason });
  }

  /** Each waits for `seq`, the latest record handed over, whether that is durable yet or not. */
  takeSendAfter(seq: number): readonly DeferredMessage[] {
    if (this.durable.length === 0) return EMPTY;
    const messages = this.durable;
    this.durable = [];
    return messages.map((message) => ({ seq, message }));
  }

  takeSendNow(): readonly Message[] {
    if (this.now.length === 0) return EMPTY;
    const messages = this.now;
    this.now = [];
    return messages;
  }

  takeAccepted(): Effects["accepted"] {
    if (this.accepted.length === 0) return EMPTY;
    const accepted = this.accepted;
    this.accepted = [];
    return accepted;
  }

  takeRefused(): readonly Refusal[] {
    if (this.refused.length === 0) return EMPTY;
    const refused = this.refused;
    this.refused = [];
    return refused;
  }
}

/** The effects of a turn in which nothing happened. */
export function idleEffects(applyTo: number, nextDeadlineMs: number): Effects {
  return {
    sendNow: EMPTY,
    write: undefined,
    sendAfter: EMPTY,
    applyTo,
    accepted: EMPTY,
    refused: EMPTY,
    roleChange: undefined,
    nextDeadlineMs,
  };
}
