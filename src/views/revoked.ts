/** What a revoke did, and what is left to happen. Pure. */
import { formatDuration } from "./durations.js";
import { countText } from "./phrase.js";

/** The numbers of the SDK's `Revoked`. */
export interface RevokedNumbers {
  readonly revoked: number;
  readonly opened: number;
  readonly endsInMs: number;
  readonly leasesLeft: number;
}

/** "2 holds asked to end, at the latest in 15s", "1 hold ended", "not held". */
export function revokedText({ revoked, opened, endsInMs, leasesLeft }: RevokedNumbers): string {
  const isLeft = endsInMs > 0;
  const before = isLeft ? "asked to end before" : "not held";
  const asked = `${countText(revoked, "hold")} ${isLeft ? "asked to end" : "ended"}`;
  const last = isLeft ? `, at the latest in ${formatDuration(endsInMs)}` : "";
  return (
    (revoked === 0 ? before : asked) + last + (opened > 0 ? ", opened" : "") + untold(leasesLeft)
  );
}

/** The owner of a lease hears of nothing, so it keeps the lease until its end. */
function untold(leases: number): string {
  if (leases === 0) return "";
  return `; ${countText(leases, "lease")} among them, whose owner is not told`;
}
