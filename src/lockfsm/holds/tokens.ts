/**
 * Finding holds, and the new tokens of those that change hands or mode. A hold is found by its session
 * and sequence, whatever happened to it, and by its newest token; of older ones nobody knows.
 */
import { END_REASON } from "../../protocol/index.js";
import type { Hold, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { holdAt, lookAt } from "./lone-holds.js";
import { reorder } from "./owners.js";

/** The hold that the acquire or claim of `sequence` brought. */
export function holdOf(state: TableState, session: Session, sequence: number): Hold | undefined {
  const row = state.holdsBySequence.find(session, sequence);
  return row === 0 ? undefined : holdAt(state, row);
}

/** The same, to be read only. */
export function lookAtHoldOf(
  state: TableState,
  session: Session,
  sequence: number,
): Hold | undefined {
  const row = state.holdsBySequence.find(session, sequence);
  return row === 0 ? undefined : lookAt(state, row);
}

/** The hold or ticket that carries the token. */
export function findHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.find(token);
  return row === 0 ? undefined : holdAt(state, row);
}

/** The same, to be read only. */
export function lookAtHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.find(token);
  return row === 0 ? undefined : lookAt(state, row);
}

/** It is the newest of its session from now on. */
export function renewToken(state: TableState, hold: Hold): void {
  changeToken(state, hold, (token) => {
    state.rows.move(hold.row, hold.session, token);
  });
}

/** New tokens for all holds of a session, in their order: lone ones stay rows. */
export function renewAllTokens(state: TableState, session: Session): void {
  const { rows } = state;
  for (let row = session.firstHold; row !== 0; row = rows.nextOf(row)) {
    const content = rows.contentOf(row);
    if (typeof content === "string") {
      state.holds.remove(row);
      rows.setToken(row, state.tokens.take());
      state.holds.add(row);
      state.noteAlone("converted", row, END_REASON.unknown);
    } else {
      changeToken(state, content, (token) => {
        rows.setToken(content.row, token);
      });
      state.note("converted", content);
    }
  }
}

/** The hold or ticket becomes one of `session`, known by the `sequence` of the claim. */
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

/** No token in its keys is newer than that of the hold. */
function moveLast(hold: Hold): void {
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}
