/** How long a request may wait: what the table is told, and when the client gives up by itself. */
import { WAIT_FOREVER, WAIT_MS_MAX } from "../../protocol/index.js";

/** Time for the table's own answer before the client enforces a deadline by itself. */
const DEADLINE_GRACE_MS = 500;

/** When the client gives up by itself what may wait in the table for `waitMs`. */
export function waitDeadlineMs(waitMs: number, nowMs: number, tryTimeoutMs: number): number {
  if (waitMs === WAIT_FOREVER) return Number.POSITIVE_INFINITY;
  return waitMs === 0 ? nowMs + tryTimeoutMs : nowMs + waitMs + DEADLINE_GRACE_MS;
}

/** What is left of a wait that began at `startedMs`, as it is told to the table. */
export function remainingWaitMs(waitMs: number, startedMs: number, nowMs: number): number {
  if (waitMs === WAIT_FOREVER || waitMs === 0) return waitMs;
  const remainingMs = Math.ceil(waitMs - (nowMs - startedMs));
  return Math.min(Math.max(remainingMs, 1), WAIT_MS_MAX);
}
