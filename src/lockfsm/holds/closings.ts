/**
 * What is left of holds that ended but keep their keys closed for a while. What of a session is counted
 * follows from the closings there are.
 */
import { Closing } from "../records/closing.js";
import type { Hold } from "../records/session.js";
import { bytesOfName, bytesOfPlaces } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { advance } from "./grant.js";

/** A hold that was taken out of everything but its keys, in which its places stay. */
export function close(state: TableState, hold: Hold, dueAt: number): void {
  const { token, session, firstPlace } = hold;
  const number = state.takeNumber();
  const closing = new Closing(token, session.id, dueAt, number, state.copies);
  closing.change().firstPlace = firstPlace;
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    place.claimant = closing;
  }
  addClosing(state, closing);
}

/** The keys of a hold that ended are open again. */
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

/** Ends what keeps `key` closed, and there alone. */
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

/** With its places, which stand in their keys already, or will. */
export function addClosing(state: TableState, closing: Closing): void {
  state.closings.add(closing);
  state.due.add(closing);
  count(state, closing, 1, bytesOfPlaces(closing.firstPlace));
}

/** With all of its places, which are taken out of their keys elsewhere. */
function removeClosing(state: TableState, closing: Closing): void {
  state.closings.remove(closing);
  state.due.remove(closing);
  count(state, closing, -1, -bytesOfPlaces(closing.firstPlace));
}

/** One of its places, and not the last, goes. */
function shrinkClosing(state: TableState, closing: Closing, keyName: string): void {
  count(state, closing, 0, -bytesOfName(keyName));
}

function count(state: TableState, { session: id }: Closing, closings: number, bytes: number): void {
  state.otherBytes += bytes;
  const session = state.sessions.find(id);
  if (session === undefined) return;
  session.closingCount += closings;
  session.bytes += bytes;
}
