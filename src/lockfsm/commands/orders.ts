/**
 * Orders: commands with which operators end holds and sessions of others, and change settings of
 * the whole table. A session can give an order, which is then executed once, like all its commands.
 * A client without a session can give one too, if it cannot get a session or does not want one;
 * nothing of it is stored. The log may then contain it several times, and late. A state order names
 * the order count that its client knows and is executed at that count only: once, and never after a
 * later one. Revokes and ends of sessions do no harm when they are repeated, because tokens and
 * numbers of sessions do not come back; a revoke of a key names the newest token that it applies to.
 * (semantics.md, 11.1.)
 *
 * A notified holder has time to release. Force comes no earlier than the end of the lease that the
 * holder had when this was decided, so that a client that was not reached has stopped by its own
 * clock by then. `now` skips all that, and only fencing protects against the old holder. A cooldown
 * has no holder to notify and ends at once.
 */
import { assert, ERROR_NUMBERS } from "../../errors/index.js";
import {
  type ChangeSettingCommand,
  END_REASON,
  type EndSessionCommand,
  isAccessOp,
  isStateOrder,
  LIMIT_MAX,
  MESSAGE,
  OP,
  type OrderCommand,
  type Result,
  type RevokeCommand,
  type SetLimitCommand,
  STATUS,
  type StateOrder,
} from "../../protocol/index.js";
import { evictOversized } from "../expiry/evict.js";
import { endCooldown, openKey } from "../holds/cooldowns.js";
import { endOf, scheduleEnd } from "../holds/due-time.js";
import { endSession, loseHold } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import { dropKey, findKey, makeSemaphore, obtainKey } from "../holds/keys.js";
import { isTableFull } from "../holds/quotas.js";
import { mayOrder, mayTake, noteRefusal } from "../holds/rights.js";
import { findHold, lookAtHold } from "../holds/tokens.js";
import { Cooldown } from "../records/cooldown.js";
import { Hold } from "../records/hold.js";
import type { Credential, Identity } from "../records/identity.js";
import type { Key } from "../records/key.js";
import type { Semaphore } from "../records/semaphore.js";
import { orderOf, type Session, SessionEnd } from "../records/session.js";
import { bytesOfName } from "../records/sizes.js";
import type { TableState } from "../records/state.js";
import {
  FORBIDDEN,
  INVALID_ARGUMENT,
  isRefusal,
  NOT_HELD,
  NOT_SHOWN,
  OK,
  QUOTA,
  UNAUTHENTICATED,
  WRONG_KIND,
} from "../results.js";
import { isSettingName, isSettingValue, withSetting } from "../settings.js";
import type { OrderGiver } from "../types.js";
import { changeAccess } from "./access.js";

/**
 * Called once, before the effects, so that the operator who gave the order gets the answer first.
 */
type Answer = (result: Result) => void;

/**
 * Executes an order whose identity may give it, as far as that can be known before. A state order
 * counts whatever the answer is: one that was refused must not take effect later either.
 */
export function order(
  state: TableState,
  by: { readonly credential: Credential; readonly session: number },
  command: OrderCommand,
  answer: Answer,
): void {
  if (isStateOrder(command)) countOrder(state, command);
  const { credential, session } = by;
  carryOut(state, credential.identity, command, (result) => {
    // Before the answer: until then the node of the client knows which connection asked.
    if (hasEffect(state, command, result)) {
      state.accessListener?.onOrder(giverOf(credential, session), command, state.wallMs);
    }
    answer(result);
  });
}

/** As whom the audit names the giver of an order. */
export function giverOf({ identity, kind, label }: Credential, session: number): OrderGiver {
  const isNamed = identity.credentials.length > 0 && label !== "";
  return { identity: identity.name, credential: isNamed ? `${kind}:${label}` : "", session };
}

function hasEffect(state: TableState, { op }: OrderCommand, { status }: Result): boolean {
  if (status !== STATUS.ok && status !== STATUS.revoked) return false;
  return !isAccessOp(op) || state.access.revision === state.index;
}

