/**
 * Cooldowns: what remains of a hold that has ended while its keys stay closed for some time. The
 * counts in a session and in an identity follow from the cooldowns that exist.
 */
import { Cooldown } from "../records/cooldown.js";
import type { Hold } from "../records/hold.js";
import { bytesOfName, bytesOfPlaces } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { advance } from "./grant.js";

/**
 * Makes a cooldown of a hold that was removed from everything except its keys, where its places
 * stay.
 */
export function coolDown(state: TableState, hold: Hold, dueAt: number): void {
  const { token, session, identity, firstPlace } = hold;
  const number = state.takeNumber();
  const cooldown = new Cooldown(token, session.id, identity, dueAt, number, state.copies);
  cooldown.change().firstPlace = firstPlace;
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    place.claimant = cooldown;
  }
  addCooldown(state, cooldown);
}

/** Ends a cooldown: the keys of the ended hold are open again. */
export function endCooldown(state: TableState, cooldown: Cooldown): void {
  removeCooldown(state, cooldown);
  state.note("opened", cooldown);
  for (let place = cooldown.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHold(place);
  }
  for (let place = cooldown.firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
}

/** Ends a cooldown in `keyName` alone. */
export function openKey(state: TableState, cooldown: Cooldown, keyName: string): void {
  const isLast = cooldown.firstPlace?.sibling === undefined;
  if (isLast) removeCooldown(state, cooldown);
  else shrinkCooldown(state, cooldown, keyName);
  let before: typeof cooldown.firstPlace;
  for (let place = cooldown.firstPlace; place !== undefined; place = place.sibling) {
    if (place.key.name === keyName) {
      state.note("opened", cooldown, place);
      place.key.removeHold(place);
      if (before === undefined) cooldown.change().firstPlace = place.sibling;
      else before.change().sibling = place.sibling;
    } else before = place;
  }
}

/** Adds a cooldown whose places are in their keys, or will be. */
export function addCooldown(state: TableState, cooldown: Cooldown): void {
  state.cooldowns.add(cooldown);
  state.cooldownsByToken.set(cooldown.token, cooldown);
  state.due.add(cooldown);
  count(state, cooldown, 1, bytesOfPlaces(cooldown.firstPlace));
}

/** Removes a cooldown with all its places, which the caller removes from their keys. */
function removeCooldown(state: TableState, cooldown: Cooldown): void {
  state.cooldowns.remove(cooldown);
  state.cooldownsByToken.delete(cooldown.token);
  state.due.remove(cooldown);
  count(state, cooldown, -1, -bytesOfPlaces(cooldown.firstPlace));
}

/** Accounts for one of several places that is removed. */
function shrinkCooldown(state: TableState, cooldown: Cooldown, keyName: string): void {
  count(state, cooldown, 0, -bytesOfName(keyName));
}

function count(state: TableState, cooldown: Cooldown, cooldowns: number, bytes: number): void {
  state.otherBytes += bytes;
  cooldown.identity?.countHolds(cooldowns, bytes);
  const session = state.sessions.find(cooldown.session);
  if (session === undefined) return;
  session.cooldownCount += cooldowns;
  session.cooldownBytes += bytes;
  session.bytes += bytes;
}
