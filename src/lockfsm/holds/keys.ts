/**
 * Keys as commands name them: what a key is, lock or semaphore, while it is in use, and how a place
 * in it is made. A key exists from its first use to its last.
 */
import { assert, ERROR_NUMBERS } from "../../errors/index.js";
import type { Item, Result } from "../../protocol/index.js";
import type { Hold } from "../records/hold.js";
import { type Claimant, type Key, type KeyEntry, Permits, Place } from "../records/key.js";
import { Semaphore } from "../records/semaphore.js";
import { bytesOfName } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { INVALID_ARGUMENT, WRONG_KIND } from "../results.js";
import { holdAt, lookAt } from "./lone-holds.js";

/** The key of that name, for callers that may change it; `undefined` if it is not in use. */
export function findKey(state: TableState, name: string): Key | undefined {
  const entry = state.keys.get(name);
  return typeof entry === "number" ? keyOf(holdAt(state, entry)) : entry;
}

/** The same, made if it is not in use. */
export function obtainKey(state: TableState, name: string): Key {
  return findKey(state, name) ?? state.keys.add(name);
}

/** The same, for reading only. */
export function lookAtKey(state: TableState, name: string): Key | undefined {
  const entry = state.keys.get(name);
  return entry === undefined ? undefined : lookAtEntry(state, entry);
}

export function lookAtEntry(state: TableState, entry: KeyEntry): Key {
  return typeof entry === "number" ? keyOf(lookAt(state, entry)) : entry;
}

export function waitersOf(state: TableState, name: string): number {
  const entry = state.keys.get(name);
  return entry === undefined || typeof entry === "number" ? 0 : entry.waiterCount;
}

/** The key of a hold that has one. */
function keyOf({ firstPlace }: Hold): Key {
  assert(firstPlace !== undefined, () => "a hold of no key");
  return firstPlace.key;
}

/** Why the key of an item cannot be used as the item asks; `undefined` if it can. */
export function kindProblem(state: TableState, item: Item): Result | undefined {
  const key = state.keys.get(item.key);
  if (typeof key === "number") return item.mode === "permits" ? WRONG_KIND : undefined;
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

/**
 * Makes a place for a claim in the key of an item that has no `kindProblem`. It is not in any list
 * yet.
 */
export function placeOf(state: TableState, item: Item, claimant: Claimant): Place {
  const key = obtainKey(state, item.key);
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
  const semaphore = new Semaphore(key.name, limit, isSet, state.copies);
  key.semaphore = semaphore;
  state.semaphores.add(semaphore);
  if (isSet) state.otherBytes += bytesOfName(key.name);
  return semaphore;
}

/** Forgets a key that has become idle. */
export function dropKey(state: TableState, key: Key): void {
  const { semaphore } = key;
  if (semaphore !== undefined) {
    state.semaphores.remove(semaphore);
    key.semaphore = undefined;
  }
  state.keys.drop(key);
}
