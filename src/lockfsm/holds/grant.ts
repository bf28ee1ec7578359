/**
 * How a request becomes a hold. A request is granted in the step in which the last of its places is
 * reached, unless its deadline or its session is due by then. Such a request is never granted, and
 * blocks others until it is swept.
 */
import { assert } from "../../errors/index.js";
import {
  type AcquireCommand,
  type AcquireTerms,
  type Item,
  MESSAGE,
  type Result,
  STATUS,
  type TakeCommand,
} from "../../protocol/index.js";
import { Hold, upgradedBy } from "../records/hold.js";
import type { Claimant, Key, Place } from "../records/key.js";
import type { Lease } from "../records/lease.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { FORBIDDEN } from "../results.js";
import { endOf, scheduleEnd } from "./due-time.js";
import { dropKey, placeOf } from "./keys.js";
import { enterLease } from "./lease-holds.js";
import { forgetRequest, withdraw } from "./leave-queues.js";
import { mayStillWait, noteRefusedWait } from "./rights.js";
import { join } from "./tasks.js";
import { renewToken } from "./tokens.js";

/**
 * Grants what a change in a key has made possible, and forgets the key if nothing is left in it.
 * Work that exceeds the units of the step goes to the work queue, where everything is decided
 * again.
 */
export function advance(state: TableState, key: Key): void {
  const others = advanceOne(state, key, undefined);
  // Grants in these keys may add further ones.
  for (const other of others ?? []) advanceOne(state, other, others);
}

/**
 * Returns `others`, with the keys added that must be examined as well. The array is made when the
 * first is added.
 */
function advanceOne(state: TableState, key: Key, others: Key[] | undefined): Key[] | undefined {
  let found = others;
  while (key.canReachNext) {
    if (state.stepUnits === 0) {
      state.work.addKey(key);
      return found;
    }
    state.stepUnits -= 1;
    const request = orderOf(key.reachNext());
    if (!request.isEligible || request.isOverAt(state.stamp)) continue;
    if (mayStillWait(request)) {
      const result = grant(state, request);
      state.pushOutcome(request.session, request.sequence, result);
      found = leaveOthers(state, request, key, found);
    } else found = forbid(state, request, key, found);
  }
  notifyHolders(state, key);
  if (key.isIdle) dropKey(state, key);
  return found;
}

/** Its identity has lost rights since it began to wait: requests that wait after it may go on. */
function forbid(
  state: TableState,
  request: Request,
  key: Key,
  others: Key[] | undefined,
): Key[] | undefined {
  noteRefusedWait(state, request);
  withdraw(state, request, FORBIDDEN);
  let found = others;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    if (place.key === key) continue;
    found ??= [];
    found.push(place.key);
  }
  return found;
}

/** Grants an acquire at once, none of whose items conflicts with anything. */
export function grantAtOnce(state: TableState, session: Session, command: AcquireCommand): Result {
  const hold = makeHold(state, session, command.task, command.sequence, command.options);
  putInKeys(state, hold, command.items);
  addHold(state, hold, state.stamp);
  return grantedResult(hold);
}

function putInKeys(state: TableState, hold: Hold, items: readonly Item[]): void {
  let last: Place | undefined;
  for (const item of items) {
    const place = placeOf(state, item, hold);
    if (last === undefined) hold.change().firstPlace = place;
    else last.change().sibling = place;
    last = place;
    place.key.addHold(place);
  }
}

/**
 * Turns a request into a hold, or into the upgrade of one, and returns its outcome without sending
 * it. A hold is its own outcome; the outcome of an upgrade or of a take that has waited is stored.
 */
export function grant(state: TableState, request: Request): Result {
  const { session, slot, lease } = request;
  const upgraded = upgradedBy(request);
  forgetRequest(state, request);
  if (upgraded === undefined && lease === undefined) {
    if (slot !== undefined) session.replies.forget(slot);
    return becomeHold(state, request);
  }
  const result =
    upgraded === undefined ? becomeHold(state, request) : strengthen(state, request, upgraded);
  if (slot !== undefined) session.replies.settle(slot, state.stamp, result);
  return result;
}

/**
 * Makes a lease of the items, which must conflict with nothing.
 */
export function grantLease(
  state: TableState,
  lease: Lease,
  { sequence, options }: Pick<TakeCommand, "sequence" | "options">,
  items: readonly Item[],
): Hold {
  const hold = makeHold(state, state.detached, 0, sequence, options);
  hold.changeExtras().lease = lease;
  putInKeys(state, hold, items);
  addHold(state, hold, state.stamp);
  return hold;
}

/** @param asked the items of a take that found the lease, in whose order the slots are listed */
export function leasedResult(hold: Hold, asked?: readonly Item[]): Result {
  const places: Place[] = [];
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    if (place.permits !== undefined) places.push(place);
  }
  if (asked !== undefined) {
    const rankOf = ({ key }: Place) => asked.findIndex((item) => item.key === key.name);
    places.sort((left, right) => rankOf(left) - rankOf(right));
  }
  const slots = places.map(({ permits }) => permits?.slots ?? []);
  return { status: STATUS.leased, tokens: [hold.token], endsAt: endOf(hold) ?? 0, slots };
}

