/**
 * The calls whose callers still wait: counted, because they keep the process running, and looked
 * through for deadlines. A deadline is enforced here only when the table's answer does not come (no
 * connection, no leader), so it is looked for by scanning now and then instead of by a timer or
 * heap entry per call.
 */
import { AwaitedCall } from "./awaited-call.js";
import type { CommandWindow } from "./command-window.js";
import type { GrantCall } from "./grant-call.js";
import type { Lowerings } from "./lowerings.js";

type AnyCall = AwaitedCall<never>;

/** Between two scans, so that many different deadlines do not make each of them one. */
const SCAN_MS_MIN = 200;

export class OpenCalls {
  /** Of which the table said `queued`: by sequence, in arrival order. */
  readonly #queued = new Map<number, GrantCall<never>>();
  readonly #lowerings: Lowerings;
  /** When the next scan is due; no deadline of a call known here is much earlier. */
  dueMs = Number.POSITIVE_INFINITY;
  /** Whose callers were told nothing yet. */
  count = 0;

  constructor(lowerings: Lowerings) {
    this.#lowerings = lowerings;
  }

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
    calls.push(...this.#lowerings.heldBack());
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

  /** The session is gone, with what waits in the table. */
  takeQueued(): readonly GrantCall<never>[] {
    const calls = this.queued();
    this.#queued.clear();
    return calls;
  }
}
