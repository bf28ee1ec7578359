/** What a client learns by a grant: the claims of what it asked for, with the slots that it got. */
import type { AcquireCommand, Result, STATUS } from "../../../src/protocol/index.js";
import type { BeliefClaim } from "./belief.js";

export interface Grant {
  readonly token: number;
  readonly owner: number;
  readonly claims: readonly BeliefClaim[];
  readonly count: number;
  /** A cancel was sent, which may have ended it. */
  readonly isCancelled: boolean;
  /** Tokens that it had in the process before: it must not be counted on under one of these. */
  readonly former: readonly number[];
}

export function claimsGranted(
  { items }: AcquireCommand,
  { slots = [] }: Extract<Result, { status: typeof STATUS.granted }>,
): BeliefClaim[] {
  let semaphores = 0;
  return items.map(({ key, mode }) => {
    if (mode !== "permits") return { key, mode, slots: [] };
    semaphores += 1;
    return { key, mode, slots: slots[semaphores - 1] ?? [] };
  });
}
