/**
 * The rule of fencing, as a pure function of what a resource has seen so far. A claim is refused if
 * the resource has seen a newer token of a hold that excludes this one: tokens are given out in the
 * order of the grants, so the older hold had ended before the newer one began. A live holder is
 * never refused.
 *
 *   exclusive: refused below the newest token of any mode
 *   shared:    refused below the newest that is not shared
 *   permits:   refused below the newest of one of its own slots, and below the newest of any lock
 *
 * An equal token passes: a holder writes more than once.
 */
import type { Claim } from "./claim.js";

/**
 * The tokens that a resource has seen; plain data, to be stored with the resource. Each number only
 * grows; 0 means none yet.
 */
export interface FenceState {
  readonly exclusive: number;
  readonly shared: number;
  /** The newest token of each slot of a semaphore. */
  readonly slots: Readonly<Record<number, number>>;
}

export const NOTHING_SEEN: FenceState = Object.freeze({
  exclusive: 0,
  shared: 0,
  slots: Object.freeze({}),
});

/** The newest token that excludes the claim, whether it is newer or not; 0: none. */
export function newestAgainst(state: FenceState, claim: Claim): number {
  const { exclusive, shared } = state;
  switch (claim.mode) {
    case "exclusive":
      return Math.max(exclusive, shared, newestPermit(state));
    case "shared":
      return Math.max(exclusive, newestPermit(state));
    case "permits":
      return (claim.slots ?? []).reduce(
        (newest, slot) => Math.max(newest, state.slots[slot] ?? 0),
        Math.max(exclusive, shared),
      );
  }
}

/** The state after `claim` has passed; the same object if the claim adds nothing. */
export function withClaim(state: FenceState, claim: Claim): FenceState {
  const { token, mode } = claim;
  if (mode !== "permits") return state[mode] >= token ? state : { ...state, [mode]: token };
  const newer = (claim.slots ?? []).filter((slot) => (state.slots[slot] ?? 0) < token);
  if (newer.length === 0) return state;
  const slots = { ...state.slots, ...Object.fromEntries(newer.map((slot) => [slot, token])) };
  return { ...state, slots };
}

/** Whether the two holds cannot exist at the same time. */
export function excludes(one: Claim, other: Claim): boolean {
  if (one.mode === "shared" && other.mode === "shared") return false;
  if (one.mode !== "permits" || other.mode !== "permits") return true;
  return (one.slots ?? []).some((slot) => (other.slots ?? []).includes(slot));
}

/** Throws `TypeError` unless it is a `FenceState`, as read from storage. */
export function checkedState(state: FenceState): FenceState {
  const { exclusive, shared, slots } = state;
  const isState = typeof slots === "object" && slots !== null;
  const tokens = isState ? [exclusive, shared, ...Object.values(slots)] : [];
  const isWhole = tokens.every((token) => Number.isSafeInteger(token) && token >= 0);
  const hasSlots = isState && Object.keys(slots).every((slot) => /^\d{1,6}$/.test(slot));
  if (!isWhole || !hasSlots)
    throw new TypeError(`not the state of a fence: ${JSON.stringify(state)}`);
  return { exclusive, shared, slots: { ...slots } };
}

function newestPermit({ slots }: FenceState): number {
  let newest = 0;
  for (const token of Object.values(slots)) newest = Math.max(newest, token);
  return newest;
}
