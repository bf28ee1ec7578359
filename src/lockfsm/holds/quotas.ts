/** The limits on sessions, holds, waits and bytes of a session, of an identity and of the table. */
import { ACCESS_LEVEL, type Item } from "../../protocol/index.js";
import type { Identity } from "../records/identity.js";
import { orderOf, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { IdentityLimit, TableSettings } from "../types.js";
import { findKey, waitersOf } from "./keys.js";

/** Whether the session may not make the table larger. Its present claims may still change. */
export function isOverfull(state: TableState, session: Session): boolean {
  return session.bytes >= state.settings.bytesPerSessionMax || isTableFull(state);
}

/** Whether the session may hold nothing more. Its cooldowns count as holds. */
export function hasAllHolds({ settings }: TableState, session: Session): boolean {
  return session.holdCount + session.cooldownCount >= settings.holdsPerSessionMax;
}

export function isTableFull(state: TableState): boolean {
  return state.bytes >= state.settings.tableBytesMax;
}

/** The limits of an identity that each kind of growth must be below (semantics.md, 12.14). */
const LIMITS = {
  session: ["sessions", "bytes"],
  claim: ["claims", "bytes"],
  value: ["bytes"],
  adoption: ["sessions", "claims", "bytes"],
} as const;

/**
 * Whether a command is refused because of what its identity has already. It counts commands, so it
 * must be called at most once for each.
 */
export function isBeyondIdentity(
  state: TableState,
  identity: Identity,
  growth: keyof typeof LIMITS,
): boolean {
  if (isExempt(identity)) return false;
  for (const limit of LIMITS[growth]) {
    if (hasReached(state.settings, identity, limit)) return meets(state, limit);
  }
  return false;
}

/**
 * Whether an acquire or take that must wait is refused because its identity has as many requests in
 * the queue of one of the keys as it may have in any. It counts commands, too. Long queues are
 * walked, shorter ones than the limit are not.
 */
export function hasAllWaiters(
  state: TableState,
  identity: Identity,
  items: readonly Item[],
): boolean {
  if (isExempt(identity)) return false;
  const most = state.settings.waitersPerIdentityMax;
  for (const { key } of items) {
    if (waitersOf(state, key) < most) continue;
    if (countWaiters(state, key, identity) >= most) return meets(state, "waiters");
  }
  return false;
}

function countWaiters(state: TableState, name: string, identity: Identity): number {
  let count = 0;
  let place = findKey(state, name)?.queue?.first;
  for (; place !== undefined; place = place.next) {
    if (orderOf(place).session.credential.identity === identity) count += 1;
  }
  return count;
}

/** Counts a command that met a limit; returns whether that refuses it. */
function meets(state: TableState, limit: IdentityLimit): boolean {
  state.access.limited[limit] += 1;
  return state.settings.identityLimitsEnforced === 1;
}

/**
 * Whether a command of the session may not make the table larger in that way. At most once for each,
 * too.
 */
export function mayNotGrow(
  state: TableState,
  session: Session,
  growth: keyof typeof LIMITS,
): boolean {
  return isOverfull(state, session) || isBeyondIdentity(state, session.credential.identity, growth);
}

/** Whether a claim has to ask `isBeyondIdentity`. Counts nothing. */
export function hasAllClaims({ settings }: TableState, identity: Identity): boolean {
  if (isExempt(identity)) return false;
  return hasReached(settings, identity, "claims") || hasReached(settings, identity, "bytes");
}

/** An identity that may change the limits has none. In an open cluster that is `anonymous`. */
function isExempt({ everywhere }: Identity): boolean {
  return everywhere >= ACCESS_LEVEL.admin;
}

function hasReached(
  settings: TableSettings,
  identity: Identity,
  limit: Exclude<IdentityLimit, "waiters">,
): boolean {
  switch (limit) {
    case "sessions":
      return identity.sessionCount >= settings.sessionsPerIdentityMax;
    case "claims":
      return identity.holdCount + identity.waitCount >= settings.claimsPerIdentityMax;
    case "bytes":
      return identity.bytes >= settings.bytesPerIdentityMax;
  }
}
