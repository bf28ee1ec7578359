/** What changes of a hold while it is held: its mode in a key, and its value. */
import {
  type DowngradeCommand,
  type UpdateCommand,
  type UpgradeCommand,
  WAIT_FOREVER,
} from "../protocol/index.js";
import { isValidWait, lineUp } from "./acquiring.js";
import { holdOf, store } from "./giving-up.js";
import { advance, placeIn } from "./granting.js";
import type { Hold } from "./hold.js";
import { findKey, obtainKey } from "./keys.js";
import { Place } from "./place.js";
import { NO_DEADLINE, Request, UPGRADE_RANK } from "./request.js";
import { INVALID_ARGUMENT, NOT_HELD, OK, QUOTA, WRONG_KIND } from "./results.js";
import type { Session } from "./session.js";
import { isOverfull } from "./sizes.js";
import type { TableState } from "./state.js";

/** Exclusive becomes shared, at once; what is shared already stays so. */
export function downgrade(state: TableState, session: Session, command: DowngradeCommand): void {
  const { sequence, token, key: name } = command;
  const hold = holdOf(state, session, token);
  const places = hold === undefined ? [] : placesOf(state, hold, name);
  if (hold === undefined || places.length === 0) {
    store(state, session, sequence, NOT_HELD);
    return;
  }
  if (places.every(({ permits }) => permits !== undefined)) {
    store(state, session, sequence, WRONG_KIND);
    return;
  }
  store(state, session, sequence, OK);
  for (const place of places) weaken(state, hold, place);
}

/** Lets those in that go together with a shared hold. */
export function weaken(state: TableState, hold: Hold, place: Place): void {
  if (place.mode !== "exclusive") return;
  state.saving.keepHold(hold);
  place.mode = "shared";
  state.note("converted", hold, place);
  advance(state, place.key);
}

/** Shared becomes exclusive, ahead of everybody who waits, with a new token. */
export function upgrade(state: TableState, session: Session, command: UpgradeCommand): void {
  const { sequence, token, waitMs, key: name } = command;
  const hold = holdOf(state, session, token);
  const held = hold === undefined ? undefined : placeIn(hold, findKey(state, name));
  if (!isValidWait(waitMs)) store(state, session, sequence, INVALID_ARGUMENT);
  else if (hold === undefined || held === undefined) store(state, session, sequence, NOT_HELD);
  else if (held.permits !== undefined) store(state, session, sequence, WRONG_KIND);
  else if (
    (session.requestCount >= state.settings.waitsPerSessionMax || isOverfull(state, session)) &&
    !held.key.admitsHold("exclusive", 0, hold)
  ) {
    store(state, session, sequence, QUOTA);
  } else lineUpUpgrade(state, session, command, hold);
}

function lineUpUpgrade(
  state: TableState,
  session: Session,
  { sequence, waitMs, key: name, detect }: UpgradeCommand,
  hold: Hold,
): void {
  const { stamp } = state;
  const slot = session.replies.addWaiting(sequence, stamp);
  const order = { rank: UPGRADE_RANK, number: state.takeNumber() };
  const dueAt = waitMs === WAIT_FOREVER ? NO_DEADLINE : stamp + waitMs;
  const request = new Request(session, slot, hold.owner, order, stamp, dueAt, undefined);
  slot.request = request;
  request.upgrades = hold;
  request.detects = detect;
  request.firstPlace = new Place(obtainKey(state, name), "exclusive", request, undefined);
  lineUp(state, request, waitMs === 0);
}

/** What others see beside the hold. */
export function update(state: TableState, session: Session, command: UpdateCommand): void {
  const { sequence, token, value } = command;
  const hold = holdOf(state, session, token);
  if (hold === undefined) {
    store(state, session, sequence, NOT_HELD);
    return;
  }
  const more = value.length - hold.value.length;
  if (more > 0 && isOverfull(state, session)) {
    store(state, session, sequence, QUOTA);
    return;
  }
  state.saving.keepHold(hold);
  state.rows.grow(session, more);
  hold.obtainExtras().value = value;
  store(state, session, sequence, OK);
  state.note("updated", hold);
}

function placesOf(state: TableState, hold: Hold, name: string | undefined): Place[] {
  if (name !== undefined) {
    const place = placeIn(hold, findKey(state, name));
    return place === undefined ? [] : [place];
  }
  const places: Place[] = [];
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) places.push(place);
  return places;
}
