/**
 * Closings: what remains of a hold that has ended while its keys stay closed for some time. The
 * counts in a session and in an identity follow from the closings that exist.
 */
import { Closing } from "../records/closing.js";
import type { Hold } from "../records/hold.js";
import { bytesOfName, bytesOfPlaces } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { advance } from "./grant.js";

/**
 * Makes a closing of a hold that was removed from everything except its keys, where its places
 * stay.
 */
export function close(state: TableState, hold: Hold, dueAt: number): void {
  const { token, session, identity, firstPlace } = hold;
  const number = state.takeNumber();
  const closing = new Closing(token, session.id, identity, dueAt, number, state.copies);
  closing.change().firstPlace = firstPlace;
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    place.claimant = closing;
  }
  addClosing(state, closing);
}

/** Ends a closing: the keys of the ended hold are open again. */
export function endClosing(state: TableState, closing: Closing): void {
  removeClosing(state, closing);
  state.note("opened", closing);
  for (let place = closing.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHold(place);
  }
  for (let place = closing.firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
}

/** Ends a closing in `keyName` alone. */
export function openKey(state: TableState, closing: Closing, keyName: string): void {
  const isLast = closing.firstPlace?.sibling === undefined;
  if (isLast) removeClosing(state, closing);
  else shrinkClosing(state, closing, keyName);
  let before: typeof closing.firstPlace;
  for (let place = closing.firstPlace; place !== undefined; place = place.sibling) {
    if (place.key.name === keyName) {
      state.note("opened", closing, place);
      place.key.removeHold(place);
      if (before === undefined) closing.change().firstPlace = place.sibling;
      else before.change().sibling = place.sibling;
    } else before = place;
  }
}

/** Adds a closing whose places are in their keys, or will be. */
export function addClosing(state: TableState, closing: Closing): void {
  state.closings.add(closing);
  state.closingsByToken.set(closing.token, closing);
  state.due.add(closing);
  count(state, closing, 1, bytesOfPlaces(closing.firstPlace));
}

/** Removes a closing with all its places, which the caller removes from their keys. */
function removeClosing(state: TableState, closing: Closing): void {
  state.closings.remove(closing);
  state.closingsByToken.delete(closing.token);
  state.due.remove(closing);
  count(state, closing, -1, -bytesOfPlaces(closing.firstPlace));
}

/** Accounts for one of several places that is removed. */
function shrinkClosing(state: TableState, closing: Closing, keyName: string): void {
  count(state, closing, 0, -bytesOfName(keyName));
}

function count(state: TableState, closing: Closing, closings: number, bytes: number): void {
  state.otherBytes += bytes;
  closing.identity?.countHolds(closings, bytes);
  const session = state.sessions.find(closing.session);
  if (session === undefined) return;
  session.closingCount += closings;
  session.closingBytes += bytes;
  session.bytes += bytes;
}
