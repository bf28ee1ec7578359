/**
 * Hand-over between processes. A hold becomes a ticket, which conflicts like any hold and belongs
 * to no session. A client that knows its secret makes it a hold of its own, with the sequence of
 * the claim and a new token. No other request is granted in between.
 */
import {
  type ClaimCommand,
  type ClaimedItem,
  type DetachCommand,
  type Result,
  STATUS,
  TTL_MS_MAX,
  TTL_MS_MIN,
} from "../../protocol/index.js";
import { digestOf } from "../../sha256.js";
import { endOf, scheduleEnd } from "../holds/due-time.js";
import { advanceKeys } from "../holds/end.js";
import { notifyHolders } from "../holds/grant.js";
import { store } from "../holds/lease.js";
import { withdraw } from "../holds/leave-queues.js";
import { join, leave } from "../holds/owners.js";
import { hasAllHolds, isBeyondIdentity, isTableFull } from "../holds/quotas.js";
import { mayTake, noteRefusal, ofSession } from "../holds/rights.js";
import { findHold, holdOf, lookAtHoldOf, moveHold } from "../holds/tokens.js";
import type { Changing } from "../records/copy-on-write.js";
import { bytesOfHold } from "../records/hold-rows.js";
import type { Hold, HoldExtras, Session, Ticket } from "../records/session.js";
import { TICKET_BYTES } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import { INVALID_ARGUMENT, NOT_HELD, NOT_SHOWN, OK, QUOTA } from "../results.js";
import { notifyRevoked } from "./operator-commands.js";

export function detach(state: TableState, session: Session, command: DetachCommand): void {
  const { sequence, target, secret, ticketTtlMs } = command;
  const refusal = refusalOf(state, session, command);
  const hold = refusal === undefined ? holdOf(state, session, target) : undefined;
  store(state, session, sequence, refusal ?? OK);
  if (hold === undefined) return;
  const extras = hold.changeExtras();
  const { upgrade } = extras;
  if (upgrade !== undefined) withdraw(state, upgrade, NOT_HELD);
  // Before the session is removed from the hold, so that observers see which session detached it.
  state.note("detached", hold);
  leave(state, hold);
  state.holdsBySequence.remove(hold.row);
  const changed = hold.change();
  changed.session = state.detached;
  changed.owner = 0;
  state.rows.move(hold.row, state.detached, hold.token);
  const { identity } = session.credential;
  const endsAt = state.stamp + ticketTtlMs;
  extras.ticket = { secretDigest: digestOf(secret), endsAt, ttlMs: ticketTtlMs, identity };
  state.rows.grow(state.detached, identity, TICKET_BYTES);
  takeEndAlong(session, extras);
  scheduleEnd(state, hold);
  // Grants the requests that waited after its upgrade.
  if (upgrade !== undefined) advanceKeys(state, upgrade);
}

/** Looks only: a lone hold that stays one gets no objects. A ticket is larger than its hold. */
function refusalOf(
  state: TableState,
  session: Session,
  { target, ticketTtlMs }: DetachCommand,
): Result | undefined {
  if (lookAtHoldOf(state, session, target) === undefined) return NOT_HELD;
  if (ticketTtlMs < TTL_MS_MIN || ticketTtlMs > TTL_MS_MAX) return INVALID_ARGUMENT;
  const { identity } = session.credential;
  return isTableFull(state) || isBeyondIdentity(state, identity, "value") ? QUOTA : undefined;
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
 * `NOT_HELD` for a token that is not, or no longer, that of a ticket, for a wrong secret, and for a
 * ticket that the identity may not have: who may not have it does not learn whether it exists.
 */
export function claim(state: TableState, session: Session, command: ClaimCommand): void {
  const { sequence, token, secret, owner } = command;
  const hold = findHold(state, token);
  const ticket = hold?.extras?.ticket;
  if (hold === undefined || ticket === undefined || isDue(state, hold)) {
    store(state, session, sequence, NOT_HELD);
  } else if (ticket.secretDigest !== digestOf(secret)) {
    store(state, session, sequence, NOT_HELD);
  } else if (!mayTake(session.credential.identity, hold, "acquire")) {
    noteRefusal(state, command, ofSession(session));
    store(state, session, sequence, NOT_SHOWN);
  } else if (hasNoRoom(state, session, ticket)) {
    store(state, session, sequence, QUOTA);
  } else {
    take(state, session, hold, sequence, owner);
    state.reply(session, sequence, claimedResult(hold));
    notifyRevoked(state, hold);
    for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
      notifyHolders(state, place.key);
    }
  }
}

/**
 * The table's own limits do not matter, because claiming a ticket does not make the table grow, nor
 * do those of the identity that it counts against already.
 */
function hasNoRoom(state: TableState, session: Session, ticket: Ticket): boolean {
  if (hasAllHolds(state, session)) return true;
  if (session.bytes >= state.settings.bytesPerSessionMax) return true;
  const { identity } = session.credential;
  return ticket.identity !== identity && isBeyondIdentity(state, identity, "claim");
}

/** Whether it has ended and is still in the table only because it has not been swept. */
function isDue({ stamp }: TableState, hold: Hold): boolean {
  const endsAt = endOf(hold);
  return endsAt !== undefined && endsAt <= stamp;
}

function take(
  state: TableState,
  session: Session,
  hold: Hold,
  sequence: number,
  owner: number,
): void {
  const extras = hold.changeExtras();
  const { identity } = hold;
  state.rows.grow(state.detached, identity, -TICKET_BYTES);
  extras.ticket = undefined;
  const bytes = bytesOfHold(hold);
  identity.countHolds(-1, -bytes);
  session.credential.identity.countHolds(1, bytes);
  moveHold(state, hold, session, sequence);
  const changed = hold.change();
  changed.owner = owner;
  changed.isContended = false;
  if (join(state, hold)) state.suspects.push({ session, owner });
  scheduleEnd(state, hold);
  state.note("converted", hold);
}

function claimedResult(hold: Hold): Result {
  const { token, value, grantedAt } = hold;
  const items = claimedItems(hold);
  return { status: STATUS.claimed, token, items, value, grantedAt, endsAt: endOf(hold) ?? 0 };
}

/** The items of a hold, for a client that knows nothing about it. */
export function claimedItems(hold: Hold): ClaimedItem[] {
  const items: ClaimedItem[] = [];
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    const { key, mode, permits } = place;
    const slots = permits?.slots ?? [];
    items.push({ key: key.name, mode, permits: place.wanted, slots });
  }
  return items;
}
