/**
 * What operators take away. A holder that is told has time to give up in peace; force comes no earlier
 * than the end of the lease that it had when this was decided, so that a client which was not reached
 * has given up by its own clock by then. `now` does without all that, and only fencing covers it.
 * What keeps a key closed has no holder who could be told: it goes at once.
 */
import { assert } from "../../assert.js";
import {
  END_REASON,
  type EndSessionCommand,
  MESSAGE,
  type RevokeCommand,
  STATUS,
} from "../../protocol/index.js";
import { scheduleEnd } from "../holds/due-time.js";
import { endSession, loseHold, openKey } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import { findKey } from "../holds/keys.js";
import { findHold } from "../holds/tokens.js";
import type { Closing } from "../records/closing.js";
import { Hold } from "../records/hold.js";
import { Request } from "../records/request.js";
import { type Session, SessionEnd } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { NOT_HELD, OK } from "../results.js";
import type { Answer } from "./operator-commands.js";

type Force = Pick<RevokeCommand, "graceMs" | "now" | "reason">;

export function revoke(state: TableState, command: RevokeCommand, answer: Answer): void {
  const { key: name, token } = command;
  if (name === undefined) {
    const hold = findHold(state, token);
    if (hold === undefined) {
      answer(NOT_HELD);
      return;
    }
    answer({ status: STATUS.revoked, count: 1, remaining: 0, opened: 0 });
    revokeHold(state, hold, command);
    return;
  }
  const { holds, closings, remaining } = affected(state, name, command);
  const opened = closings.length;
  answer({ status: STATUS.revoked, count: holds.length, remaining, opened });
  if (opened > 0) openKeyOf(state, name, closings);
  for (const hold of holds) revokeHold(state, hold, command);
}

/** In its other keys a closing goes on. What the holds that end now leave closed stays closed. */
function openKeyOf(state: TableState, name: string, closings: readonly Closing[]): void {
  const key = findKey(state, name);
  assert(key !== undefined, () => `${name} is closed and not in use`);
  for (const closing of closings) openKey(state, closing, name);
  advance(state, key);
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
  const ending = target.change();
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
  ending.forcedEnd = new SessionEnd(target, dueAt, state.takeNumber(), reason);
  state.due.add(ending.forcedEnd);
  tellForcedEnd(state, target);
}

/** Also to a client that attached again. */
export function tellForcedEnd(state: TableState, session: Session): void {
  const { forcedEnd } = session;
  if (forcedEnd === undefined) return;
  const { dueAt: endsAt, reason } = forcedEnd;
  state.say(session, { kind: MESSAGE.revoking, sequence: 0, stamp: state.stamp, endsAt, reason });
}

/** Also to whoever claimed a ticket that was revoked. */
export function tellRevoked(state: TableState, { session, sequence, extras }: Hold): void {
  if (extras === undefined || extras.revokedAt === 0) return;
  const { revokedAt: endsAt, revokeReason: reason } = extras;
  state.say(session, { kind: MESSAGE.revoking, sequence, stamp: state.stamp, endsAt, reason });
}

interface Affected {
  readonly holds: readonly Hold[];
  readonly closings: readonly Closing[];
  readonly remaining: number;
}

/**
 * Who holds the key by a token that is meant and is not to end by then anyway, and what holds by such
 * tokens left closed: as many together as one step may deal with.
 */
function affected(state: TableState, name: string, command: RevokeCommand): Affected {
  const newestToken = command.token > 0 ? command.token : Number.POSITIVE_INFINITY;
  const holds: Hold[] = [];
  const closings: Closing[] = [];
  let remaining = 0;
  let place = findKey(state, name)?.firstHold;
  for (; place !== undefined; place = place.next) {
    const { claimant } = place;
    if (claimant instanceof Request || claimant.token > newestToken) continue;
    if (claimant instanceof Hold && isRevokedBy(state, claimant, command)) continue;
    if (holds.length + closings.length === state.settings.holdsPerStepMax) remaining += 1;
    else if (claimant instanceof Hold) holds.push(claimant);
    else closings.push(claimant);
  }
  return { holds, closings, remaining };
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
  const extras = hold.changeExtras();
  extras.revokedAt = forceAt(state, hold, force);
  extras.revokeReason = force.reason;
  scheduleEnd(state, hold);
  tellRevoked(state, hold);
}

function forceAt(state: TableState, hold: Hold, { graceMs }: Force): number {
  const deadline = state.stamp + graceMs;
  return hold.isTicket ? deadline : Math.max(deadline, hold.session.dueAt);
}
