/**
 * What a session ends itself by the number of an acquire, upgrade or claim: the hold, the wait, or what
 * it has not read of an end; nothing of that number is left. The answer comes first and then others are
 * let in, so that a client hears that its lock is gone before it can hear anything that followed from it.
 */
import { END_REASON, type EndCommand } from "../../protocol/index.js";
import { advanceKeys, endRow, leaveQueues } from "../holds/end.js";
import { store } from "../holds/sessions.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { notReleased, OK, RELEASED } from "../results.js";

/**
 * `released`: a hold. `ok`: a wait, which has no outcome then. `notReleased`: neither, any more or yet;
 * with the reason if it was lost and the client had not said that it knows.
 */
export function release(state: TableState, session: Session, command: EndCommand): void {
  const { sequence, target } = command;
  const row = state.holdsBySequence.find(session, target);
  if (row !== 0) {
    store(state, session, sequence, RELEASED);
    endRow(state, row, END_REASON.released);
    return;
  }
  const { replies, losses } = session;
  const slot = replies.find(target);
  const request = slot?.request;
  const reason = losses?.get(target)?.reason ?? END_REASON.unknown;
  if (slot !== undefined) replies.forget(slot);
  session.acknowledgeLoss(target);
  store(state, session, sequence, request === undefined ? notReleased(reason) : OK);
  if (request === undefined) return;
  leaveQueues(state, request);
  advanceKeys(state, request);
}
