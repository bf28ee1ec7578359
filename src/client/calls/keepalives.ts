/**
 * Keepalives and recalls that are in flight on the current connection. Their numbers are never used
 * twice and they are never sent again, so an answer matches exactly one transmission. That makes it
 * evidence. They end with the connection.
 */
import type { CommandWindow } from "./command-window.js";

interface Pending {
  readonly sentMs: number;
  readonly acknowledged: readonly number[];
  /** It asks for what happened before this connection. */
  readonly isCatchingUp: boolean;
}

export class Keepalives {
  /** By number, oldest first. */
  readonly #pending = new Map<number, Pending>();
  #lastNumber = 0;
  /** Lease time of the last keepalive or recall. */
  lastSentMs = Number.NEGATIVE_INFINITY;
  /** Recalls that ask for what happened before this connection and are unanswered. */
  #catchingUp = 0;

  get size(): number {
    return this.#pending.size;
  }

  /** Whether there may be news from before this connection. */
  get isCatchingUp(): boolean {
    return this.#catchingUp > 0;
  }

  /** Unanswered recalls. */
  get catchingUpCount(): number {
    return this.#catchingUp;
  }

  begin(nowMs: number, acknowledged: readonly number[], isCatchingUp = false): number {
    this.#lastNumber += 1;
    this.lastSentMs = nowMs;
    if (isCatchingUp) this.#catchingUp += 1;
    this.#pending.set(this.#lastNumber, { sentMs: nowMs, acknowledged, isCatchingUp });
    return this.#lastNumber;
  }

  /** When the answered one was sent; `undefined` if none with this number is in flight. */
  end(number: number): number | undefined {
    const answered = this.#pending.get(number);
    this.#pending.delete(number);
    if (answered?.isCatchingUp === true) this.#catchingUp -= 1;
    return answered?.sentMs;
  }

  get oldestSentMs(): number {
    for (const { sentMs } of this.#pending.values()) return sentMs;
    return Number.POSITIVE_INFINITY;
  }

  /** The connection is gone; their acknowledgements may not have arrived. */
  abandon(window: CommandWindow): void {
    for (const { acknowledged } of this.#pending.values()) {
      window.returnAcknowledgements(acknowledged);
    }
    this.#pending.clear();
    this.#catchingUp = 0;
  }

  /** The session is gone. */
  clear(): void {
    this.#pending.clear();
    this.#catchingUp = 0;
    this.lastSentMs = Number.NEGATIVE_INFINITY;
  }
}
