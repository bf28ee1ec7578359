/** What answers say of a lease, as JSON. A lease without end has no times. */
import type { ExtendedLeaseOf, Lease } from "../../client/index.js";

/** The times count from the beginning of the request, which is later than its sending. */
export function leaseBody({ slots, ...lease }: Lease): string {
  const rest = slots.length === 0 ? "" : `,"slots":${JSON.stringify(slots)}`;
  return `{${membersOf(lease)}${rest}}`;
}

export function extendedBody(lease: ExtendedLeaseOf): string {
  return `{${membersOf(lease)}}`;
}

function membersOf({ token, trustMs, endsInMs }: ExtendedLeaseOf): string {
  return `"token":${token},"trustMs":${timeOf(trustMs)},"endsInMs":${timeOf(endsInMs)}`;
}

/** Rounded down: nobody may rely on a lease for longer. */
function timeOf(ms: number): number | null {
  return ms === Number.POSITIVE_INFINITY ? null : Math.floor(ms);
}
