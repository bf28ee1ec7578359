/**
 * What operators take away. A holder that is told has time to give up in peace; force comes no earlier
 * than the end of the lease that it had when this was decided, so that a client which was not reached
 * has given up by its own clock by then. `now` does without all that, and only fencing covers it.
 */
import {
  END_REASON,
  type EndSessionCommand,
  MESSAGE,
  type RevokeCommand,
  STATUS,
} from "../protocol/index.js";
import { endSession, loseHold } from "./ending.js";
import { Hold } from "./hold.js";
import { scheduleEnd } from "./hold-ends.js";
import { findKey } from "./keys.js";
import type { Answer } from "./ordering.js";
import { NOT_HELD, OK } from "./results.js";
import { type Session, SessionEnd } from "./session.js";
import type { TableState } from "./state.js";
import { findHold } from "./tokens.js";

type Force = Pick<RevokeCommand, "graceMs" | "now" | "reason">;

export function revoke(state: TableState, command: RevokeCommand, answer: Answer): void {
  const { key: name, token } = command;
  if (name === undefined) {
    const hold = findHold(state, token);
    if (hold === undefined) {
      answer(NOT_HELD);
      return;
    }
    answer({ status: STATUS.revoked, count: 1, remaining: 0 });
    revokeHold(state, hold, command);
    return;
  }
  const { holds, remaining } = affected(state, name, command);
  answer({ status: STATUS.revoked, count: holds.length, remaining });
  for (const hold of holds) revokeHold(state, hold, command);
}

/** A session that is unknown, or has ended, is `NOT_HELD`. Its own may be meant. */
export function endByOperator(state: TableState, command: EndSessionCommand, answer: Answer): void {
  const { graceMs, now, reason } = command;
  const target = state.sessions.find(command.session);
  if (target === undefined || !target.isAliveAt(state.stamp)) {
    answer(NOT_HELD);
    return;
  }
  answer(OK);
  state.saving.keepSession(target);
  if (now) {
    endSession(state, target, END_REASON.revoked);
    return;
  }
  const dueAt = Math.max(state.stamp + graceMs, target.dueAt);
  const { forcedEnd } = target;
  if (forcedEnd !== undefined) {
    if (forcedEnd.dueAt <= dueAt) return;
    state.due.remove(forcedEnd);
  }
  target.forcedEnd = new SessionEnd(target, dueAt, state.takeNumber(), reason);
  state.due.add(target.forcedEnd);
  tellForcedEnd(state, target);
}

/** Also to a client that attached again. */
export function tellForcedEnd(state: TableState, session: Session): void {
  const { forcedEnd } = session;
  if (forcedEnd === undefined) return;
  const { dueAt: endsAt, reason } = forcedEnd;
  state.say(session, { kind: MESSAGE.revoking, token: 0, stamp: state.stamp, endsAt, reason });
}

/** Also to whoever claimed a ticket that was revoked. */
export function tellRevoked(state: TableState, { session, token, extras }: Hold): void {
  if (extras === undefined || extras.revokedAt === 0) return;
  const { revokedAt: endsAt, revokeReason: reason } = extras;
  state.say(session, { kind: MESSAGE.revoking, token, stamp: state.stamp, endsAt, reason });
}

/**
 * Who holds the key by a token that is meant and is not to end by then anyway: as many as one step may
 * deal with.
 */
function affected(
  state: TableState,
  name: string,
  command: RevokeCommand,
): { readonly holds: readonly Hold[]; readonly remaining: number } {
  const newestToken = command.token > 0 ? command.token : Number.POSITIVE_INFINITY;
  const holds: Hold[] = [];
  let remaining = 0;
  let place = findKey(state, name)?.firstHold;
  for (; place !== undefined; place = place.next) {
    const hold = place.claimant;
    if (!(hold instanceof Hold) || hold.token > newestToken) continue;
    if (isRevokedBy(state, hold, command)) continue;
    if (holds.length < state.settings.holdsPerStepMax) holds.push(hold);
    else remaining += 1;
  }
  return { holds, remaining };
}

function isRevokedBy(state: TableState, hold: Hold, force: Force): boolean {
  const revokedAt = hold.extras?.revokedAt ?? 0;
  return !force.now && revokedAt > 0 && revokedAt <= forceAt(state, hold, force);
}

function revokeHold(state: TableState, hold: Hold, force: Force): void {
  if (force.now) {
    loseHold(state, hold, END_REASON.revoked);
    return;
  }
  if (isRevokedBy(state, hold, force)) return;
  state.saving.keepHold(hold);
  const extras = hold.obtainExtras();
  extras.revokedAt = forceAt(state, hold, force);
  extras.revokeReason = force.reason;
  scheduleEnd(state, hold);
  tellRevoked(state, hold);
}

function forceAt(state: TableState, hold: Hold, { graceMs }: Force): number {
  const deadline = state.stamp + graceMs;
  return hold.isTicket ? deadline : Math.max(deadline, hold.session.dueAt);
}
