/**
 * The work of an entry before its commands: it continues the searches that earlier entries
 * deferred, then the work queue, then ends claims and sessions that are due, each in order. The
 * last two share a limit of units; the first has the same limit for itself and is also bounded by
 * the entry's search steps. Each turn and each due time is a step of its own. A step counts as at
 * least one unit and may exceed the limit by its own size.
 */
import { END_REASON } from "../../protocol/index.js";
import { continueSearch, resolveSuspects } from "../deadlock/detect.js";
import { endCooldown } from "../holds/cooldowns.js";
import { reasonAtEnd } from "../holds/due-time.js";
import { endClaims, endSession, endWait, loseHold } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import { Cooldown } from "../records/cooldown.js";
import { HoldEnd } from "../records/hold.js";
import { Request, Session, SessionEnd } from "../records/session.js";
import type { Due, TableState } from "../records/state.js";
import { RemovedIdentity, type Work } from "../records/work-queue.js";
import { LOCK_TIMEOUT } from "../results.js";
import { evictOversized } from "./evict.js";

export function expire(state: TableState): void {
  search(state);
  let units = state.settings.unitsPerEntryMax;
  while (units > 0) {
    const work = state.work.take();
    if (work === undefined) break;
    begin(state);
    workOn(state, work);
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

/** The first search has all steps of the entry for itself. */
function search(state: TableState): void {
  const { searches, searchSteps } = state;
  let units = state.settings.unitsPerEntryMax;
  for (let first = searches.first; first !== undefined; first = searches.first) {
    begin(state);
    continueSearch(state, first);
    resolveSuspects(state);
    units -= Math.max(1, unitsOf(state));
    if (units <= 0 || searchSteps.left === 0) return;
  }
}

function begin(state: TableState): void {
  state.stepUnits = state.settings.grantsPerStepMax;
}

/** The units used by the current step. */
function unitsOf({ settings, stepUnits }: TableState): number {
  return settings.grantsPerStepMax - stepUnits;
}

function workOn(state: TableState, work: Work): void {
  if (work instanceof Session) endClaims(state, work);
  else if (work instanceof RemovedIdentity) endSessionsOf(state, work);
  else if (evictOversized(state, work)) advance(state, work);
}

/**
 * Each session counts as one unit, whatever it has, which goes on in the work queue. None of them has
 * ended otherwise: no command reaches them, and what is due waits until the work queue is empty.
 */
function endSessionsOf(state: TableState, removed: RemovedIdentity): void {
  for (; removed.done < removed.sessions.length; removed.done += 1) {
    if (state.stepUnits === 0) {
      state.work.addIdentity(removed);
      return;
    }
    state.stepUnits -= 1;
    const session = removed.sessions[removed.done] as Session;
    endSession(state, session, END_REASON.revoked, removed.orderedBy);
  }
  state.access.forget(removed.identity);
}

function end(state: TableState, due: Due): void {
  if (due instanceof Request) endWait(state, due, LOCK_TIMEOUT);
  else if (due instanceof HoldEnd) loseHold(state, due.hold, reasonAtEnd(due.hold));
  else if (due instanceof Cooldown) endCooldown(state, due);
  else if (due instanceof SessionEnd)
    endSession(state, due.session, END_REASON.revoked, due.orderedBy);
  else endSession(state, due, END_REASON.expired);
}
