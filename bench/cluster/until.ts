/** Waits for a state that a cluster reaches by itself, for a limited time. */
import { setTimeout as delay } from "node:timers/promises";

const WAIT_MS_MAX = 120_000;
const POLL_INTERVAL_MS = 10;

/**
 * Resolves when `isSo` resolves to true; rejects if that takes too long, or if `signal` is aborted.
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
