/**
 * What an entry does before its commands: it goes on with the work queue, then ends what is due,
 * both in order and together within a limit of units. Each turn and each due time is a step of its
 * own; a step counts at least one unit and may exceed the limit by its own size.
 */
import { END_REASON } from "../protocol/index.js";
import { Closing } from "./closing.js";
import { endClaims, endClosing, endSession, endWait, loseHold } from "./ending.js";
import { evictOversized } from "./evicting.js";
import { advance } from "./granting.js";
import { HoldEnd } from "./hold.js";
import { reasonAtEnd } from "./hold-ends.js";
import { Request } from "./request.js";
import { LOCK_TIMEOUT } from "./results.js";
import { Session, SessionEnd } from "./session.js";
import type { Due, TableState } from "./state.js";
import { lookAgain, resolveSuspects } from "./suspecting.js";
import type { Work } from "./work-queue.js";

/** Looks of a search for circles that cost as much as one unit of other work. */
const VISITS_PER_UNIT = 256;

export function drain(state: TableState): void {
  let units = state.settings.unitsPerEntryMax;
  while (units > 0) {
    const work = state.work.take();
    if (work === undefined) break;
    if (work instanceof Request && work.hasEnded) continue;
    begin(state);
    goOn(state, work);
    resolveSuspects(state);
    units -= Math.max(1, unitsOf(state));
  }
  while (units > 0) {
    const item = state.due.first;
    if (item === undefined || item.dueAt > state.stamp) return;
    begin(state);
    end(state, item);
    resolveSuspects(state);
    units -= 1 + unitsOf(state);
  }
}

function begin(state: TableState): void {
  state.stepUnits = state.settings.grantsPerStepMax;
  state.stepVisits = 0;
}

/** Of the step that was just made. */
function unitsOf({ settings, stepUnits, stepVisits }: TableState): number {
  return settings.grantsPerStepMax - stepUnits + Math.floor(stepVisits / VISITS_PER_UNIT);
}

function goOn(state: TableState, work: Work): void {
  if (work instanceof Session) endClaims(state, work);
  else if (work instanceof Request) lookAgain(state, work);
  else if (evictOversized(state, work)) advance(state, work);
}

function end(state: TableState, due: Due): void {
  if (due instanceof Request) endWait(state, due, LOCK_TIMEOUT);
  else if (due instanceof HoldEnd) loseHold(state, due.hold, reasonAtEnd(due.hold));
  else if (due instanceof Closing) endClosing(state, due);
  else if (due instanceof SessionEnd) endSession(state, due.session, END_REASON.revoked);
  else endSession(state, due, END_REASON.expired);
}
