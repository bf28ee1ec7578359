/** Waits for what a cluster does by itself, for a bounded time. */
import { setTimeout as delay } from "node:timers/promises";

const WAIT_MS_MAX = 120_000;
const POLL_INTERVAL_MS = 10;

/**
 * Resolves once `isSo` does; rejects when that takes too long, or when `signal` is aborted.
 *
 * @param what for the message: "waited in vain for …"
 */
export async function until(
  what: string,
  isSo: () => Promise<boolean>,
  signal: AbortSignal,
  waitMsMax = WAIT_MS_MAX,
): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`waited in vain for ${what}`);
    await delay(POLL_INTERVAL_MS, undefined, { signal });
  }
}
