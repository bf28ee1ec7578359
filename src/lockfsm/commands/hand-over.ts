/**
 * Hand-over between processes (semantics.md, 8). A session gives a hold to an owner: of its
 * identity, who goes on with it as with any lease, or to a bearer, who has it only until a session
 * adopts it. The hold stays in its keys and has a new token each time; no other request is granted
 * in between.
 */
import {
  type AdoptCommand,
  digestOf,
  END_REASON,
  type HandOverCommand,
  type HeldItem,
  type Result,
  STATUS,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { endOf, isDue, reasonAtEnd, scheduleEnd } from "../holds/due-time.js";
import { advanceKeys } from "../holds/end.js";
import { leasedResult, notifyHolders } from "../holds/grant.js";
import { enterLease, leaveLease } from "../holds/lease-holds.js";
import { withdraw } from "../holds/leave-queues.js";
import { hasAllHolds, isBeyondIdentity, isTableFull } from "../holds/quotas.js";
import { mayTake, noteRefusal, ofSession } from "../holds/rights.js";
import { join, leave } from "../holds/tasks.js";
import { holdOf, lookAtHoldOf, moveHold } from "../holds/tokens.js";
import type { Changing } from "../records/copy-on-write.js";
import { Hold, type HoldExtras } from "../records/hold.js";
import { bytesOfHold } from "../records/hold-rows.js";
import type { LeaseOwner } from "../records/lease.js";
import type { Session } from "../records/session.js";
import { bytesOfOwner } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { INVALID_ARGUMENT, NOT_HELD, NOT_SHOWN, notHeld, QUOTA, SAME_OWNER } from "../results.js";
import { lengthProblemOf } from "./leases.js";
import { notifyRevoked } from "./orders.js";
import { store } from "./session-effects.js";

export function handOver(state: TableState, session: Session, command: HandOverCommand): void {
  const { sequence, target } = command;
  const owner: LeaseOwner = {
    ownerDigest: digestOf(command.to),
    identity: session.credential.identity,
    isBearer: command.isBearer,
  };
  const refusal = refusalOf(state, session, owner, command);
  const hold = refusal === undefined ? holdOf(state, session, target) : undefined;
  if (hold === undefined) {
    store(state, session, sequence, refusal ?? NOT_HELD);
    return;
  }
  const { upgrade } = hold.extras ?? {};
  if (upgrade !== undefined) withdraw(state, upgrade, NOT_HELD);
  giveTo(state, hold, owner, command);
  store(state, session, sequence, leasedResult(hold));
  // Grants the requests that waited after its upgrade.
  if (upgrade !== undefined) advanceKeys(state, upgrade);
}

/** Looks only: a lone hold that stays one gets no objects. The hold of an owner is larger. */
function refusalOf(
  state: TableState,
  session: Session,
  owner: LeaseOwner,
  { target, ttlMs }: HandOverCommand,
): Result | undefined {
  const hold = lookAtHoldOf(state, session, target);
  if (hold === undefined) return NOT_HELD;
  const isShortOrLong = ttlMs < TTL_MS_MIN || ttlMs > TTL_MS_MAX;
  if (owner.isBearer && isShortOrLong) return INVALID_ARGUMENT;
  const problem = owner.isBearer ? undefined : lengthProblemOf(state, ttlMs);
  if (problem !== undefined) return problem;
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    if (state.leases.find(place.key.name, owner) !== undefined) return SAME_OWNER;
  }
  const isFull = isTableFull(state) || isBeyondIdentity(state, owner.identity, "value");
  return isFull ? QUOTA : undefined;
}

function giveTo(
  state: TableState,
  hold: Hold,
  owner: LeaseOwner,
  { sequence, ttlMs }: HandOverCommand,
): void {
  const { session } = hold;
  const { identity } = owner;
  const { name } = session;
  const extras = hold.changeExtras();
  // Before the hold leaves the session, so that observers see which one gave it away.
  state.note("moved", hold, undefined, END_REASON.moved);
  leave(state, hold);
  state.holdsBySequence.remove(hold.row);
  moveHold(state, hold, state.detached, sequence);
  hold.change().task = 0;
  const endsAt = ttlMs === 0 ? 0 : state.stamp + ttlMs;
  const lease = { ...owner, request: "", name, ttlMs, endsAt, takenBy: 0, takenAs: 0 };
  extras.lease = lease;
  state.rows.grow(state.detached, identity, bytesOfOwner(lease));
  enterLease(state, hold, lease);
  takeEndAlong(session, extras);
  scheduleEnd(state, hold);
  state.note("converted", hold);
}

