/** Acquire in the naive model: every way in which it is answered (semantics.md, 4). */
import { ERROR_NUMBERS } from "../../../src/errors/index.js";
import {
  ACQUIRE_DEFAULTS,
  type AcquireCommand,
  BLOCKED_BY,
  type Blocker,
  END_REASON,
  ITEMS_MAX,
  type Item,
  type Result,
  STATUS,
  WAIT_FOREVER,
} from "../../../src/protocol/index.js";
import {
  conflicts,
  dequeue,
  enqueue,
  grant,
  grantedResult,
  hasReached,
  hasReachedAll,
  heldIn,
  holdsIn,
  isAdmitted,
  isFree,
  lookAll,
  makeHold,
  queueOf,
  retreat,
  tellHolders,
  type Wanted,
} from "./claims.js";
import { isCycle, isOnCycle } from "./cycles.js";
import { openIn, takeAway } from "./ending.js";
import {
  error,
  holderOf,
  isBefore,
  isHold,
  itemIn,
  itemsOf,
  keysOf,
  type ModelHold,
  type ModelItem,
  type ModelRequest,
  type ModelSession,
} from "./records.js";
import { answer } from "./replies.js";
import { mayEnd, noteRefusal } from "./rights.js";
import { hasAllHolds, isIdentityFull, isSessionFull, isShareFull, isTableFull } from "./sizes.js";
import type { Model } from "./state.js";

/** For an upgrade: ahead of every acquire. */
export const UPGRADE_RANK = -(2 ** 52);
/** Places of a list that a refusal looks at for somebody to name, and how many it names. */
const LOOKS_MAX = 16;
const BLOCKERS_MAX = 4;

export function acquire(model: Model, session: ModelSession, command: AcquireCommand): void {
  const { sequence, task } = command;
  const options = command.options ?? ACQUIRE_DEFAULTS;
  const refuse = (result: Result) => answer(model, session, sequence, result);
  const problem = problemOf(model, command);
  if (problem !== undefined) {
    refuse(problem);
    return;
  }
  const items = itemsOf(command.items);
  const isFull = hasAllHolds(model, session) || isSessionFull(model, session) || isTableFull(model);
  const wanted = { session, sequence, task, items, options, take: undefined };
  if (isFull || isIdentityFull(model, session.identity, ["claims", "bytes"])) {
    refuse(error("QUOTA"));
  } else if (options.steal) steal(model, command, wanted);
  else ask(model, command, wanted);
}

/** It is granted at once, or refused, or waits. */
export function ask(
  model: Model,
  command: Pick<AcquireCommand, "items" | "waitMs">,
  wanted: Wanted,
): void {
  const { session, sequence, items, options, take } = wanted;
  const { waitMs } = command;
  const refuse = (result: Result) => answer(model, session, sequence, result);
  if (items.every((item) => isFree(model, item))) {
    beginUse(model, command.items);
    answer(model, session, sequence, grantedResult(makeHold(model, wanted)));
    return;
  }
  // A request that tries without a wait may still come before others, with a head start.
  const isFirst = items.some(({ key }) => queueOf(model, key).length > 0);
  if (waitMs === 0 && !(options.priority > 0 && isFirst)) refuse(lockHeld(model, items));
  else if (waitMs !== 0 && isAnyFull(model, items)) refuse(error("QUEUE_FULL"));
  else if (waitMs !== 0 && waitsOfSession(model, session) >= model.settings.waitsPerSessionMax) {
    refuse(error("QUOTA"));
  } else if (waitMs !== 0 && isShareFull(model, session.identity, items)) {
    refuse(error("QUOTA"));
  } else {
    beginUse(model, command.items);
    const number = model.takeNumber();
    const rank = model.stamp - options.priority * model.settings.priorityStepMs;
    lineUp(model, waitMs, {
      ...wanted,
      number,
      joined: number,
      rank,
      since: model.stamp,
      deadline: deadlineOf(model, waitMs),
      detects: options.detect && take === undefined,
      upgrades: undefined,
      reached: [],
    });
  }
}

export function deadlineOf({ stamp }: Model, waitMs: number): number {
  return waitMs === WAIT_FOREVER ? Number.POSITIVE_INFINITY : stamp + waitMs;
}

