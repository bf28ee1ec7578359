/**
 * Acquire: all items at once or none. The request is granted in its own step if nothing conflicts
 * with it in any of its keys; otherwise it waits in all of them, or is refused.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import {
  type AcquireCommand,
  type AcquireTerms,
  ITEMS_MAX,
  type Item,
  type Result,
  WAIT_FOREVER,
  WAIT_MS_MAX,
} from "../../protocol/index.js";
import { refusalOf, searchLater, UNDECIDED } from "../deadlock/detect.js";
import { blockersOf } from "../holds/blockers.js";
import { advanceKeys } from "../holds/end.js";
import { advance, grant, grantAtOnce, grantedResult, notifyHolders } from "../holds/grant.js";
import { kindProblem, lookAtKey, placeOf, waitersOf } from "../holds/keys.js";
import { forgetRequest } from "../holds/leave-queues.js";
import { grantLoneHold } from "../holds/lone-holds.js";
import {
  hasAllClaims,
  hasAllHolds,
  hasAllWaiters,
  isBeyondIdentity,
  isOverfull,
} from "../holds/quotas.js";
import { noteRefusal, ofSession } from "../holds/rights.js";
import { join } from "../holds/tasks.js";
import { holdOf } from "../holds/tokens.js";
import { upgradedBy } from "../records/hold.js";
import type { Place } from "../records/key.js";
import { LEASE_TASKS, type LeaseWait } from "../records/lease.js";
import { Slot } from "../records/reply-window.js";
import { NO_DEADLINE, Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { FORBIDDEN, INVALID_ARGUMENT, QUEUE_FULL, QUEUED, QUOTA } from "../results.js";
import { store } from "./session-effects.js";
import { steal } from "./steal.js";

export function acquire(state: TableState, session: Session, command: AcquireCommand): void {
  const { sequence, items, options } = command;
  const isSound =
    isWellFormed(items, command.waitMs) && isTask(command.task) && mayKeepClosed(state, options);
  const { identity } = session.credential;
  const isFull = hasAllHolds(state, session) || isOverfull(state, session);
  const isFree = isSound && !isFull && !hasAllClaims(state, identity);
  // The fast path of most acquires: one lookup of the key and one of the task decide everything.
  const alone = isFree ? grantLoneHold(state, session, command) : undefined;
  if (alone !== undefined) {
    state.reply(session, sequence, alone);
    return;
  }
  const problem = isSound ? kindProblemOf(state, items) : INVALID_ARGUMENT;
  if (problem !== undefined) {
    store(state, session, sequence, problem);
    return;
  }
  if (isFull || isBeyondIdentity(state, identity, "claim")) {
    store(state, session, sequence, QUOTA);
  } else if (options?.steal === true) answerSteal(state, session, command);
  else if (isAdmitted(state, items)) {
    state.reply(session, sequence, grantAtOnce(state, session, command));
  } else awaitGrant(state, session, command, command.task);
}

/**
 * What is not free now is waited for, or refused.
 * @param who as of `enqueue`
 */
export function awaitGrant(
  state: TableState,
  session: Session,
  command: Waiting,
  who: number | LeaseWait,
): void {
  const { sequence, items, waitMs } = command;
  if (waitMs === 0 && !hasHeadStart(state, command)) {
    store(state, session, sequence, lockHeld(state, items));
  } else if (waitMs !== 0 && isAnyFull(state, items)) {
    store(state, session, sequence, QUEUE_FULL);
  } else if (waitMs !== 0 && mayNotWait(state, session, items)) {
    store(state, session, sequence, QUOTA);
  } else enqueue(state, session, command, who);
}

/** Whether the session, or its identity in one of the keys, waits for as much as it may. */
function mayNotWait(state: TableState, session: Session, items: readonly Item[]): boolean {
  if (session.requestCount >= state.settings.waitsPerSessionMax) return true;
  return hasAllWaiters(state, session.credential.identity, items);
}

function isTask(task: number): boolean {
  return Number.isSafeInteger(task) && task >= 0;
}

export function isWellFormed(items: readonly Item[], waitMs: number): boolean {
  if (!isValidWait(waitMs)) return false;
  if (items.length === 0 || items.length > ITEMS_MAX) return false;
  for (let at = 1; at < items.length; at += 1) {
    const key = items[at]?.key;
    for (let before = 0; before < at; before += 1) {
      if (items[before]?.key === key) return false;
    }
  }
  return true;
}

/** Whether the table allows the times for which its keys are to stay closed after the hold. */
export function mayKeepClosed(
  { settings }: TableState,
  options: AcquireTerms | undefined,
): boolean {
  if (options === undefined) return true;
  const { minHoldMs, lockDelayMs } = options;
  return minHoldMs <= settings.minHoldMsMax && lockDelayMs <= settings.lockDelayMsMax;
}

