/**
 * The acquires of which the table said `queued`, and the client's own deadlines of all acquires. A
 * deadline is enforced here only when the table's answer does not come (no connection, no leader),
 * so it is looked for by scanning now and then instead of by a timer or heap entry per acquire.
 */
import { AcquireCall } from "./acquire-call.js";
import type { CommandWindow } from "./command-window.js";

/** Between two scans, so that many different deadlines do not make each of them one. */
const SCAN_MS_MIN = 200;

export class Waits {
  /** By sequence, in arrival order. */
  readonly #queued = new Map<number, AcquireCall>();
  /** When the next scan is due; no deadline of a call known here is much earlier. */
  dueMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#queued.size;
  }

  /** A call began; it may pass its deadline anywhere. */
  watch(call: AcquireCall): void {
    if (call.deadlineMs < this.dueMs) this.dueMs = call.deadlineMs;
  }

  onQueued(call: AcquireCall): void {
    this.#queued.set(call.sequence, call);
  }

  /** Takes the call whose outcome arrived. */
  take(sequence: number): AcquireCall | undefined {
    const call = this.#queued.get(sequence);
    this.#queued.delete(sequence);
    return call;
  }

  sequences(): number[] {
    return [...this.#queued.keys()];
  }

  /** Every acquire whose caller may still wait for the table: queued there, sent, or not sent yet. */
  open(window: CommandWindow): AcquireCall[] {
    const calls = [...this.#queued.values()];
    for (const call of window.sent()) if (call instanceof AcquireCall) calls.push(call);
    for (const call of window.queued()) if (call instanceof AcquireCall) calls.push(call);
    return calls.filter((call) => !call.isSettled);
  }

  onAlarm(nowMs: number, window: CommandWindow, lastFailure: string): void {
    if (nowMs < this.dueMs) return;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const call of this.open(window)) {
      if (call.deadlineMs <= nowMs) call.onDeadline(lastFailure);
      else if (call.deadlineMs < nextMs) nextMs = call.deadlineMs;
    }
    this.dueMs = Math.max(nextMs, nowMs + SCAN_MS_MIN);
    if (nextMs === Number.POSITIVE_INFINITY) this.dueMs = nextMs;
  }

  /** The session is gone. */
  takeAll(): AcquireCall[] {
    const calls = [...this.#queued.values()];
    this.#queued.clear();
    return calls;
  }
}
