/**
 * Release: a session ends the hold, the wait, or the stored end that belongs to the sequence of an
 * acquire, upgrade or adopt; nothing of that sequence remains. The answer is sent before others are
 * granted, so that a client learns that its lock has ended before it can see anything that followed
 * from that.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import { END_REASON, type EndCommand } from "../../protocol/index.js";
import { advanceKeys, endRow } from "../holds/end.js";
import { leaveQueues } from "../holds/leave-queues.js";
import type { Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { notReleased, OK, RELEASED } from "../results.js";
import { store } from "./session-effects.js";

/**
 * Replies `released` if it ended a hold; `ok` if it ended a wait, which then has no outcome;
 * `notReleased` if there was neither, with the reason if the hold was lost and the client had not
 * yet said that it knows.
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
  leaveQueues(state, request, ERROR_NUMBERS.CANCELLED);
  advanceKeys(state, request);
}
