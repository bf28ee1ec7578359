/**
 * How holds, requests and sessions end, and what their end lets through. The end of one claim is a
 * step over its at most 16 keys; the end of a session is one step per claim, and goes on in the
 * work queue when there are many.
 */
import { assert } from "../../assert.js";
import { END_REASON, type EndReason, MESSAGE, type Result } from "../../protocol/index.js";
import type { Hold, Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { NOT_HELD } from "../results.js";
import { close } from "./closings.js";
import { cancelEnd } from "./due-time.js";
import { advance, forgetRequest } from "./grant.js";
import { endAlone } from "./lone-holds.js";
import { leave } from "./owners.js";

/** Ends a hold against the wish of its session, which is told, and lets others in. */
export function loseHold(state: TableState, hold: Hold, reason: EndReason): void {
  takeAway(state, hold, reason);
  advanceKeys(state, hold);
}

/** The same without letting others in. */
export function takeAway(state: TableState, hold: Hold, reason: EndReason): void {
  const { session, sequence, token } = hold;
  if (session !== state.detached) {
    session.recordLoss(sequence, token, reason);
    state.say(session, { kind: MESSAGE.lost, sequence, token, stamp: state.stamp, reason });
  }
  takeOut(state, hold, reason);
}

/** Ends a wait with an outcome that its session is told. */
export function endWait(state: TableState, request: Request, result: Result): void {
  withdraw(state, request, result);
  advanceKeys(state, request);
}

/** From here on the session is unknown; its claims end in this step and, if many, later ones. */
export function endSession(state: TableState, session: Session, reason: EndReason): void {
  assert(!session.isEnded, () => `session ${session.id} ended twice`);
  session.change().endedBy = reason;
  state.sessions.remove(session);
  state.due.remove(session);
  if (session.forcedEnd !== undefined) state.due.remove(session.forcedEnd);
  state.pushEnded(session.id, session.attachEpoch, reason);
  endClaims(state, session);
}

/** Ends requests in the order of arrival, then holds in the order of tokens. */
export function endClaims(state: TableState, session: Session): void {
  const reason = session.endedBy;
  assert(reason !== undefined, () => `claims of session ${session.id} ended while it lives`);
  for (;;) {
    const request = session.firstRequest;
    const row = session.firstHold;
    if (request === undefined && row === 0) return;
    if (state.stepUnits === 0) {
      state.work.addSession(session);
      return;
    }
    state.stepUnits -= 1;
    if (request !== undefined) endRequest(state, request);
    else endRow(state, row, reason);
  }
}

/** Ends a wait without letting others in. */
export function withdraw(state: TableState, request: Request, result: Result): void {
  const { session, sequence, slot } = request;
  leaveQueues(state, request);
  if (slot !== undefined) session.replies.settle(slot, state.stamp, result);
  state.pushOutcome(session, sequence, result);
}

/** Nobody is left who could be told its outcome. */
function endRequest(state: TableState, request: Request): void {
  leaveQueues(state, request);
  advanceKeys(state, request);
}

/** Takes a request out of everything but the stored replies. */
export function leaveQueues(state: TableState, request: Request): void {
  forgetRequest(state, request);
  state.note("left", request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.dequeue(place);
  }
}

export function endRow(state: TableState, row: number, reason: EndReason): void {
  const content = state.rows.contentOf(row);
  if (typeof content === "string") endAlone(state, row, reason);
  else endHold(state, content, reason);
}

function endHold(state: TableState, hold: Hold, reason: EndReason): void {
  takeOut(state, hold, reason);
  advanceKeys(state, hold);
}

/** Lets others into the keys of a hold, or of a request, that is no more. */
export function advanceKeys(state: TableState, { firstPlace }: Hold | Request): void {
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
}

/** Takes a hold out of everything; its keys stay closed for as long as its policies say. */
function takeOut(state: TableState, hold: Hold, reason: EndReason): void {
  const ended = hold.change();
  const upgrade = hold.extras?.upgrade;
  if (upgrade !== undefined) withdraw(state, upgrade, NOT_HELD);
  const known = state.holds.remove(hold.row);
  assert(known, () => `token ${hold.token} is not held`);
  if (hold.session !== state.detached) {
    leave(state, hold);
    state.holdsBySequence.remove(hold.row);
  }
  state.rows.remove(hold.row);
  ended.row = 0;
  cancelEnd(state, hold);
  state.note("ended", hold, undefined, reason);
  const closedMs = closedMsAfter(state, hold, reason);
  if (closedMs > 0) {
    close(state, hold, state.stamp + closedMs);
    return;
  }
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHold(place);
  }
}

/** The last column of the table in semantics.md, 6. */
function closedMsAfter(state: TableState, { extras, grantedAt }: Hold, reason: EndReason): number {
  if (extras === undefined || reason === END_REASON.stolen) return 0;
  const restMs = Math.max(0, grantedAt + extras.minHoldMs - state.stamp);
  return isWished(reason) ? restMs : Math.max(restMs, extras.lockDelayMs);
}

function isWished(reason: EndReason): boolean {
  return reason === END_REASON.released || reason === END_REASON.closed;
}
