/**
 * Release and cancel. Both answer first and then let others in, so that a client hears that its
 * lock is gone before it can hear anything that followed from it.
 */
import {
  type CancelCommand,
  END_REASON,
  type ReleaseCommand,
  type Result,
  STATUS,
} from "../protocol/index.js";
import { weaken } from "./converting.js";
import { endWait, giveUpHold } from "./ending.js";
import { placeIn } from "./granting.js";
import type { Hold } from "./hold.js";
import { findKey } from "./keys.js";
import { endAlone } from "./lone-holds.js";
import { countDown } from "./reentering.js";
import { CANCELLED, INVALID_ARGUMENT, notReleased, OK, RELEASED } from "./results.js";
import type { Session } from "./session.js";
import type { Slot } from "./slot-list.js";
import type { TableState } from "./state.js";
import { findHold } from "./tokens.js";

/** A token that is another session's is as unknown as one that never was. */
export function release(state: TableState, session: Session, command: ReleaseCommand): void {
  const { sequence, token } = command;
  if (releaseAlone(state, session, sequence, token)) return;
  const hold = holdOf(state, session, token);
  if (hold === undefined) store(state, session, sequence, notReleased(session.endReasonOf(token)));
  else giveUpOne(state, session, sequence, hold, END_REASON.released);
}

function releaseAlone(
  state: TableState,
  session: Session,
  sequence: number,
  token: number,
): boolean {
  const { rows } = state;
  const row = state.holds.rowOf(token);
  if (row === 0 || typeof rows.contentOf(row) !== "string") return false;
  if (rows.sessionOf(row) !== session) return false;
  store(state, session, sequence, RELEASED);
  session.replies.recordEnd(rows.sequenceOf(row), END_REASON.released);
  endAlone(state, row, END_REASON.released);
  return true;
}

/**
 * `ok`: the target ended, or will be found ended when it comes, without a hold. `released`: it was
 * granted and is now given up. `notReleased`: it was granted and is given up already, or the
 * client said before that it needs to know nothing more about it.
 */
export function cancel(state: TableState, session: Session, command: CancelCommand): void {
  const { sequence, target } = command;
  if (!Number.isSafeInteger(target) || target < 1 || target === sequence) {
    store(state, session, sequence, INVALID_ARGUMENT);
    return;
  }
  const { replies } = session;
  const slot = replies.find(target);
  if (slot === undefined && target >= replies.mark) {
    replies.add(target, state.stamp, "reply", CANCELLED);
    store(state, session, sequence, OK);
    return;
  }
  if (slot === undefined || slot.state === "tombstone") {
    store(state, session, sequence, notReleased(END_REASON.unknown));
    return;
  }
  cancelSeen(state, session, sequence, slot);
}

function cancelSeen(state: TableState, session: Session, sequence: number, slot: Slot): void {
  if (slot.request !== undefined) {
    store(state, session, sequence, OK);
    endWait(state, slot.request, CANCELLED);
    return;
  }
  const { token } = slot;
  if (token === 0) {
    store(state, session, sequence, OK);
    return;
  }
  const hold = holdOf(state, session, token);
  if (hold === undefined || slot.isGivenUp) {
    const reason = hold === undefined ? session.endReasonOf(token) : END_REASON.cancelled;
    store(state, session, sequence, notReleased(reason));
    return;
  }
  if (slot.result.status === STATUS.upgraded) cancelUpgrade(state, session, sequence, slot, hold);
  else {
    if (hold.count > 1) session.replies.giveUp(slot);
    giveUpOne(state, session, sequence, hold, END_REASON.cancelled);
  }
}

/** What an upgrade brought is given back, and the shared hold stays. */
function cancelUpgrade(
  state: TableState,
  session: Session,
  sequence: number,
  slot: Slot,
  hold: Hold,
): void {
  session.replies.giveUp(slot);
  store(state, session, sequence, RELEASED);
  const { result } = slot;
  const name = "key" in result ? result.key : "";
  const place = placeIn(hold, findKey(state, name));
  if (place !== undefined) weaken(state, hold, place);
}

function giveUpOne(
  state: TableState,
  session: Session,
  sequence: number,
  hold: Hold,
  reason: typeof END_REASON.released | typeof END_REASON.cancelled,
): void {
  if (hold.count > 1) {
    const remaining = countDown(state, hold);
    store(state, session, sequence, { status: STATUS.released, remaining });
    return;
  }
  store(state, session, sequence, RELEASED);
  giveUpHold(state, hold, reason);
}

/** The hold of a token, if it is this session's. */
export function holdOf(state: TableState, session: Session, token: number): Hold | undefined {
  const hold = findHold(state, token);
  return hold?.session === session ? hold : undefined;
}

/** Stores and tells the answer to a command that is not an acquire. */
export function store(state: TableState, session: Session, sequence: number, result: Result): void {
  session.replies.add(sequence, state.stamp, "reply", result);
  state.reply(session, sequence, state.stamp, result);
}
