/** Reentrance: a hold that its owner asks for again is counted, under the token that it has. */
import type { AcquireCommand, Item, Result } from "../protocol/index.js";
import { grantedResult, placeIn } from "./granting.js";
import { Hold } from "./hold.js";
import { findKey } from "./keys.js";
import { holdsOf } from "./owning.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** Counts up the hold of exactly these keys, each at least as strong; `undefined`: there is none. */
export function reenter(
  state: TableState,
  session: Session,
  { owner, items }: AcquireCommand,
): Result | undefined {
  const hold = findHold(state, session, owner, items);
  if (hold === undefined) return undefined;
  state.saving.keepHold(hold);
  hold.obtainExtras().count += 1;
  session.replies.noteNaming(hold.token);
  return grantedResult(hold);
}

/** One less; returns how often it is still held, and ends nothing. */
export function countDown(state: TableState, hold: Hold): number {
  state.saving.keepHold(hold);
  const extras = hold.obtainExtras();
  extras.count -= 1;
  return extras.count;
}

/** Looks through those who hold the first key, or what the owner has, where that is less. */
function findHold(
  state: TableState,
  session: Session,
  owner: number,
  items: readonly Item[],
): Hold | undefined {
  const [item] = items;
  const entry = item === undefined ? undefined : state.keys.get(item.key);
  if (item === undefined || entry === undefined) return undefined;
  if (typeof entry === "number" && entry !== state.loneOwners.find(session, owner))
    return undefined;
  const key = typeof entry === "number" ? findKey(state, item.key) : entry;
  if (key === undefined || key.holdCount === 0) return undefined;
  const holds = holdsOf(state, { session, owner });
  if (holds.size <= key.holdCount) {
    for (const hold of holds) if (covers(state, hold, items)) return hold;
    return undefined;
  }
  for (let place = key.firstHold; place !== undefined; place = place.next) {
    const { claimant } = place;
    if (!(claimant instanceof Hold)) continue;
    if (claimant.session !== session || claimant.owner !== owner) continue;
    if (covers(state, claimant, items)) return claimant;
  }
  return undefined;
}

function covers(state: TableState, hold: Hold, items: readonly Item[]): boolean {
  let places = 0;
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) places += 1;
  if (places !== items.length) return false;
  return items.every((item) => {
    const place = placeIn(hold, findKey(state, item.key));
    if (place === undefined) return false;
    if (item.mode === "permits") return place.wanted >= item.permits;
    return place.mode === "exclusive" || place.mode === item.mode;
  });
}
