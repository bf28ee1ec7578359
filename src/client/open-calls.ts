/**
 * The calls whose callers still wait: counted, because they keep the process running, and looked
 * through for deadlines. A deadline is enforced here only when the table's answer does not come (no
 * connection, no leader), so it is looked for by scanning now and then instead of by a timer or
 * heap entry per call.
 */
import { AwaitedCall } from "./awaited-call.js";
import type { CommandWindow } from "./command-window.js";
import type { GrantCall } from "./grant-call.js";
import type { UpgradeCall } from "./upgrade-call.js";

type AnyCall = AwaitedCall<never>;

/** Between two scans, so that many different deadlines do not make each of them one. */
const SCAN_MS_MIN = 200;

export class OpenCalls {
  /** Of which the table said `queued`: by sequence, in arrival order. */
  readonly #queued = new Map<number, GrantCall<never>>();
  /** Which are sent when something else was answered. */
  readonly #heldBack = new Set<UpgradeCall>();
  /** When the next scan is due; no deadline of a call known here is much earlier. */
  dueMs = Number.POSITIVE_INFINITY;
  /** Whose callers were told nothing yet. */
  count = 0;

  /** Requests that wait in the table. */
  get queuedCount(): number {
    return this.#queued.size;
  }

  /** A call began; it may pass its deadline anywhere. */
  begin(call: AnyCall): void {
    this.count += 1;
    if (call.deadlineMs < this.dueMs) this.dueMs = call.deadlineMs;
  }

  onQueued(call: GrantCall<never>): void {
    this.#queued.set(call.sequence, call);
  }

  holdBack(call: UpgradeCall): void {
    this.#heldBack.add(call);
  }

  /** Takes those that may be sent now, in the order in which they were asked for. */
  takeReady(): UpgradeCall[] {
    const ready = [...this.#heldBack].filter(({ isHeldBack, isSettled }) => {
      return isSettled || !isHeldBack;
    });
    for (const call of ready) this.#heldBack.delete(call);
    return ready.filter(({ isSettled }) => !isSettled);
  }

  /** Takes the call whose outcome arrived. */
  take(sequence: number): GrantCall<never> | undefined {
    const call = this.#queued.get(sequence);
    this.#queued.delete(sequence);
    return call;
  }

  queued(): readonly GrantCall<never>[] {
    return [...this.#queued.values()];
  }

  queuedSequences(): number[] {
    return [...this.#queued.keys()];
  }

  /** Every call whose caller still waits for the table: queued there, sent, or not sent yet. */
  open(window: CommandWindow): AnyCall[] {
    const calls: AnyCall[] = this.queued().slice();
    for (const call of window.sent()) if (call instanceof AwaitedCall) calls.push(call);
    for (const call of window.queued()) if (call instanceof AwaitedCall) calls.push(call);
    calls.push(...this.#heldBack);
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
  takeAll(): GrantCall<never>[] {
    const calls: GrantCall<never>[] = [...this.#queued.values(), ...this.#heldBack];
    this.#queued.clear();
    this.#heldBack.clear();
    return calls;
  }
}
