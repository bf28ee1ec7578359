/**
 * How holds, requests and sessions end, and which requests are granted as a result. The end of one
 * claim is one step over its at most 16 keys. The end of a session is one step per claim, and
 * continues in the work queue if there are many.
 */
import { assert, ERROR_NUMBERS } from "../../errors/index.js";
import { END_REASON, type EndReason, MESSAGE, type Result } from "../../protocol/index.js";
import type { Hold } from "../records/hold.js";
import type { Request, Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { NOT_HELD } from "../results.js";
import { coolDown } from "./cooldowns.js";
import { cancelEnd } from "./due-time.js";
import { advance } from "./grant.js";
import { leaveLease } from "./lease-holds.js";
import { leaveQueues, withdraw } from "./leave-queues.js";
import { endLoneHold } from "./lone-holds.js";
import { leave } from "./tasks.js";

/**
 * Ends a hold that its session did not release, notifies the session, and grants waiting requests.
 * @param orderedBy the identity that ordered this now
 */
export function loseHold(state: TableState, hold: Hold, reason: EndReason, orderedBy = ""): void {
  takeAway(state, hold, reason, orderedBy);
  advanceKeys(state, hold);
}

/** The same without granting waiting requests. */
export function takeAway(state: TableState, hold: Hold, reason: EndReason, orderedBy = ""): void {
  const { session, sequence, token } = hold;
  if (session !== state.detached) {
    session.recordLoss(sequence, token, reason);
    state.say(session, { kind: MESSAGE.lost, sequence, token, stamp: state.stamp, reason });
  }
  takeOut(state, hold, reason, orderedBy);
}

/** Ends a wait with an outcome, which its session receives. */
export function endWait(state: TableState, request: Request, result: Result): void {
  withdraw(state, request, result);
  advanceKeys(state, request);
}

/**
 * Ends a session, which is unknown from here on. Its claims end in this step and, if there are
 * many, in later ones.
 * @param orderedBy the identity that ordered it
 */
export function endSession(
  state: TableState,
  session: Session,
  reason: EndReason,
  orderedBy = "",
): void {
  assert(!session.isEnded, () => `session ${session.id} ended twice`);
  const ended = session.change();
  ended.endedBy = reason;
  ended.orderedBy = orderedBy;
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

/** Ends a wait whose session is gone, so that no outcome is sent. */
function endRequest(state: TableState, request: Request): void {
  leaveQueues(state, request, ERROR_NUMBERS.SESSION_EXPIRED);
  advanceKeys(state, request);
}

export function endRow(state: TableState, row: number, reason: EndReason): void {
  const content = state.rows.contentOf(row);
  if (typeof content === "string") {
    const session = state.rows.sessionOf(row);
    endLoneHold(state, row, reason, ordererOf(session, session.forcedEnd?.orderedBy ?? "", reason));
  } else endHold(state, content, reason);
}

function endHold(state: TableState, hold: Hold, reason: EndReason): void {
  takeOut(state, hold, reason, "");
  advanceKeys(state, hold);
}

/** Grants waiting requests in the keys of a hold or request that has ended. */
export function advanceKeys(state: TableState, { firstPlace }: Hold | Request): void {
  for (let place = firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
}

/** Removes a hold from everything; its keys stay closed for as long as its policies say. */
function takeOut(state: TableState, hold: Hold, reason: EndReason, orderedBy: string): void {
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
  if (hold.extras?.lease !== undefined) leaveLease(state, hold, hold.extras.lease, reason);
  const orderer = orderedBy === "" ? ordererOf(hold.session, hold.orderedBy, reason) : orderedBy;
  state.note("ended", hold, undefined, reason, orderer);
  const closedMs = closedMsAfter(state, hold, reason);
  if (closedMs > 0) {
    coolDown(state, hold, state.stamp + closedMs);
    return;
  }
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    place.key.removeHold(place);
  }
}

/**
 * Who ordered an end for that reason. A holder that gave back in time what `asker` had revoked did so
 * because of that order.
 */
function ordererOf({ orderedBy }: Session, asker: string, reason: EndReason): string {
  if (orderedBy !== "") return orderedBy;
  return reason === END_REASON.revoked || isWished(reason) ? asker : "";
}

/** How long the keys stay closed: the last column of the table in semantics.md, 6. */
function closedMsAfter(state: TableState, { extras, grantedAt }: Hold, reason: EndReason): number {
  if (extras === undefined || reason === END_REASON.stolen) return 0;
  const restMs = Math.max(0, grantedAt + extras.minHoldMs - state.stamp);
  return isWished(reason) ? restMs : Math.max(restMs, extras.lockDelayMs);
}

function isWished(reason: EndReason): boolean {
  return reason === END_REASON.released || reason === END_REASON.closed;
}
