/**
 * The rule of fencing, as a pure function of what a resource has seen so far. A claim is refused
 * when a newer token was seen that its own hold excludes: tokens are given out in the order of the
 * grants, so the older hold had ended before the newer one began. A live holder is never refused.
 *
 *   exclusive: refused below the newest token of any mode
 *   shared:    refused below the newest that is not shared
 *   permits:   refused below the newest of one of its own slots, and below the newest of any lock
 *
 * Equal passes: a holder writes more than once.
 */
import type { Claim } from "./claim.js";

/**
 * What has been seen; plain data, to be kept beside what it guards. Each number only grows; 0 is
 * "none yet".
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

/** The newest token that stands against the claim, whether it is newer or not; 0: none. */
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

/** What has been seen once `claim` has passed; the same object when it brings nothing new. */
export function withClaim(state: FenceState, claim: Claim): FenceState {
  const { token, mode } = claim;
  if (mode !== "permits") return state[mode] >= token ? state : { ...state, [mode]: token };
  const newer = (claim.slots ?? []).filter((slot) => (state.slots[slot] ?? 0) < token);
  if (newer.length === 0) return state;
  const slots = { ...state.slots, ...Object.fromEntries(newer.map((slot) => [slot, token])) };
  return { ...state, slots };
}

/** Whether the holds of both cannot exist at the same time. */
export function excludes(one: Claim, other: Claim): boolean {
  if (one.mode === "shared" && other.mode === "shared") return false;
  if (one.mode !== "permits" || other.mode !== "permits") return true;
  return (one.slots ?? []).some((slot) => (other.slots ?? []).includes(slot));
}

/** Throws `TypeError` unless it is what `FenceState` says, as read from wherever it was kept. */
export function checkedState(state: FenceState): FenceState {
  const { exclusive, shared, slots } = state;
  const isState = typeof slots === "object" && slots !== null;
  const tokens = isState ? [exclusive, shared, ...Object.values(slots)] : [];
  const isWhole = tokens.every((token) => Number.isSafeInteger(token) && token >= 0);
  const hasSlots = isState && Object.keys(slots).every((slot) => /^\d{1,6}$/.test(slot));
  if (!isWhole || !hasSlots) throw new TypeError(`no state of a fence: ${JSON.stringify(state)}`);
  return { exclusive, shared, slots: { ...slots } };
}

function newestPermit({ slots }: FenceState): number {
  let newest = 0;
  for (const token of Object.values(slots)) newest = Math.max(newest, token);
  return newest;
}
