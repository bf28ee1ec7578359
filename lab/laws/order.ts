/**
 * Who goes first: requests that exclude each other are granted in the order in which they arrived, less the
 * head start that their priority gives them (docs/internals/semantics.md, 4.4). Judges know both only within
 * bounds: when a request must have arrived, and how much of its head start it may have had to give up.
 */

/** What a step of priority is worth, unless the cluster has another setting. */
export const PRIORITY_STEP_MS = 1_000;

/** One unit of time for all. */
export interface Place {
  readonly arrived: { readonly earliest: number; readonly latest: number };
  readonly headStart: { readonly least: number; readonly most: number };
}

/**
 * By how much `one` is surely ahead of `other`. At 0 they may have the same rank, and the one that
 * arrived first goes first; less than 0: the order is not known, or it is the other.
 */
export function leadOf(one: Place, other: Place): number {
  const rank = one.arrived.latest - one.headStart.least;
  return other.arrived.earliest - other.headStart.most - rank;
}
