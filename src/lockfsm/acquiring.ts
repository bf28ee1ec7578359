/**
 * Acquire: all items at once or none. Granted in its own step when nothing conflicts with it in any
 * of its keys; else it waits in all of them, or is refused.
 */
import { assert } from "../assert.js";
import { ERROR_NUMBERS } from "../errors.js";
import {
  type AcquireCommand,
  BLOCKED_BY,
  type Blocker,
  ITEMS_MAX,
  type LockItem,
  type Result,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../protocol/index.js";
import { grantAtOnce } from "./granting.js";
import { Hold } from "./hold.js";
import { Place } from "./key.js";
import { NO_DEADLINE, Request } from "./request.js";
import { INVALID_ARGUMENT, QUEUE_FULL } from "./results.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/** How many of those in the way a refusal names, and how many places it looks at per key. */
const BLOCKERS_MAX = 4;
const BLOCKER_LOOKS_MAX = 16;

export function acquire(state: TableState, session: Session, command: AcquireCommand): void {
  const { sequence, items } = command;
  if (!isValid(command)) {
    refuse(state, session, sequence, INVALID_ARGUMENT);
  } else if (isAdmitted(state, items)) {
    const result = grantAtOnce(state, session, command);
    session.replies.add(sequence, state.stamp, "outcome", result);
    state.reply(session, sequence, state.stamp, result);
  } else if (command.waitMs === 0) {
    refuse(state, session, sequence, lockHeld(state, items));
  } else if (isAnyFull(state, items)) {
    refuse(state, session, sequence, QUEUE_FULL);
  } else {
    enqueue(state, session, command);
  }
}

function isValid({ items, waitMs, owner }: AcquireCommand): boolean {
  if (!Number.isSafeInteger(waitMs) || waitMs < WAIT_FOREVER || waitMs > WAIT_MS_MAX) return false;
  if (!Number.isSafeInteger(owner) || owner < 0) return false;
  if (items.length === 0 || items.length > ITEMS_MAX) return false;
  for (let at = 1; at < items.length; at += 1) {
    const key = items[at]?.key;
    for (let before = 0; before < at; before += 1) if (items[before]?.key === key) return false;
  }
  return true;
}

/** Whether the items conflict with nothing in any of their keys. */
function isAdmitted(state: TableState, items: readonly LockItem[]): boolean {
  for (const item of items) {
    const key = state.keys.find(item.key);
    if (key !== undefined && !key.admits(item.mode === "exclusive")) return false;
  }
  return true;
}

function isAnyFull(state: TableState, items: readonly LockItem[]): boolean {
  for (const item of items) {
    const key = state.keys.find(item.key);
    if (key !== undefined && key.waiterCount >= state.settings.waitersMax) return true;
  }
  return false;
}

function refuse(state: TableState, session: Session, sequence: number, result: Result): void {
  session.replies.add(sequence, state.stamp, "reply", result);
  state.reply(session, sequence, state.stamp, result);
}

function enqueue(state: TableState, session: Session, command: AcquireCommand): void {
  const { sequence, owner, waitMs } = command;
  const { stamp } = state;
  const slot = session.replies.addWaiting(sequence, stamp);
  const dueAt = waitMs === WAIT_FOREVER ? NO_DEADLINE : stamp + waitMs;
  const request = new Request(session, slot, owner, state.takeNumber(), stamp, dueAt);
  slot.request = request;
  addPlaces(state, request, command.items);
  session.addRequest(request);
  if (dueAt !== NO_DEADLINE) state.due.add(request);
  state.requestCount += 1;
  state.reply(session, sequence, stamp, slot.result);
}

function addPlaces(state: TableState, request: Request, items: readonly LockItem[]): void {
  let last: Place | undefined;
  for (const item of items) {
    const key = state.keys.obtain(item.key);
    const place = new Place(key, item.mode === "exclusive", request);
    if (last === undefined) request.firstPlace = place;
    else last.sibling = place;
    last = place;
    const isEligible = key.admits(place.exclusive);
    if (!isEligible) request.blockedCount += 1;
    key.enqueue(place, isEligible);
  }
  assert(request.blockedCount > 0, () => `${request.slot.sequence} waits for nothing`);
}

/** The refusal of an acquire that does not want to wait, with a few of those in its way. */
function lockHeld(state: TableState, items: readonly LockItem[]): Result {
  const blockers: Blocker[] = [];
  let isHeld = false;
  for (const item of items) {
    const key = state.keys.find(item.key);
    const exclusive = item.mode === "exclusive";
    if (key === undefined || key.admits(exclusive)) continue;
    const hold = key.firstHold;
    if (hold !== undefined && (exclusive || hold.exclusive)) {
      isHeld = true;
      listBlockers(blockers, hold, exclusive);
    }
    // Shared places at the head of the queue were reached: those in a shared request's way begin
    // at the frontier, however many are before it.
    const isBehindShared = !exclusive && key.firstWaiter?.exclusive === false;
    listBlockers(blockers, isBehindShared ? key.frontier : key.firstWaiter, exclusive);
  }
  const blockedBy = isHeld ? BLOCKED_BY.holds : BLOCKED_BY.waiters;
  return { status: ERROR_NUMBERS.LOCK_HELD, blockedBy, blockers };
}

function listBlockers(blockers: Blocker[], first: Place | undefined, exclusive: boolean): void {
  let place = first;
  for (let looks = 0; looks < BLOCKER_LOOKS_MAX; looks += 1) {
    if (place === undefined || blockers.length === BLOCKERS_MAX) return;
    if (exclusive || place.exclusive) blockers.push(blockerAt(place));
    place = place.next;
  }
}

function blockerAt({ key, exclusive, claimant }: Place): Blocker {
  return {
    sessionName: claimant.session.name,
    key: key.name,
    mode: exclusive ? "exclusive" : "shared",
    token: claimant instanceof Hold ? claimant.token : 0,
  };
}
