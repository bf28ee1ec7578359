/**
 * Finds holds, and gives new tokens to holds that change their session or mode. A hold is found by
 * its session and sequence, whatever has happened to it, and by its newest token, but not by an
 * older one.
 */
import { END_REASON } from "../../protocol/index.js";
import type { Hold, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt, lookAt } from "./lone-holds.js";
import { reorder } from "./owners.js";

/** The hold that was granted to the acquire or claim of `sequence`. */
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

/** The hold or ticket that has the token. */
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
  changeToken(state, hold, (token) => {
    state.rows.move(hold.row, hold.session, token);
  });
}

/** Gives new tokens to all holds of a session, in their order. Lone holds stay rows. */
export function renewAllTokens(state: TableState, session: Session): void {
  const { rows } = state;
  for (let row = session.firstHold; row !== 0; row = rows.nextOf(row)) {
    const content = rows.contentOf(row);
    if (typeof content === "string") {
      state.holds.remove(row);
      rows.setToken(row, state.tokens.take());
      state.holds.add(row);
      state.noteLoneHold("converted", row, END_REASON.unknown);
    } else {
      changeToken(state, content, (token) => {
        rows.setToken(content.row, token);
      });
      state.note("converted", content);
    }
  }
}

/** Moves a hold or ticket to `session`, where it has the `sequence` of the claim. */
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
  state.holdsBySequence.add(row);
  moveLast(hold);
}

function changeToken(state: TableState, hold: Hold, enter: (token: number) => void): void {
  reorder(state, hold, () => {
    state.holds.remove(hold.row);
    hold.change().token = state.tokens.take();
    enter(hold.token);
    state.holds.add(hold.row);
  });
  moveLast(hold);
}

/** Moves a hold to the end in its keys, where no token is newer than its own. */
function moveLast(hold: Hold): void {
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}