function becomeHold(state: TableState, request: Request): Result {
  const { session, sequence, task, options, lease } = request;
  const hold =
    lease === undefined
      ? makeHold(state, session, task, sequence, options)
      : makeHold(state, state.detached, 0, sequence, options);
  if (lease !== undefined) {
    const endsAt = lease.ttlMs === 0 ? 0 : state.stamp + lease.ttlMs;
    hold.changeExtras().lease = { ...lease, endsAt, takenBy: session.id, takenAs: sequence };
  }
  const granted = hold.change();
  granted.firstPlace = request.firstPlace;
  granted.waitedMs = state.stamp - request.enqueuedAt;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    assert(place.key.hasReached(place), () => `${sequence}: ${place.key.name} not reached`);
    place.key.dequeue(place);
  }
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.claimant = hold;
    place.key.addHold(place);
  }
  addHold(state, hold, request.enqueuedAt);
  return lease === undefined ? grantedResult(hold) : leasedResult(hold);
}

function strengthen(state: TableState, request: Request, hold: Hold): Result {
  const { firstPlace } = request;
  assert(firstPlace !== undefined, () => `upgrade ${request.sequence} of no key`);
  const { key } = firstPlace;
  key.dequeue(firstPlace);
  renewToken(state, hold);
  const held = placeIn(hold, key);
  assert(held !== undefined, () => `${key.name} is not of ${hold.token}`);
  held.change().mode = "exclusive";
  state.noteGrant("converted", hold, request.enqueuedAt, held);
  state.suspects.push({ session: hold.session, task: hold.task });
  return { status: STATUS.upgraded, token: hold.token };
}

/** The place of a hold or request in one of its keys. */
export function placeIn({ firstPlace }: Claimant, key: Key | undefined): Place | undefined {
  let place = firstPlace;
  while (place !== undefined && place.key !== key) place = place.sibling;
  return place;
}

/** Notifies each holder of a key, once, that another request waits. */
export function notifyHolders(state: TableState, key: Key): void {
  const { queue } = key;
  if (queue === undefined || queue.frontier === undefined) return;
  for (let place = queue.unnotified; place !== undefined; place = place.next) {
    const hold = place.claimant;
    if (hold instanceof Hold && !hold.isContended && !isOnlyOwnUpgrade(key, hold)) {
      if (state.stepUnits === 0) {
        queue.unnotified = place;
        state.work.addKey(key);
        return;
      }
      state.stepUnits -= 1;
      hold.change().isContended = true;
      state.say(hold.session, { kind: MESSAGE.contended, sequence: hold.sequence });
    }
  }
  queue.unnotified = undefined;
}

export function grantedResult(hold: Hold): Result {
  const { token } = hold;
  const slots: (readonly number[])[] = [];
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    if (place.permits !== undefined) slots.push(place.permits.slots);
  }
  if (slots.length === 0) return { status: STATUS.granted, token };
  return { status: STATUS.granted, token, slots };
}

/**
 * Handles the other keys of a request that was granted through `key` and no longer waits in them.
 * In a semaphore the next request may now be granted, so the key is added to `others`. In a lock
 * the grant makes no further one possible, so only the holders are notified. Returns `others`, made
 * if needed.
 */
function leaveOthers(
  state: TableState,
  request: Request,
  key: Key,
  others: Key[] | undefined,
): Key[] | undefined {
  let found = others;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    if (place.key === key) continue;
    if (place.permits === undefined) notifyHolders(state, place.key);
    else {
      found ??= [];
      found.push(place.key);
    }
  }
  return found;
}

/** Whether the only waiter is the holder's own upgrade. */
function isOnlyOwnUpgrade({ queue }: Key, hold: Hold): boolean {
  if (queue === undefined || queue.count > 1 || queue.first === undefined) return false;
  return orderOf(queue.first).upgrades === hold;
}

function makeHold(
  state: TableState,
  session: Session,
  task: number,
  sequence: number,
  options: AcquireTerms | undefined,
): Hold {
  assert(session.isAliveAt(state.stamp), () => `grant to session ${session.id} after its end`);
  const hold = new Hold(state.tokens.take(), session, task, sequence, state.stamp);
  if (options === undefined) return hold;
  const { value, maxHoldMs, minHoldMs, lockDelayMs } = options;
  if (value === "" && maxHoldMs === 0 && minHoldMs === 0 && lockDelayMs === 0) return hold;
  const extras = hold.changeExtras();
  extras.value = value;
  extras.maxHoldMs = maxHoldMs;
  extras.minHoldMs = minHoldMs;
  extras.lockDelayMs = lockDelayMs;
  return hold;
}

/** Adds a hold whose places are in their keys, and that was asked for at `requestedAt`. */
function addHold(state: TableState, hold: Hold, requestedAt: number): void {
  const { session, task } = hold;
  hold.change().row = state.rows.add(session, hold.token, hold.sequence, hold);
  state.holds.add(hold.row);
  const lease = hold.extras?.lease;
  let hasMore = false;
  if (lease !== undefined) enterLease(state, hold, lease);
  else {
    state.holdsBySequence.add(hold.row);
    hasMore = join(state, hold);
  }
  if (hold.extras !== undefined) scheduleEnd(state, hold);
  state.noteGrant("granted", hold, requestedAt);
  if (hasMore) state.suspects.push({ session, task });
}
