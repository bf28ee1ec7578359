/**
 * New tokens for holds that change hands or mode. The old one finds the hold until its client knows
 * a newer one and has read every outcome that names the old one: each of these it may still cancel,
 * and what it cancels must be found. For the guarded resource the old token is stale at once.
 */
import { type Result, STATUS } from "../protocol/index.js";
import { Alias, type Hold, type HoldExtras } from "./hold.js";
import { holdAt, lookAt } from "./lone-holds.js";
import { reorder } from "./owning.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** Of takeovers so many old tokens find their hold; older ones only while an outcome names them. */
const TAKEN_OVER_MAX = 4;

/** The hold that has the token, or had it and is still found by it. */
export function findHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.rowOf(token);
  return row === 0 ? state.holds.formerly(token) : holdAt(state, row);
}

/** The same, to be read only. */
export function lookAtHold(state: TableState, token: number): Hold | undefined {
  const row = state.holds.rowOf(token);
  return row === 0 ? state.holds.formerly(token) : lookAt(state, row);
}

/** `sequence`: of the upgrade that brings the new token; 0: a takeover does. */
export function renewToken(state: TableState, hold: Hold, sequence: number): void {
  const { token } = hold;
  state.saving.keepHold(hold);
  // They name the hold by its token.
  for (const upgrade of hold.extras?.upgrades ?? []) state.saving.keepRequest(upgrade);
  if (sequence === 0) dropTakenOver(state, hold);
  reorder(state, hold, () => {
    takeToken(state, hold);
  });
  const alias = new Alias(token, hold, sequence);
  hold.obtainExtras().aliases.push(alias);
  state.holds.addAlias(alias);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.moveHoldLast(place);
  }
}

/** A takeover may be told to the table several times before its client hears of the new tokens. */
function dropTakenOver(state: TableState, hold: Hold): void {
  const aliases = hold.extras?.aliases ?? [];
  let tooMany = aliases.filter(({ sequence }) => sequence === 0).length + 1 - TAKEN_OVER_MAX;
  if (tooMany <= 0) return;
  const all = aliases.splice(0);
  for (const alias of all) {
    const isOlder = alias.sequence === 0 && tooMany > 0;
    if (isOlder) tooMany -= 1;
    if (isOlder && !isNamed(alias)) state.holds.removeAlias(alias);
    else aliases.push(alias);
  }
}

/**
 * An outcome that names a token was acknowledged. Who knows the token that an upgrade brought has no
 * use for older ones, in whatever order it says so; but for those that other outcomes name, until
 * they are acknowledged too.
 */
export function forgetOlder(
  state: TableState,
  sequence: number,
  { status, token }: Extract<Result, { readonly token: number }>,
): void {
  const alias = state.holds.aliasOf(token);
  if (alias?.hold.extras?.outlived?.has(alias) === true) {
    if (!isNamed(alias)) forgetOutlived(state, alias);
    return;
  }
  if (status !== STATUS.upgraded) return;
  const hold = alias?.hold ?? findHold(state, token);
  if (hold !== undefined) outlive(state, hold, sequence);
}

/**
 * The client knows the token that the upgrade of `sequence` brought. What this looks at leaves the
 * list, so that no number of acknowledgements takes longer than the upgrades before did.
 */
function outlive(state: TableState, hold: Hold, sequence: number): void {
  const { extras } = hold;
  const count = (extras?.aliases.findIndex((alias) => alias.sequence === sequence) ?? -1) + 1;
  if (extras === undefined || count === 0) return;
  state.saving.keepHold(hold);
  for (const alias of extras.aliases.splice(0, count)) {
    alias.sequence = sequence;
    if (isNamed(alias)) addOutlived(extras, alias);
    else state.holds.removeAlias(alias);
  }
}

function addOutlived(extras: HoldExtras, alias: Alias): void {
  extras.outlived ??= new Set();
  extras.outlived.add(alias);
}

function forgetOutlived(state: TableState, alias: Alias): void {
  const { hold } = alias;
  state.saving.keepHold(hold);
  hold.extras?.outlived?.delete(alias);
  state.holds.removeAlias(alias);
}

/** An outcome that was not acknowledged names it, and may be cancelled. */
function isNamed({ token, hold }: Alias): boolean {
  return hold.session.replies.isNamed(token, hold.sequence);
}

/**
 * A snapshot has all old tokens of a hold in one list. Those are outlived whose upgrade was
 * acknowledged: the stored replies of its session, which must be there already, tell.
 */
export function restoreOutlived({ session, extras }: Hold): void {
  if (extras === undefined || extras.aliases.length === 0) return;
  for (const alias of extras.aliases.splice(0)) {
    const { sequence } = alias;
    const isKnown = sequence > 0 && session.replies.find(sequence)?.state !== "outcome";
    if (isKnown) addOutlived(extras, alias);
    else extras.aliases.push(alias);
  }
}

/** The hold is no more. */
export function forgetTokens(state: TableState, hold: Hold): boolean {
  for (const alias of hold.extras?.allAliases ?? []) state.holds.removeAlias(alias);
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
  const extras = hold.obtainExtras();
  for (const alias of extras.allAliases) state.holds.removeAlias(alias);
  extras.aliases.length = 0;
  extras.outlived = undefined;
}
