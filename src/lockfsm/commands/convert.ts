/** Commands that change a hold: its mode in a key, and its value. */

import {
  type DowngradeCommand,
  STATUS,
  type UpdateCommand,
  type UpgradeCommand,
  WAIT_FOREVER,
} from "../../protocol/index.js";
import { endWait } from "../holds/end.js";
import { advance, placeIn } from "../holds/grant.js";
import { changeValue } from "../holds/hold-value.js";
import { findKey, obtainKey } from "../holds/keys.js";
import { mayNotGrow } from "../holds/quotas.js";
import { holdOf } from "../holds/tokens.js";
import type { Hold } from "../records/hold.js";
import { Place } from "../records/key.js";
import { NO_DEADLINE, Request, type Session, UPGRADE_RANK } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { CANCELLED, INVALID_ARGUMENT, NOT_HELD, OK, QUOTA, WRONG_KIND } from "../results.js";
import { isValidWait, lineUp } from "./acquire.js";
import { store } from "./session-effects.js";

/**
 * Exclusive becomes shared, at once. A mode that is already shared stays so and does not become
 * exclusive later, because a waiting upgrade ends.
 */
export function downgrade(state: TableState, session: Session, command: DowngradeCommand): void {
  const { sequence, target, key: name } = command;
  const hold = holdOf(state, session, target);
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
  const upgrade = hold.extras?.upgrade;
  if (upgrade !== undefined && places.some(({ key }) => key === upgrade.firstPlace?.key)) {
    endWait(state, upgrade, CANCELLED);
  }
  for (const place of places) weaken(state, hold, place);
}

/** Makes a place shared and admits requests that are compatible with it. */
function weaken(state: TableState, hold: Hold, place: Place): void {
  if (place.mode !== "exclusive") return;
  place.change().mode = "shared";
  state.note("converted", hold, place);
  advance(state, place.key);
}

/**
 * Shared becomes exclusive, with a new token, ahead of every waiter. At most one upgrade of a hold
 * may wait. If the key is already held exclusively, the answer is the current token.
 */
export function upgrade(state: TableState, session: Session, command: UpgradeCommand): void {
  const { sequence, target, waitMs, key: name } = command;
  const hold = holdOf(state, session, target);
  const held = hold === undefined ? undefined : placeIn(hold, findKey(state, name));
  if (!isValidWait(waitMs)) store(state, session, sequence, INVALID_ARGUMENT);
  else if (hold === undefined || held === undefined) store(state, session, sequence, NOT_HELD);
  else if (held.permits !== undefined) store(state, session, sequence, WRONG_KIND);
  else if (held.mode === "exclusive") {
    store(state, session, sequence, { status: STATUS.upgraded, token: hold.token });
  } else if (hold.extras?.upgrade !== undefined) {
    store(state, session, sequence, INVALID_ARGUMENT);
  } else if (!held.key.admitsHold("exclusive", 0, hold) && mayNotWait(state, session)) {
    store(state, session, sequence, QUOTA);
  } else lineUpUpgrade(state, session, command, hold);
}

function mayNotWait(state: TableState, session: Session): boolean {
  if (session.requestCount >= state.settings.waitsPerSessionMax) return true;
  return mayNotGrow(state, session, "claim");
}

function lineUpUpgrade(
  state: TableState,
  session: Session,
  { sequence, waitMs, key: name, detect }: UpgradeCommand,
  hold: Hold,
): void {
  const { stamp } = state;
  const order = { rank: UPGRADE_RANK, number: state.takeNumber() };
  const dueAt = waitMs === WAIT_FOREVER ? NO_DEADLINE : stamp + waitMs;
  const request = new Request(session, sequence, hold.task, order, stamp, dueAt, undefined);
  const made = request.change();
  made.upgrades = hold;
  made.detects = detect;
  made.firstPlace = new Place(obtainKey(state, name), "exclusive", request, undefined);
  lineUp(state, request, waitMs === 0);
}

/** Replaces the value that others can see with the hold. */
export function update(state: TableState, session: Session, command: UpdateCommand): void {
  const { sequence, target, value } = command;
  const hold = holdOf(state, session, target);
  if (hold === undefined) {
    store(state, session, sequence, NOT_HELD);
    return;
  }
  const more = value.length - hold.value.length;
  if (more > 0 && mayNotGrow(state, session, "value")) {
    store(state, session, sequence, QUOTA);
    return;
  }
  store(state, session, sequence, OK);
  changeValue(state, hold, value);
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
