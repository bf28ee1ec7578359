/**
 * How holds, requests and sessions end, and what their end lets through. The end of one claim is a
 * step over its at most 16 keys; the end of a session is one step per claim, and goes on in the
 * work queue when there are many.
 */
import { assert } from "../assert.js";
import { END_REASON, type EndReason, type Result } from "../protocol/index.js";
import { advance, forgetRequest } from "./granting.js";
import type { Hold } from "./hold.js";
import type { Request } from "./request.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

function endHold(state: TableState, hold: Hold): void {
  const known = state.holds.delete(hold.token);
  assert(known, () => `token ${hold.token} is not held`);
  state.saving.keepHold(hold);
  hold.session.removeHold(hold);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHold(place);
    advance(state, place.key);
  }
}

/** Ends a hold at the wish of its session. */
export function giveUpHold(state: TableState, hold: Hold, reason: EndReason): void {
  hold.session.replies.recordEnd(hold.sequence, hold.token, reason);
  endHold(state, hold);
}

/** Ends a wait with an outcome that its session is told. */
export function endWait(state: TableState, request: Request, result: Result): void {
  const { session, slot } = request;
  session.replies.settle(slot, result);
  state.pushOutcome(session, slot.sequence, result);
  leaveQueues(state, request);
}

function leaveQueues(state: TableState, request: Request): void {
  forgetRequest(state, request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.dequeue(place);
    advance(state, place.key);
  }
}

/** From here on the session is unknown; its claims end in this step and, if many, later ones. */
export function endSession(state: TableState, session: Session, reason: EndReason): void {
  assert(reason === END_REASON.expired || reason === END_REASON.closed, () => `reason ${reason}`);
  assert(!session.isEnded, () => `session ${session.id} ended twice`);
  state.saving.keepEnding(session);
  session.isEnded = true;
  state.sessions.remove(session);
  state.due.remove(session);
  state.pushEnded(session, reason);
  endClaims(state, session);
}

/** Ends requests in the order of arrival, then holds in the order of tokens. */
export function endClaims(state: TableState, session: Session): void {
  assert(session.isEnded, () => `claims of session ${session.id} ended while it lives`);
  for (;;) {
    const request = session.firstRequest;
    const hold = session.firstHold;
    if (request === undefined && hold === undefined) return;
    if (state.stepUnits === 0) {
      state.work.addSession(session);
      return;
    }
    state.stepUnits -= 1;
    if (request !== undefined) leaveQueues(state, request);
    else if (hold !== undefined) endHold(state, hold);
  }
}
