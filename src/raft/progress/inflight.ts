/**
 * The window of appends that were sent to one peer and not yet acknowledged: a ring of fixed size,
 * oldest first. It limits what a slow peer makes the leader hold, in messages and in bytes.
 */
import { assert } from "../../errors/index.js";

export class InflightWindow {
  private readonly messagesMax: number;
  private readonly bytesMax: number;
  private readonly lastIndexes: Float64Array;
  private readonly sizes: Float64Array;
  private readonly sentTimes: Float64Array;
  private head = 0;
  private count = 0;
  private bytes = 0;

  constructor(messagesMax: number, bytesMax: number) {
    this.messagesMax = messagesMax;
    this.bytesMax = bytesMax;
    this.lastIndexes = new Float64Array(messagesMax);
    this.sizes = new Float64Array(messagesMax);
    this.sentTimes = new Float64Array(messagesMax);
  }

  get messages(): number {
    return this.count;
  }

  /** Bytes that may still be sent; 0 if no further message may be. */
  get roomBytes(): number {
    return this.count < this.messagesMax ? Math.max(0, this.bytesMax - this.bytes) : 0;
  }

  /** When the oldest message left; only valid if there is one. */
  get oldestSentMs(): number {
    return this.sentTimes[this.head] as number;
  }

  add(lastIndex: number, bytes: number, nowMs: number): void {
    assert(this.count < this.messagesMax, () => `${this.count} messages already in flight`);
    const slot = (this.head + this.count) % this.messagesMax;
    this.lastIndexes[slot] = lastIndex;
    this.sizes[slot] = bytes;
    this.sentTimes[slot] = nowMs;
    this.count += 1;
    this.bytes += bytes;
  }

  /**
   * Forgets every message whose last entry is at or below `matchIndex`; returns whether any was.
   */
  acknowledge(matchIndex: number): boolean {
    const before = this.count;
    while (this.count > 0 && (this.lastIndexes[this.head] as number) <= matchIndex) {
      this.bytes -= this.sizes[this.head] as number;
      this.head = (this.head + 1) % this.messagesMax;
      this.count -= 1;
    }
    return this.count < before;
  }

  clear(): void {
    this.head = 0;
    this.count = 0;
    this.bytes = 0;
  }
}
