/**
 * Keys as commands name them: what a key is, lock or semaphore, while it is in use, and how a place
 * in it is made. A key comes into being with its first use and goes with its last.
 */
import { ERROR_NUMBERS } from "../errors.js";
import type { Item, Result } from "../protocol/index.js";
import type { Key } from "./key.js";
import { type Claim, Permits, Place } from "./place.js";
import { INVALID_ARGUMENT, WRONG_KIND } from "./results.js";
import { Semaphore } from "./semaphore.js";
import type { TableState } from "./state.js";

/** Why the key of an item cannot be used as the item says, or `undefined`. */
export function kindProblem(state: TableState, item: Item): Result | undefined {
  const key = state.keys.find(item.key);
  const semaphore = key?.semaphore;
  if (item.mode !== "permits") return semaphore === undefined ? undefined : WRONG_KIND;
  if (semaphore === undefined) {
    if (key !== undefined) return WRONG_KIND;
    return item.limit === undefined || item.permits > item.limit ? INVALID_ARGUMENT : undefined;
  }
  const { limit } = semaphore;
  if (item.limit !== undefined && item.limit !== limit) {
    return { status: ERROR_NUMBERS.LIMIT_MISMATCH, limit };
  }
  return item.permits > limit ? INVALID_ARGUMENT : undefined;
}

/** A place of a claim in the key of an item that has no `kindProblem`; it stands in no list yet. */
export function placeOf(state: TableState, item: Item, claimant: Claim): Place {
  const key = state.keys.obtain(item.key);
  if (item.mode !== "permits") return new Place(key, item.mode, claimant, undefined);
  if (key.semaphore === undefined) makeSemaphore(state, key, item.limit ?? 0, false);
  return new Place(key, item.mode, claimant, new Permits(item.permits));
}

export function makeSemaphore(
  state: TableState,
  key: Key,
  limit: number,
  isSet: boolean,
): Semaphore {
  const semaphore = new Semaphore(key, limit, isSet, state.saving.epoch);
  key.semaphore = semaphore;
  state.semaphores.add(semaphore);
  return semaphore;
}

/** Forgets a key that became idle. */
export function dropKey(state: TableState, key: Key): void {
  const { semaphore } = key;
  if (semaphore !== undefined) {
    state.saving.keepSemaphore(semaphore);
    state.semaphores.remove(semaphore);
    key.semaphore = undefined;
  }
  state.keys.drop(key);
}
