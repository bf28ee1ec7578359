/**
 * Keepalives and recalls that are on their way over the current connection. Their numbers are never
 * used twice and they are never sent again, so an answer matches exactly one transmission; that is
 * what makes it evidence. They die with the connection.
 */
import type { CommandWindow } from "./command-window.js";

interface Pulse {
  readonly sentMs: number;
  readonly acknowledged: readonly number[];
}

export class Pulses {
  /** By number, oldest first. */
  readonly #pending = new Map<number, Pulse>();
  #lastNumber = 0;
  /** Lease time of the last keepalive or recall. */
  lastSentMs = Number.NEGATIVE_INFINITY;

  get size(): number {
    return this.#pending.size;
  }

  begin(nowMs: number, acknowledged: readonly number[]): number {
    this.#lastNumber += 1;
    this.lastSentMs = nowMs;
    this.#pending.set(this.#lastNumber, { sentMs: nowMs, acknowledged });
    return this.#lastNumber;
  }

  /** When the answered one was sent; `undefined` for an answer nobody waits for. */
  end(number: number): number | undefined {
    const pulse = this.#pending.get(number);
    this.#pending.delete(number);
    return pulse?.sentMs;
  }

  get oldestSentMs(): number {
    for (const { sentMs } of this.#pending.values()) return sentMs;
    return Number.POSITIVE_INFINITY;
  }

  /** The connection is gone; what they acknowledged may not have arrived. */
  abandon(window: CommandWindow): void {
    for (const { acknowledged } of this.#pending.values()) {
      window.returnAcknowledgements(acknowledged);
    }
    this.#pending.clear();
  }

  /** The session is gone. */
  clear(): void {
    this.#pending.clear();
    this.lastSentMs = Number.NEGATIVE_INFINITY;
  }
}