function problemOf(model: Model, command: AcquireCommand): Result | undefined {
  const { items, task } = command;
  const isSound = isWellFormed(model, command) && Number.isSafeInteger(task) && task >= 0;
  return isSound ? kindProblemOf(model, items) : error("INVALID_ARGUMENT");
}

export function isWellFormed(
  { settings }: Model,
  { items, waitMs, options }: Pick<AcquireCommand, "items" | "waitMs" | "options">,
): boolean {
  const { minHoldMsMax, lockDelayMsMax } = settings;
  if (options !== undefined && options.minHoldMs > minHoldMsMax) return false;
  if (options !== undefined && options.lockDelayMs > lockDelayMsMax) return false;
  const keys = keysOf({ items });
  const isSomething = items.length >= 1 && items.length <= ITEMS_MAX;
  return isSomething && isValidWait(waitMs) && new Set(keys).size === keys.length;
}

export function kindProblemOf(model: Model, items: readonly Item[]): Result | undefined {
  for (const item of items) {
    const problem = kindProblem(model, item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

export function isValidWait(waitMs: number): boolean {
  return Number.isSafeInteger(waitMs) && waitMs >= WAIT_FOREVER && waitMs < 2 ** 32;
}

/** A key in use is a lock or a semaphore, and a semaphore has one limit. */
function kindProblem(model: Model, item: Item): Result | undefined {
  const semaphore = model.semaphoreOf(item.key);
  if (item.mode !== "permits") return semaphore === undefined ? undefined : error("WRONG_KIND");
  if (semaphore === undefined) {
    if (model.isInUse(item.key)) return error("WRONG_KIND");
    const isEnough = item.limit !== undefined && item.limit >= item.permits;
    return isEnough ? undefined : error("INVALID_ARGUMENT");
  }
  const { limit } = semaphore;
  if (item.limit !== undefined && item.limit !== limit) return error("LIMIT_MISMATCH", { limit });
  return item.permits > limit ? error("INVALID_ARGUMENT") : undefined;
}

export function beginUse(model: Model, items: readonly Item[]): void {
  for (const item of items) {
    if (item.mode !== "permits" || model.semaphoreOf(item.key) !== undefined) continue;
    const limit = item.limit ?? 0;
    model.semaphores.push({ key: item.key, limit, isSet: false, evictFrom: undefined });
  }
}

export function waitsOfSession(model: Model, session: ModelSession): number {
  return model.requests.filter((request) => request.session === session).length;
}

function isAnyFull(model: Model, items: readonly ModelItem[]): boolean {
  return items.some(({ key }) => queueOf(model, key).length >= model.settings.waitersMax);
}

/** Ends whole holds that touch its keys and what keeps these closed; never waits. */
function steal(model: Model, command: AcquireCommand, wanted: Wanted): void {
  const { session, sequence, items } = wanted;
  const keys = keysOf({ items });
  const claims = new Set(keys.flatMap((key) => heldIn(model, key)));
  if (claims.size > model.settings.holdsPerStepMax) {
    answer(model, session, sequence, error("QUOTA"));
    return;
  }
  const holds = new Set(keys.flatMap((key) => holdsIn(model, key)));
  if (!mayEnd(session.identity, holds)) {
    noteRefusal(model, "operate");
    answer(model, session, sequence, error("FORBIDDEN"));
    return;
  }
  for (const hold of holds) takeAway(model, hold, END_REASON.stolen);
  for (const cooldown of [...model.cooldowns]) openIn(model, cooldown, keys);
  beginUse(model, command.items);
  const result = grantedResult(makeHold(model, wanted));
  const touched = [...new Set([...keys, ...[...holds].flatMap(keysOf)])];
  for (const key of touched) retreat(model, key);
  answer(model, session, sequence, result);
  lookAll(model, touched);
}

/**
 * A request takes its place. It is granted after all, or refused where it must not wait or would wait
 * forever, or waits.
 */
export function lineUp(model: Model, waitMs: number, request: ModelRequest): void {
  const { session, sequence } = request;
  enqueue(model, request);
  if (hasReachedAll(request)) {
    answer(model, session, sequence, grant(model, request));
    lookAll(model, keysOf(request));
    return;
  }
  const refusal =
    waitMs === 0 ? lockHeld(model, request.items, request) : findCycle(model, request);
  if (refusal !== undefined) {
    if (refusal.status === ERROR_NUMBERS.DEADLOCK) model.deadlocks += 1;
    dequeue(model, request);
    answer(model, session, sequence, refusal);
    lookAll(model, keysOf(request));
    return;
  }
  answer(model, session, sequence, { status: STATUS.queued });
  for (const key of keysOf(request)) tellHolders(model, key);
}

/** A head start that closes a cycle is forfeited before the request is refused. */
function findCycle(model: Model, request: ModelRequest): Result | undefined {
  if (!request.detects || !isOnCycle(model, request, request)) return undefined;
  if (request.upgrades === undefined && request.rank !== request.since) {
    dequeue(model, request);
    request.rank = request.since;
    enqueue(model, request);
    if (!isOnCycle(model, request, request)) {
      lookAll(model, keysOf(request));
      return undefined;
    }
  }
  const named = model.namedNext;
  if (named === undefined || !isCycle(model, named, request, request)) {
    model.complaints.push(`${request.sequence} closes a cycle, and not the one that was named`);
  }
  return error("DEADLOCK", { cycle: named?.cycle ?? [] });
}

/** Names a few of those in the way, of each key first holds and cooldowns, then who waits. */
export function lockHeld(
  model: Model,
  items: readonly ModelItem[],
  request?: ModelRequest,
): Result {
  const blockers: Blocker[] = [];
  let [byHold, byCooldown] = [false, false];
  for (const item of items) {
    const { key } = item;
    const isInNobodysWay = request === undefined ? isFree(model, item) : hasReached(request, key);
    if (isInNobodysWay) continue;
    const isInWay = (claim: { readonly items: readonly ModelItem[] }) =>
      conflicts(item, itemIn(claim, key) as ModelItem);
    if (!isAdmitted(model, item, request?.upgrades)) {
      const all = heldIn(model, key);
      const named = all
        .slice(0, LOOKS_MAX)
        .filter((claim) => isInWay(claim) && claim !== request?.upgrades);
      byHold ||= named.some(isHold) || all.length > LOOKS_MAX;
      byCooldown ||= named.some((claim) => !isHold(claim));
      for (const claim of named) {
        const { mode } = itemIn(claim, key) as ModelItem;
        const blocker = isHold(claim)
          ? { ...nameOf(claim), token: claim.token, holder: holderOf(claim) }
          : { sessionName: "", identity: "", session: 0, token: 0, holder: null };
        blockers.push({ ...blocker, key, mode });
      }
    }
    const queue = queueOf(model, key);
    // Shared requests in front that wait in other keys only are in no shared one's way.
    const [head] = queue;
    const isBehindShared =
      item.mode === "shared" && head !== undefined && itemIn(head, key)?.mode === "shared";
    const firstInWay = queue.findIndex((other) => !hasReached(other, key));
    const waiting = isBehindShared ? (firstInWay === -1 ? [] : queue.slice(firstInWay)) : queue;
    for (const other of waiting.slice(0, LOOKS_MAX)) {
      if (!isInWay(other) || (request !== undefined && !isBefore(other, request))) continue;
      const { mode } = itemIn(other, key) as ModelItem;
      blockers.push({ ...nameOf(other), key, mode, token: 0, holder: null });
    }
  }
  return {
    status: ERROR_NUMBERS.LOCK_HELD,
    blockedBy: byHold ? BLOCKED_BY.holds : byCooldown ? BLOCKED_BY.cooldown : BLOCKED_BY.waiters,
    blockers: blockers.slice(0, BLOCKERS_MAX),
  };
}

/** Who has it, as others see it. */
function nameOf(claim: ModelHold | ModelRequest) {
  const { session } = claim;
  const lease = "lease" in claim ? claim.lease : claim.take;
  const sessionName = (lease ?? session)?.name ?? "";
  const identity = (lease ?? session)?.identity.name ?? "";
  return { sessionName, identity, session: session?.id ?? 0 };
}