/** The end of a session by an operator is a revoke of all its holds (semantics.md, 6.2). */
function takeEndAlong({ forcedEnd }: Session, extras: Changing<HoldExtras>): void {
  if (forcedEnd === undefined) return;
  if (extras.revokedAt > 0 && extras.revokedAt <= forcedEnd.dueAt) return;
  extras.revokedAt = forcedEnd.dueAt;
  extras.revokeReason = forcedEnd.reason;
  extras.revokedBy = forcedEnd.orderedBy;
}

/**
 * `NOT_HELD` with the reason of the end, if the bearer has nothing in the key any more, and without
 * one for a hold that the identity may not have: only who knows the secret learns that it exists.
 */
export function adopt(state: TableState, session: Session, command: AdoptCommand): void {
  const { sequence, key, secret, task } = command;
  const { identity } = session.credential;
  const bearer: LeaseOwner = { ownerDigest: digestOf(secret), identity, isBearer: true };
  const hold = state.leases.find(key, bearer);
  if (!(hold instanceof Hold)) {
    store(state, session, sequence, notHeld(state.leases.reasonOf(key, bearer, state.stamp)));
  } else if (isDue(state, hold)) {
    store(state, session, sequence, notHeld(reasonAtEnd(hold)));
  } else if (!mayTake(identity, hold, "acquire")) {
    noteRefusal(state, command, ofSession(session));
    store(state, session, sequence, NOT_SHOWN);
  } else if (hasNoRoom(state, session, hold)) {
    store(state, session, sequence, QUOTA);
  } else {
    takeUp(state, session, hold, sequence, task);
    state.reply(session, sequence, adoptedResult(hold));
    notifyRevoked(state, hold);
    for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
      notifyHolders(state, place.key);
    }
  }
}

/**
 * The table's own limits do not matter, because adopting does not make the table grow, nor do those
 * of the identity that the hold counts against already.
 */
function hasNoRoom(state: TableState, session: Session, hold: Hold): boolean {
  if (hasAllHolds(state, session)) return true;
  if (session.bytes >= state.settings.bytesPerSessionMax) return true;
  const { identity } = session.credential;
  return hold.identity !== identity && isBeyondIdentity(state, identity, "claim");
}

function takeUp(
  state: TableState,
  session: Session,
  hold: Hold,
  sequence: number,
  task: number,
): void {
  const extras = hold.changeExtras();
  const { lease } = extras;
  if (lease === undefined) return;
  const { identity } = lease;
  state.note("moved", hold, undefined, END_REASON.moved);
  leaveLease(state, hold, lease, END_REASON.moved);
  state.rows.grow(state.detached, identity, -bytesOfOwner(lease));
  extras.lease = undefined;
  const bytes = bytesOfHold(hold);
  identity.countHolds(-1, -bytes);
  session.credential.identity.countHolds(1, bytes);
  moveHold(state, hold, session, sequence);
  const changed = hold.change();
  changed.task = task;
  changed.isContended = false;
  if (join(state, hold)) state.suspects.push({ session, task });
  scheduleEnd(state, hold);
  state.note("converted", hold);
}

function adoptedResult(hold: Hold): Result {
  const { token, value, grantedAt } = hold;
  const items = heldItems(hold);
  return { status: STATUS.adopted, token, items, value, grantedAt, endsAt: endOf(hold) ?? 0 };
}

/** The items of a hold, for a client that knows nothing about it. */
export function heldItems(hold: Hold): HeldItem[] {
  const items: HeldItem[] = [];
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    const { key, mode, permits } = place;
    const slots = permits?.slots ?? [];
    items.push({ key: key.name, mode, permits: place.wanted, slots });
  }
  return items;
}