function carryOut(
  state: TableState,
  identity: Identity,
  command: OrderCommand,
  answer: Answer,
): void {
  switch (command.op) {
    case OP.revoke:
      revoke(state, identity, command, answer);
      return;
    case OP.endSession:
      endByOperator(state, identity, command, answer);
      return;
    case OP.setLimit:
      setLimit(state, command, answer);
      return;
    case OP.changeSetting:
      changeSetting(state, command, answer);
      return;
    default:
      answer(changeAccess(state, command, identity.name));
  }
}

/**
 * Executes an order from a record with session 0, which has the credential of its connection. Each
 * node knows by the number whether one of its clients asked. Who has not said who it is, is told to.
 */
export function orderWithoutSession(state: TableState, command: OrderCommand, by: number): void {
  const { outbox, stamp, access } = state;
  const { sequence } = command;
  const credential = access.findCredential(by);
  const identity = credential?.identity;
  const isUnknown = identity === undefined || identity === access.anonymous;
  const status = isUnknown ? ERROR_NUMBERS.UNAUTHENTICATED : ERROR_NUMBERS.FORBIDDEN;
  const answer: Answer = (given) => {
    if (isRefusal(given)) noteRefusal(state, command, { session: 0, identity, status });
    const result = given === FORBIDDEN && isUnknown ? UNAUTHENTICATED : given;
    outbox.toSession(0, 0, { kind: MESSAGE.reply, sequence, stamp, result });
  };
  if (credential === undefined || !mayOrder(state, credential.identity, command)) {
    answer(FORBIDDEN);
    return;
  }
  const orderCount = orderCountOf(state, command);
  if (isStateOrder(command) && command.mark !== orderCount) {
    answer({ status: ERROR_NUMBERS.OUTDATED_ORDER, orderCount });
    return;
  }
  order(state, { credential, session: 0 }, command, answer);
}

/**
 * Limits have a count of their own, so that those who may only set limits cannot keep the orders of
 * an admin outdated.
 */
export function orderCountOf(state: TableState, { op }: Pick<OrderCommand, "op">): number {
  return op === OP.setLimit ? state.limitOrderCount : state.adminOrderCount;
}

function countOrder(state: TableState, { op }: StateOrder): void {
  if (op === OP.setLimit) state.limitOrderCount += 1;
  else state.adminOrderCount += 1;
}

type Force = Pick<RevokeCommand, "graceMs" | "now" | "reason">;

function revoke(
  state: TableState,
  identity: Identity,
  command: RevokeCommand,
  answer: Answer,
): void {
  const { key: name, token } = command;
  if (name === undefined) {
    const known = lookAtHold(state, token) ?? state.cooldownsByToken.get(token);
    if (known === undefined || !mayTake(identity, known, "operate")) {
      answer(known === undefined ? NOT_HELD : NOT_SHOWN);
      return;
    }
    if (known instanceof Cooldown) {
      answer({
        status: STATUS.revoked,
        count: 0,
        remaining: 0,
        opened: 1,
        endsInMs: 0,
        leasesLeft: 0,
      });
      endCooldown(state, known);
      return;
    }
    const hold = findHold(state, token);
    assert(hold !== undefined, () => `token ${token} is known, and of no hold`);
    const end = ending(state, [hold], command);
    answer({ status: STATUS.revoked, count: 1, remaining: 0, opened: 0, ...end });
    revokeHold(state, hold, command, identity.name);
    return;
  }
  const { holds, revoked, cooldowns, remaining } = affected(state, name, command);
  if (holds.some((hold) => !mayTake(identity, hold, "operate"))) {
    answer(FORBIDDEN);
    return;
  }
  const opened = cooldowns.length;
  const end = ending(state, [...holds, ...revoked], command);
  answer({ status: STATUS.revoked, count: holds.length, remaining, opened, ...end });
  if (opened > 0) openKeyOf(state, name, cooldowns);
  for (const hold of holds) revokeHold(state, hold, command, identity.name);
}

