/**
 * Finds holds, and gives new tokens to holds that change their session or mode. A hold is found by
 * its session and sequence, whatever has happened to it, and by its newest token, but not by an
 * older one.
 */
import type { Hold } from "../records/hold.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt, lookAt } from "./lone-holds.js";
import { reorder } from "./tasks.js";

/** The hold that the acquire or adopt of `sequence` brought. */
export function holdOf(state: TableState, session: Session, sequence: number): Hold | undefined {
  const row = state.holdsBySequence.find(session, sequence);
  return row === 0 ? undefined : holdAt(state, row);
}

/** The same, for reading only. */
export function lookAtHoldOf(
  state: TableState,
  session: Session,
  sequence: number,
): Hold | undefined {
  const row = state.holdsBySequence.find(session, sequence);
  return row === 0 ? undefined : lookAt(state, row);
}

/** The hold that has the token. */
export function findHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.find(token);
  return row === 0 ? undefined : holdAt(state, row);
}

/** The same, for reading only. */
export function lookAtHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.find(token);
  return row === 0 ? undefined : lookAt(state, row);
}

/** Gives a hold a new token, which makes it the newest of its session. */
export function renewToken(state: TableState, hold: Hold): void {
  reorder(state, hold, () => {
    state.holds.remove(hold.row);
    hold.change().token = state.tokens.take();
    state.rows.move(hold.row, hold.session, hold.token);
    state.holds.add(hold.row);
  });
  moveLast(hold);
}

/**
 * Moves a hold, which nobody's claims include any more, to the session of `sequence`, or to the
 * session of the holds of owners.
 */
export function moveHold(state: TableState, hold: Hold, session: Session, sequence: number): void {
  const { row } = hold;
  state.holds.remove(row);
  const moved = hold.change();
  moved.session = session;
  moved.sequence = sequence;
  moved.token = state.tokens.take();
  state.rows.setSequence(row, sequence);
  state.rows.move(row, session, hold.token);
  state.holds.add(row);
  if (!hold.isDetached) state.holdsBySequence.add(row);
  moveLast(hold);
}

/** Moves a hold to the end in its keys, where no token is newer than its own. */
function moveLast(hold: Hold): void {
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}
