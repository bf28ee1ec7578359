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
import { hasAllHolds, isBeyondIdentity } from "../holds/quotas.js";
import { mayTake, noteRefusal, ofSession } from "../holds/rights.js";
import { findHold, holdOf, moveHold } from "../holds/tokens.js";
import { bytesOfHold } from "../records/hold-rows.js";
import type { Hold, Session, Ticket } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { FORBIDDEN, INVALID_ARGUMENT, NOT_HELD, OK, QUOTA } from "../results.js";
import { notifyRevoked } from "./operator-commands.js";

export function detach(state: TableState, session: Session, command: DetachCommand): void {
  const { sequence, target, secret, ticketTtlMs } = command;
  const hold = holdOf(state, session, target);
  if (hold === undefined) {
    store(state, session, sequence, NOT_HELD);
    return;
  }
  if (ticketTtlMs < TTL_MS_MIN || ticketTtlMs > TTL_MS_MAX) {
    store(state, session, sequence, INVALID_ARGUMENT);
    return;
  }
  store(state, session, sequence, OK);
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
  scheduleEnd(state, hold);
  // Grants the requests that waited after its upgrade.
  if (upgrade !== undefined) advanceKeys(state, upgrade);
}

/**
 * A token that is not, or no longer, that of a ticket is `NOT_HELD`; a wrong secret is `FORBIDDEN`.
 */
export function claim(state: TableState, session: Session, command: ClaimCommand): void {
  const { sequence, token, secret, owner } = command;
  const hold = findHold(state, token);
  const ticket = hold?.extras?.ticket;
  if (hold === undefined || ticket === undefined || isDue(state, hold)) {
    store(state, session, sequence, NOT_HELD);
  } else if (ticket.secretDigest !== digestOf(secret)) {
    store(state, session, sequence, FORBIDDEN);
  } else if (!mayTake(session.credential.identity, hold, "acquire")) {
    noteRefusal(state, command, ofSession(session));
    store(state, session, sequence, FORBIDDEN);
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
  const bytes = bytesOfHold(hold);
  hold.identity.countHolds(-1, -bytes);
  session.credential.identity.countHolds(1, bytes);
  extras.ticket = undefined;
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
