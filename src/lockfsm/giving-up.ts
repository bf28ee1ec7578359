/**
 * Release and cancel. Both answer first and then let others in, so that a client hears that its
 * lock is gone before it can hear anything that followed from it.
 */
import {
  type CancelCommand,
  END_REASON,
  type ReleaseCommand,
  type Result,
} from "../protocol/index.js";
import { endWait, giveUpHold } from "./ending.js";
import type { Hold } from "./hold.js";
import { CANCELLED, INVALID_ARGUMENT, notReleased, OK, RELEASED } from "./results.js";
import type { Session } from "./session.js";
import type { Slot } from "./slot-list.js";
import type { TableState } from "./state.js";

/** A token that is another session's is as unknown as one that never was. */
export function release(state: TableState, session: Session, command: ReleaseCommand): void {
  const { sequence, token } = command;
  const hold = holdOf(state, session, token);
  if (hold === undefined) {
    store(state, session, sequence, notReleased(reasonOf(session, token)));
    return;
  }
  store(state, session, sequence, RELEASED);
  giveUpHold(state, hold, END_REASON.released);
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
  if (slot.token === 0) {
    store(state, session, sequence, OK);
    return;
  }
  const hold = holdOf(state, session, slot.token);
  if (hold === undefined) {
    store(state, session, sequence, notReleased(reasonOf(session, slot.token)));
    return;
  }
  store(state, session, sequence, RELEASED);
  giveUpHold(state, hold, END_REASON.cancelled);
}

/** The hold of a token, if it is this session's. */
export function holdOf(state: TableState, session: Session, token: number): Hold | undefined {
  const hold = state.holds.get(token);
  return hold?.session === session ? hold : undefined;
}

export function reasonOf(session: Session, token: number) {
  return session.replies.endReasonOf(token) ?? END_REASON.unknown;
}

function store(state: TableState, session: Session, sequence: number, result: Result): void {
  session.replies.add(sequence, state.stamp, "reply", result);
  state.reply(session, sequence, state.stamp, result);
}
