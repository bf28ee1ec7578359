/**
 * New tokens for holds that change hands or mode. The old one finds the hold until its client may
 * be taken to know the new one; for the guarded resource it is stale at once.
 */
import { Alias, type Hold } from "./hold.js";
import { holdAt, lookAt } from "./lone-holds.js";
import { OwnerRecord } from "./owner-index.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** Of takeovers so many old tokens find their hold; older ones are forgotten. */
const TAKEN_OVER_MAX = 4;

/** The hold that has the token, or had it until its client may have heard of a newer one. */
export function findHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.rowOf(token);
  return row === 0 ? state.holds.formerly(token) : holdAt(state, row);
}

/** The same, to be read only. */
export function lookAtHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.rowOf(token);
  return row === 0 ? state.holds.formerly(token) : lookAt(state, row);
}

/** `sequence`: of the upgrade whose acknowledgement makes the old token unknown; 0: a takeover. */
export function renewToken(state: TableState, hold: Hold, sequence: number): void {
  const { session, token } = hold;
  state.saving.keepHold(hold);
  // They name the hold by its token.
  for (const upgrade of hold.extras?.upgrades ?? []) state.saving.keepRequest(upgrade);
  if (sequence === 0) dropTakenOver(state, hold);
  takeToken(state, hold);
  const alias = new Alias(token, hold, sequence);
  hold.obtainExtras().aliases.push(alias);
  state.holds.addAlias(alias);
  // What an owner holds stands in the order of tokens.
  const entry = state.owners.find(session, hold.owner);
  if (entry instanceof OwnerRecord) {
    entry.delete(hold);
    entry.add(hold);
  }
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}

/** A takeover may be told to the table several times before its client hears of the new tokens. */
function dropTakenOver(state: TableState, hold: Hold): void {
  const aliases = hold.extras?.aliases ?? [];
  const count = aliases.filter(({ sequence }) => sequence === 0).length;
  if (count < TAKEN_OVER_MAX) return;
  const oldest = aliases.findIndex(({ sequence }) => sequence === 0);
  for (const alias of aliases.splice(oldest, 1)) state.holds.removeAlias(alias);
}

/**
 * Forgets the token that an upgrade of this sequence replaced, and those before it: who knows the
 * newer one has no use for them, in whatever order it says so.
 */
export function dropAliases(state: TableState, hold: Hold, sequence: number): void {
  const aliases = hold.extras?.aliases ?? [];
  const count = aliases.findIndex((alias) => alias.sequence === sequence) + 1;
  if (count === 0) return;
  state.saving.keepHold(hold);
  for (const alias of aliases.splice(0, count)) state.holds.removeAlias(alias);
}

/** The hold is no more. */
export function forgetTokens(state: TableState, hold: Hold): boolean {
  for (const alias of hold.extras?.aliases ?? []) state.holds.removeAlias(alias);
  return state.holds.remove(hold.row);
}

/** The hold goes on in another session, under a new token and without the old one. */
export function moveHold(state: TableState, hold: Hold, session: Session): void {
  hold.session = session;
  takeToken(state, hold);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}

/** Makes it the newest of its session. */
function takeToken(state: TableState, hold: Hold): void {
  const { row, session } = hold;
  state.holds.remove(row);
  hold.token = state.tokens.take();
  state.rows.move(row, session, hold.token);
  state.holds.add(row);
}

export function dropAllAliases(state: TableState, hold: Hold): void {
  const { aliases } = hold.obtainExtras();
  for (const alias of aliases.splice(0)) state.holds.removeAlias(alias);
}
