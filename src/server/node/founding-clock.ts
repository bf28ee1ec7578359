/**
 * Checks that the clock of this machine is plausible when a cluster is founded, because the first
 * fencing token follows from it, forever. It must never be called for a cluster that exists
 * already.
 */
import { HoldfastError } from "../../errors/index.js";

/** Before the first release of Holdfast. */
const EARLIEST_MS = Date.UTC(2026, 0, 1);
/**
 * Tokens stay whole numbers until 2106; a cluster founded later than this would soon run out of
 * them.
 */
const LATEST_MS = Date.UTC(2100, 0, 1);

/** Throws `INVALID_ARGUMENT` if `wallMs`, milliseconds since 1970, cannot be the current time. */
export function demandPlausibleClock(wallMs: number): void {
  if (wallMs >= EARLIEST_MS && wallMs < LATEST_MS) return;
  throw new HoldfastError(
    "INVALID_ARGUMENT",
    `the clock of this machine says ${new Date(wallMs).toISOString()}: set it before a ` +
      "cluster is founded, because its fencing tokens start from it",
  );
}