export function kindProblemOf(state: TableState, items: readonly Item[]): Result | undefined {
  for (const item of items) {
    const problem = kindProblem(state, item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function isValidWait(waitMs: number): boolean {
  return Number.isSafeInteger(waitMs) && waitMs >= WAIT_FOREVER && waitMs <= WAIT_MS_MAX;
}

/** Replies to the thief before the keys' other waiters are examined. */
function answerSteal(state: TableState, session: Session, command: AcquireCommand): void {
  const stolen = steal(state, session, command);
  if ("status" in stolen) {
    if (stolen === FORBIDDEN) noteRefusal(state, command, ofSession(session));
    store(state, session, command.sequence, stolen);
    return;
  }
  state.reply(session, command.sequence, stolen.result);
  for (const key of stolen.keys) advance(state, key);
}

/**
 * Whether the items conflict with nothing in any of their keys, when placed last in every queue.
 */
export function isAdmitted(state: TableState, items: readonly Item[]): boolean {
  for (const item of items) {
    const key = state.keys.get(item.key);
    if (typeof key === "number") return false;
    if (key === undefined || (item.mode === "permits" && key.semaphore === undefined)) continue;
    if (!key.admits(item.mode, item.mode === "permits" ? item.permits : 0)) return false;
  }
  return true;
}

function isAnyFull(state: TableState, items: readonly Item[]): boolean {
  for (const item of items) {
    if (waitersOf(state, item.key) >= state.settings.waitersMax) return true;
  }
  return false;
}

/**
 * Whether its priority could put it before other waiters; only its place in the queues can decide
 * that.
 */
function hasHeadStart(state: TableState, { items, options }: Waiting): boolean {
  if (options === undefined || options.priority === 0) return false;
  return items.some(({ key }) => waitersOf(state, key) > 0);
}

type Waiting = Pick<AcquireCommand, "sequence" | "items" | "waitMs" | "options">;

/**
 * Puts a request in its queues, or grants or refuses it.
 * @param who the task of an acquire, or what a take waits for
 * @param before the wait that a take continues, which has left its queues: it keeps that place
 */
export function enqueue(
  state: TableState,
  session: Session,
  command: Waiting,
  who: number | LeaseWait,
  before?: Request,
): void {
  const { sequence, waitMs, items } = command;
  const { stamp } = state;
  const options = before === undefined ? command.options : before.options;
  const dueAt = waitMs === WAIT_FOREVER ? NO_DEADLINE : stamp + waitMs;
  const rank = stamp - (options?.priority ?? 0) * state.settings.priorityStepMs;
  const order = before ?? { rank, number: state.takeNumber() };
  const task = typeof who === "number" ? who : LEASE_TASKS + order.number;
  const since = before?.enqueuedAt ?? stamp;
  const request = new Request(session, sequence, task, order, since, dueAt, options);
  if (typeof who !== "number") {
    request.become(who, before === undefined ? order.number : state.takeNumber());
  }
  let last: Place | undefined;
  for (const item of items) {
    const place = placeOf(state, item, request);
    if (last === undefined) request.change().firstPlace = place;
    else last.change().sibling = place;
    last = place;
  }
  lineUp(state, request, waitMs === 0);
}

/**
 * Puts a request, whose places are made, into its queues, unless it turns out that it need not, or
 * must not, wait.
 */
export function lineUp(state: TableState, request: Request, isTry: boolean): void {
  const { session, sequence, upgrades, lease } = request;
  const hadClaims = addRequest(state, request);
  if (request.isEligible) {
    const result = grant(state, request);
    if (upgrades === undefined && lease === undefined) state.reply(session, sequence, result);
    else store(state, session, sequence, result);
    advanceKeys(state, request);
    return;
  }
  const refusal = isTry
    ? lockHeldAt(request)
    : check(state, request, hadClaims || hasWaitersAfter(request));
  if (refusal !== undefined) {
    if (refusal.status === ERROR_NUMBERS.DEADLOCK) state.deadlocks += 1;
    removeRequest(state, request);
    store(state, session, sequence, refusal);
    advanceKeys(state, request);
    return;
  }
  if (request.hasEnded) {
    // It was granted after all, after it gave up its head start.
    const hold = holdOf(state, session, sequence);
    if (hold !== undefined) state.reply(session, sequence, grantedResult(hold));
    return;
  }
  request.slot = new Slot(sequence, state.stamp, "waiting", request, state.copies.latest);
  session.replies.add(request.slot);
  state.reply(session, sequence, QUEUED);
  state.note("queued", request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    notifyHolders(state, place.key);
  }
}

/**
 * The refusal of a request that would wait forever; `undefined` if it may wait, or if a later
 * entry will decide.
 */
function check(state: TableState, request: Request, isSuspect: boolean): Result | undefined {
  if (!isSuspect || !request.detects) return undefined;
  request.change().isUnchecked = true;
  const refusal = refusalOf(state, request);
  if (refusal === UNDECIDED) {
    searchLater(state, request);
    return undefined;
  }
  request.change().isUnchecked = false;
  return refusal;
}

/** Returns whether its task has other claims. */
function addRequest(state: TableState, request: Request): boolean {
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.enqueue(place);
  }
  state.otherBytes += request.session.addRequest(request);
  if (request.dueAt !== NO_DEADLINE) state.due.add(request);
  state.requestCount += 1;
  const upgraded = upgradedBy(request);
  if (upgraded !== undefined) upgraded.changeExtras().upgrade = request;
  if (request.lease !== undefined) state.leases.add(request, request.lease);
  return join(state, request);
}

function removeRequest(state: TableState, request: Request): void {
  forgetRequest(state, request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.dequeue(place);
  }
}

function hasWaitersAfter(request: Request): boolean {
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    if (place.next !== undefined) return true;
  }
  return false;
}

/** The refusal of an acquire that does not want to wait, with some of its blockers. */
export function lockHeld(state: TableState, items: readonly Item[]): Result {
  const found = blockersOf(
    items.map((item) => {
      const key = lookAtKey(state, item.key);
      return { key, mode: item.mode, wanted: item.mode === "permits" ? item.permits : 0 };
    }),
  );
  return { status: ERROR_NUMBERS.LOCK_HELD, ...found };
}

/** The same refusal for a request that already has places in its queues. */
function lockHeldAt(request: Request): Result {
  const asked = [];
  for (let place: Place | undefined = request.firstPlace; place; place = place.sibling) {
    asked.push({ key: place.key, mode: place.mode, wanted: place.wanted, before: place });
  }
  return { status: ERROR_NUMBERS.LOCK_HELD, ...blockersOf(asked) };
}