/**
 * Ends these cooldowns in one key; in its other keys a cooldown goes on. Cooldowns that follow from
 * the holds that end now stay.
 */
function openKeyOf(state: TableState, name: string, cooldowns: readonly Cooldown[]): void {
  const key = findKey(state, name);
  assert(key !== undefined, () => `${name} is closed and not in use`);
  for (const cooldown of cooldowns) openKey(state, cooldown, name);
  advance(state, key);
}

/** Ends a session. One that is unknown or has ended is `NOT_HELD`. A session may end itself. */
function endByOperator(
  state: TableState,
  identity: Identity,
  command: EndSessionCommand,
  answer: Answer,
): void {
  const { graceMs, now, reason } = command;
  const target = state.sessions.find(command.session);
  if (target === undefined || !target.isAliveAt(state.stamp)) {
    answer(NOT_HELD);
    return;
  }
  answer(OK);
  const ending = target.change();
  if (now) {
    endSession(state, target, END_REASON.revoked, identity.name);
    return;
  }
  const dueAt = Math.max(state.stamp + graceMs, target.dueAt);
  const { forcedEnd } = target;
  if (forcedEnd !== undefined) {
    if (forcedEnd.dueAt <= dueAt) return;
    state.due.remove(forcedEnd);
  }
  ending.forcedEnd = new SessionEnd(target, dueAt, state.takeNumber(), reason, identity.name);
  state.due.add(ending.forcedEnd);
  notifyForcedEnd(state, target);
}

/** Announces a forced end to the client; repeated when it attaches again. */
export function notifyForcedEnd(state: TableState, session: Session): void {
  const { forcedEnd } = session;
  if (forcedEnd === undefined) return;
  const { dueAt: endsAt, reason } = forcedEnd;
  state.say(session, { kind: MESSAGE.revoking, sequence: 0, stamp: state.stamp, endsAt, reason });
}

/** Announces a revoke to the holder; also to a client that has adopted a revoked hold. */
export function notifyRevoked(state: TableState, { session, sequence, extras }: Hold): void {
  if (extras === undefined || extras.revokedAt === 0) return;
  const { revokedAt: endsAt, revokeReason: reason } = extras;
  state.say(session, { kind: MESSAGE.revoking, sequence, stamp: state.stamp, endsAt, reason });
}

interface Affected {
  readonly holds: readonly Hold[];
  /** Holds that already end by then. */
  readonly revoked: readonly Hold[];
  readonly cooldowns: readonly Cooldown[];
  readonly remaining: number;
}

/**
 * The holds of the key that a revoke applies to and that do not already end by then, and the
 * cooldowns it applies to: together as many as one step may handle. And the holds that do.
 */
function affected(state: TableState, name: string, command: RevokeCommand): Affected {
  const newestToken = command.token > 0 ? command.token : Number.POSITIVE_INFINITY;
  const holds: Hold[] = [];
  const revoked: Hold[] = [];
  const cooldowns: Cooldown[] = [];
  let remaining = 0;
  let place = findKey(state, name)?.firstHold;
  for (; place !== undefined; place = place.next) {
    const { claimant } = place;
    if (!(claimant instanceof Hold || claimant instanceof Cooldown)) continue;
    if (claimant.token > newestToken) continue;
    if (claimant instanceof Hold && isRevokedBy(state, claimant, command)) revoked.push(claimant);
    else if (holds.length + cooldowns.length === state.settings.holdsPerStepMax) remaining += 1;
    else if (claimant instanceof Hold) holds.push(claimant);
    else cooldowns.push(claimant);
  }
  return { holds, revoked, cooldowns, remaining };
}

