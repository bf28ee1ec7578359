/**
 * What an entry does before its commands: it goes on with the work queue, then ends what is due,
 * both in order and together within a limit of units. Each turn and each due time is a step of its
 * own; a step counts at least one unit and may exceed the limit by its own size.
 */
import { END_REASON } from "../protocol/index.js";
import { endClaims, endSession, endWait } from "./ending.js";
import { advance } from "./granting.js";
import { Key } from "./key.js";
import { LOCK_TIMEOUT } from "./results.js";
import { Session } from "./session.js";
import type { TableState } from "./state.js";

export function drain(state: TableState): void {
  const { grantsPerStepMax, unitsPerEntryMax } = state.settings;
  let units = unitsPerEntryMax;
  while (units > 0) {
    const work = state.work.take();
    if (work === undefined) break;
    state.stepUnits = grantsPerStepMax;
    if (work instanceof Key) advance(state, work);
    else endClaims(state, work);
    units -= Math.max(1, grantsPerStepMax - state.stepUnits);
  }
  while (units > 0) {
    const item = state.due.first;
    if (item === undefined || item.dueAt > state.stamp) return;
    state.stepUnits = grantsPerStepMax;
    if (item instanceof Session) endSession(state, item, END_REASON.expired);
    else endWait(state, item, LOCK_TIMEOUT);
    units -= 1 + grantsPerStepMax - state.stepUnits;
  }
}
