/** What a client learns by a grant: the claims of what it asked for, with the slots that it got. */
import type { AcquireCommand, Result, STATUS } from "../../../../src/protocol/index.js";
import type { BeliefClaim } from "../belief.js";

export function claimsGranted(
  { items }: Pick<AcquireCommand, "items">,
  { slots = [] }: Extract<Result, { status: typeof STATUS.granted }>,
): BeliefClaim[] {
  let semaphores = 0;
  return items.map(({ key, mode }) => {
    if (mode !== "permits") return { key, mode, slots: [] };
    semaphores += 1;
    return { key, mode, slots: slots[semaphores - 1] ?? [] };
  });
}