/** By when revoked holds have ended, and how many that are left have nobody who hears of it. */
function ending(
  state: TableState,
  holds: readonly Hold[],
  force: Force,
): { readonly endsInMs: number; readonly leasesLeft: number } {
  if (force.now) return { endsInMs: 0, leasesLeft: 0 };
  let [endsInMs, leasesLeft] = [0, 0];
  for (const hold of holds) {
    const endsAt = Math.min(endOf(hold) ?? Number.POSITIVE_INFINITY, forceAt(state, hold, force));
    const leftMs = Math.max(0, endsAt - state.stamp);
    endsInMs = Math.max(endsInMs, leftMs);
    if (leftMs > 0 && hold.isDetached) leasesLeft += 1;
  }
  return { endsInMs, leasesLeft };
}

function isRevokedBy(state: TableState, hold: Hold, force: Force): boolean {
  const revokedAt = hold.extras?.revokedAt ?? 0;
  return !force.now && revokedAt > 0 && revokedAt <= forceAt(state, hold, force);
}

function revokeHold(state: TableState, hold: Hold, force: Force, orderedBy: string): void {
  if (force.now) {
    loseHold(state, hold, END_REASON.revoked, orderedBy);
    return;
  }
  if (isRevokedBy(state, hold, force)) return;
  const extras = hold.changeExtras();
  extras.revokedAt = forceAt(state, hold, force);
  extras.revokeReason = force.reason;
  extras.revokedBy = orderedBy;
  scheduleEnd(state, hold);
  notifyRevoked(state, hold);
}

function forceAt(state: TableState, hold: Hold, { graceMs }: Force): number {
  const deadline = state.stamp + graceMs;
  // A bearer does not use the hold, and a lease without end has nothing that its owner waits for.
  // The client with a lease knows when it ends, which may be by its maximum duration.
  if (hold.holder === "bearer") return deadline;
  if (hold.isDetached) return Math.max(deadline, endOf(hold) ?? 0);
  return Math.max(deadline, hold.session.dueAt);
}

function setLimit(state: TableState, command: SetLimitCommand, answer: Answer): void {
  const { key: name, limit } = command;
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit > 0 && limit <= LIMIT_MAX)) {
    answer(INVALID_ARGUMENT);
    return;
  }
  const known = findKey(state, name);
  if (known !== undefined && known.semaphore === undefined) {
    answer(WRONG_KIND);
    return;
  }
  const isSet = known?.semaphore?.isSet ?? false;
  if (limit !== undefined && !isSet && isTableFull(state)) {
    answer(QUOTA);
    return;
  }
  answer(OK);
  if (limit === undefined) forgetLimit(state, known);
  else changeLimit(state, obtainKey(state, name), limit);
}

/** Forgets a limit that was set. Present users of the key keep the limit that it has. */
function forgetLimit(state: TableState, key: Key | undefined): void {
  if (key?.semaphore === undefined) return;
  const semaphore = key.semaphore.change();
  if (semaphore.isSet) state.otherBytes -= bytesOfName(key.name);
  semaphore.isSet = false;
  if (key.isIdle) dropKey(state, key);
}

function changeLimit(state: TableState, key: Key, limit: number): void {
  const { semaphore } = key;
  if (semaphore === undefined) {
    makeSemaphore(state, key, limit, true);
    return;
  }
  const before = semaphore.limit;
  if (!semaphore.isSet) state.otherBytes += bytesOfName(key.name);
  const changed = semaphore.change();
  changed.limit = limit;
  changed.isSet = true;
  if (limit < before) applyLowerLimit(state, key, semaphore);
  else if (limit > before) advance(state, key);
}

function applyLowerLimit(state: TableState, key: Key, semaphore: Semaphore): void {
  key.retreat();
  const first = key.queue?.first;
  if (first === undefined) return;
  const { rank, number } = orderOf(first);
  semaphore.evictFrom = { rank, number };
  evictOversized(state, key);
}

function changeSetting(
  state: TableState,
  { name, value }: ChangeSettingCommand,
  answer: Answer,
): void {
  if (!isSettingName(name) || (value !== undefined && !isSettingValue(name, value))) {
    answer(INVALID_ARGUMENT);
    return;
  }
  state.settings = withSetting(state.settings, name, value);
  answer(OK);
}
