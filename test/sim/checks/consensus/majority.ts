/**
 * Majorities, written a second time: the checks must not use the sources, which a seeded bug may
 * have changed.
 */
import type { Configuration } from "../../../../src/raft/index.js";

/** Whether the members for which `has` is true may decide: a majority of each half with voters. */
export function isMajority(
  { voters, outgoing }: Configuration,
  has: (id: number) => boolean,
): boolean {
  return isMajorityOf(voters, has) && (outgoing.length === 0 || isMajorityOf(outgoing, has));
}

function isMajorityOf(voters: readonly number[], has: (id: number) => boolean): boolean {
  return 2 * voters.filter(has).length > voters.length;
}
