/**
 * Callers that wait for something. Each leaves once: by its answer, its signal or its deadline.
 * They are counted because they keep the process running. A deadline is enforced here only if the
 * table's answer does not come (no connection, no leader), so all of them are scanned now and then
 * instead of each having a timer. The functions at the end compute how long a wait in the table may
 * take.
 */
import { WAIT_FOREVER, WAIT_MS_MAX } from "../../protocol/index.js";
import { AbortableCaller, type Deferred } from "./abort-watch.js";
import { type Fate, withFate } from "./unanswered.js";

/** Minimum time between two scans, so that many different deadlines do not cause a scan each. */
const SCAN_MS_MIN = 200;
/** Time for the table's own answer before the client enforces a deadline by itself. */
const DEADLINE_GRACE_MS = 500;

export type { Deferred };

/** Something that a caller waits for. */
export interface Awaited extends Fate {
  /**
   * The caller leaves for `reason`: rejects its promise, and undoes what the table may still do.
   */
  leave(reason: unknown): void;
  /** The client's own deadline passed without an answer. */
  onDeadline(lastFailure: string): void;
}

export class Waiter<T> extends AbortableCaller<T> {
  readonly awaited: Awaited;
  readonly deadlineMs: number;
  /** Its neighbours in the list of all waiters. */
  before: AnyWaiter | undefined = undefined;
  after: AnyWaiter | undefined = undefined;
  readonly #all: Waiters;

  constructor(
    all: Waiters,
    awaited: Awaited,
    deadlineMs: number,
    signal: AbortSignal | undefined,
    caller: Deferred<T>,
  ) {
    super(signal, caller);
    this.#all = all;
    this.awaited = awaited;
    this.deadlineMs = deadlineMs;
    all.add(this);
  }

  onAbort(reason: unknown): void {
    this.awaited.leave(reason);
  }

  protected override settle(): boolean {
    const isFirst = super.settle();
    if (isFirst) this.#all.delete(this);
    return isFirst;
  }
}

type AnyWaiter = Waiter<never>;

/**
 * All of them are in a linked list. A set outgrows its hash tables, and each old table would keep
 * every waiter alive that was in it, with promises and locks, until a collection of the old heap.
 */
export class Waiters {
  #last: AnyWaiter | undefined;
  count = 0;
  readonly #onIdle: () => void;
  /** When the next scan is due; no deadline is much earlier. */
  dueMs = Number.POSITIVE_INFINITY;

  /** `onIdle` runs when the last waiter has left. */
  constructor(onIdle: () => void) {
    this.#onIdle = onIdle;
  }

  add(waiter: AnyWaiter): void {
    const last = this.#last;
    if (last !== undefined) last.after = waiter;
    waiter.before = last;
    this.#last = waiter;
    this.count += 1;
    if (waiter.deadlineMs < this.dueMs) this.dueMs = waiter.deadlineMs;
  }

  delete(waiter: AnyWaiter): void {
    const { before, after } = waiter;
    if (before !== undefined) before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    waiter.before = undefined;
    waiter.after = undefined;
    this.count -= 1;
    if (this.count === 0) this.#onIdle();
  }

  onAlarm(nowMs: number, lastFailure: string): void {
    if (nowMs < this.dueMs) return;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { deadlineMs, awaited } of this.#inOrder()) {
      if (deadlineMs <= nowMs) awaited.onDeadline(lastFailure);
      else if (deadlineMs < nextMs) nextMs = deadlineMs;
    }
    this.dueMs = Math.max(nextMs, nowMs + SCAN_MS_MIN);
    if (nextMs === Number.POSITIVE_INFINITY) this.dueMs = nextMs;
  }

  /** The client ends for that reason. */
  leaveAll(reason: unknown, isMeant: (awaited: Awaited) => boolean = () => true): void {
    for (const { awaited } of this.#inOrder()) {
      if (isMeant(awaited)) awaited.leave(withFate(reason, awaited));
    }
  }

  /** Oldest first. */
  #inOrder(): AnyWaiter[] {
    const all: AnyWaiter[] = [];
    for (let waiter = this.#last; waiter !== undefined; waiter = waiter.before) all.push(waiter);
    return all.reverse();
  }
}

/** When the client itself gives up a call that may wait in the table for `waitMs`. */
export function waitDeadlineMs(waitMs: number, nowMs: number, tryTimeoutMs: number): number {
  if (waitMs === WAIT_FOREVER) return Number.POSITIVE_INFINITY;
  return waitMs === 0 ? nowMs + tryTimeoutMs : nowMs + waitMs + DEADLINE_GRACE_MS;
}

/** What is left of a wait that began at `startedMs`, as it is sent to the table. */
export function remainingWaitMs(waitMs: number, startedMs: number, nowMs: number): number {
  if (waitMs === WAIT_FOREVER || waitMs === 0) return waitMs;
  const remainingMs = Math.ceil(waitMs - (nowMs - startedMs));
  return Math.min(Math.max(remainingMs, 1), WAIT_MS_MAX);
}
