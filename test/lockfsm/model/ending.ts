/** How holds, requests, cooldowns and sessions end in the naive model (semantics.md, 6). */
import { END_REASON, type EndReason, MESSAGE, type Result } from "../../../src/protocol/index.js";
import { dequeue, forgetEnded, look, lookAll, queueOf, reasonAtEnd, retreat } from "./claims.js";
import { isCycle, isOnCycle, isOnWillingCycle, isVictim, listedIn } from "./cycles.js";
import {
  error,
  isBefore,
  isSameTask,
  itemIn,
  keysOf,
  type ModelCooldown,
  type ModelEndedLease,
  type ModelHold,
  type ModelIdentity,
  type ModelItem,
  type ModelRequest,
  type ModelSemaphore,
  type ModelSession,
  type ModelTask,
  type NamedOwner,
} from "./records.js";
import { push, recordLoss } from "./replies.js";
import type { Model } from "./state.js";

/** Ends of leases that are remembered. */
const ENDED_LEASES_MAX = 10_000;

/** A hold ends otherwise than by a command of its session, if it has one. */
export function lose(model: Model, hold: ModelHold, reason: EndReason): void {
  takeAway(model, hold, reason);
  lookAll(model, keysOf(hold));
}

export function takeAway(model: Model, hold: ModelHold, reason: EndReason): void {
  const { session, sequence, token } = hold;
  if (session !== undefined) {
    recordLoss(session, hold, reason);
    model.say(session, { kind: MESSAGE.lost, sequence, token, stamp: model.stamp, reason });
  }
  takeOut(model, hold, reason);
}

export function endHold(model: Model, hold: ModelHold, reason: EndReason): void {
  takeOut(model, hold, reason);
  lookAll(model, keysOf(hold));
}

/** Removes the hold and its upgrade; a cooldown may take its place. */
function takeOut(model: Model, hold: ModelHold, reason: EndReason): void {
  withdrawUpgrade(model, hold);
  model.holds = model.holds.filter((other) => other !== hold);
  rememberEnd(model, hold, reason);
  const closedMs = closedMsAfter(model, hold, reason);
  if (closedMs === 0) return;
  const { token, session, items } = hold;
  const at = model.stamp + closedMs;
  const identity = session?.identity ?? hold.lease?.identity;
  model.cooldowns.push({ token, session, identity, items, at, number: model.takeNumber() });
}

function rememberEnd(model: Model, { lease, items }: ModelHold, reason: EndReason): void {
  if (lease !== undefined) remember(model, lease, keysOf({ items }), { reason });
}

/** What is remembered of each key is what came last. */
export function remember(
  model: Model,
  { identity, owner, isBearer }: NamedOwner,
  keys: readonly string[],
  how: Pick<ModelEndedLease, "reason" | "request">,
): void {
  forgetEnded(model, { identity, owner, isBearer }, keys);
  const whose = { identity, owner, isBearer };
  const ended = keys.map((key) => ({ ...whose, key, at: model.stamp, ...how }));
  model.endedLeases = [...model.endedLeases, ...ended].slice(-ENDED_LEASES_MAX);
}

/** The table of ends: what keeps the keys closed, and for how long. */
function closedMsAfter(model: Model, { since, options }: ModelHold, reason: EndReason): number {
  const restMs = Math.max(0, since + options.minHoldMs - model.stamp);
  switch (reason) {
    case END_REASON.stolen:
      return 0;
    case END_REASON.released:
    case END_REASON.closed:
      return restMs;
    default:
      return Math.max(restMs, options.lockDelayMs);
  }
}

/** What keeps `keys` closed goes on in its other keys alone. */
export function openIn(model: Model, cooldown: ModelCooldown, keys: readonly string[]): void {
  cooldown.items = cooldown.items.filter(({ key }) => !keys.includes(key));
  if (cooldown.items.length > 0) return;
  model.cooldowns = model.cooldowns.filter((other) => other !== cooldown);
}

export function upgradeOf(model: Model, hold: ModelHold): ModelRequest | undefined {
  return model.requests.find((request) => request.upgrades === hold);
}

/** The hold that a request was to make exclusive is its session's no more. */
export function withdrawUpgrade(model: Model, hold: ModelHold): ModelRequest | undefined {
  const upgrade = upgradeOf(model, hold);
  if (upgrade !== undefined) withdraw(model, upgrade, error("NOT_HELD"));
  return upgrade;
}

function withdraw(model: Model, request: ModelRequest, result: Result): void {
  push(model, request.session, request.sequence, result);
  dequeue(model, request);
}

export function endRequest(model: Model, request: ModelRequest, result: Result): void {
  withdraw(model, request, result);
  lookAll(model, keysOf(request));
}

export function endSession(model: Model, session: ModelSession, reason: EndReason): void {
  model.say(session, { kind: MESSAGE.ended, session: session.id, reason });
  session.endedBy = reason;
  model.sessions = model.sessions.filter((other) => other !== session);
  endClaims(model, session);
}

/** The sessions of an identity that was removed, one after the other. */
function endSessionsOf(model: Model, identity: ModelIdentity): void {
  for (;;) {
    const [session] = model.sessions
      .filter((other) => other.identity === identity)
      .sort((left, right) => left.id - right.id);
    if (session === undefined) return;
    if (model.budget === 0) {
      model.addWork(identity);
      return;
    }
    model.budget -= 1;
    endSession(model, session, END_REASON.revoked);
  }
}

/** Its requests in the order in which it got them, then its holds in the order of tokens. */
function endClaims(model: Model, session: ModelSession): void {
  for (;;) {
    const [request] = model.requests
      .filter((other) => other.session === session)
      .sort((left, right) => left.joined - right.joined);
    const hold = model.holds.find((other) => other.session === session);
    if (request === undefined && hold === undefined) return;
    if (model.budget === 0) {
      model.addWork(session);
      return;
    }
    model.budget -= 1;
    if (request !== undefined) {
      dequeue(model, request);
      lookAll(model, keysOf(request));
    } else if (hold !== undefined) {
      endHold(model, hold, session.endedBy ?? END_REASON.unknown);
    }
  }
}

// --- cycles -------------------------------------------------------------------------------

/** When a step is over: those that got something may have closed a cycle. */
export function resolveSuspects(model: Model): void {
  for (;;) {
    const suspect = model.suspects.shift();
    if (suspect === undefined) return;
    breakCycles(model, suspect);
  }
}

/** The last of those in a cycle gives way, until there is none. */
function breakCycles(model: Model, task: ModelTask): void {
  for (;;) {
    const asked = firstWaitOf(model, task);
    if (asked === undefined || !isOnCycle(model, task, asked)) return;
    const refusal = nextRefusal(model, task, asked);
    if (refusal === undefined) return;
    model.deadlocks += 1;
    endRequest(model, refusal.victim, error("DEADLOCK", { cycle: refusal.cycle }));
  }
}

/**
 * Where all in a cycle may be refused one must be. Where somebody may not, the text does not say that
 * another must.
 */
function nextRefusal(model: Model, task: ModelTask, asked: ModelRequest) {
  const named = model.namedNext;
  const victim = model.requests.find(
    ({ session, sequence }) => session.id === named?.session && sequence === named.sequence,
  );
  const isRight =
    named !== undefined &&
    victim !== undefined &&
    isCycle(model, named, task, asked) &&
    isVictim(model, named, victim);
  if (isRight) return { victim, cycle: named.cycle };
  if (isOnWillingCycle(model, task, asked)) {
    model.complaints.push(`nobody of the cycle through ${asked.sequence} was refused`);
  }
  return undefined;
}

function firstWaitOf(model: Model, task: ModelTask): ModelRequest | undefined {
  return model.requests
    .filter((request) => isSameTask(request, task))
    .sort((left, right) => left.number - right.number)[0];
}

// --- a limit that fell ---------------------------------------------------------------------

/** Who waits for more than there is now is refused; what is left may have become a cycle. */
export function lower(model: Model, semaphore: ModelSemaphore): void {
  const { key } = semaphore;
  retreat(model, key);
  const [first] = queueOf(model, key);
  if (first === undefined) return;
  semaphore.evictFrom = { rank: first.rank, number: first.number };
  goOnLowering(model, semaphore);
}

function goOnLowering(model: Model, semaphore: ModelSemaphore): void {
  const { key } = semaphore;
  for (;;) {
    const from = semaphore.evictFrom;
    const request = queueOf(model, key).find((other) => from && !isBefore(other, from));
    if (request === undefined) break;
    const { rank, number } = request;
    if (model.budget === 0) {
      semaphore.evictFrom = { rank, number };
      model.addWork(key);
      return;
    }
    model.budget -= 1;
    semaphore.evictFrom = { rank, number: number + 1 };
    const { permits } = itemIn(request, key) as ModelItem;
    if (permits > semaphore.limit) endRequest(model, request, error("INVALID_ARGUMENT"));
  }
  semaphore.evictFrom = undefined;
  look(model, key);
  for (const request of listedIn(model, key)) {
    if (model.requests.includes(request)) breakCycles(model, request);
  }
}

// --- what an entry does before its commands ------------------------------------------------

export function sweep(model: Model): void {
  const { grantsPerStepMax, unitsPerEntryMax } = model.settings;
  let units = unitsPerEntryMax;
  while (units > 0) {
    const work = model.work.shift();
    if (work === undefined) break;
    model.budget = grantsPerStepMax;
    if (typeof work !== "string") {
      if ("grants" in work) endSessionsOf(model, work);
      else endClaims(model, work);
    } else {
      const semaphore = model.semaphoreOf(work);
      if (semaphore?.evictFrom === undefined) look(model, work);
      else goOnLowering(model, semaphore);
    }
    resolveSuspects(model);
    model.forgetUnused();
    units -= Math.max(1, grantsPerStepMax - model.budget);
  }
  while (units > 0) {
    const due = dueTimes(model)[0];
    if (due === undefined || due.at > model.stamp) return;
    model.budget = grantsPerStepMax;
    due.end();
    resolveSuspects(model);
    model.forgetUnused();
    units -= 1 + grantsPerStepMax - model.budget;
  }
}

/** Whatever ends by itself, by time and number. */
export function dueTimes(model: Model) {
  const leases = model.sessions.map((session) => ({
    at: session.expiresAt,
    number: session.id,
    end: () => {
      const { isRemoved } = session.identity;
      endSession(model, session, isRemoved ? END_REASON.revoked : END_REASON.expired);
    },
  }));
  const forced = model.sessions.flatMap((session) =>
    session.forced === undefined
      ? []
      : [{ ...session.forced, end: () => endSession(model, session, END_REASON.revoked) }],
  );
  const deadlines = model.requests
    .filter(({ deadline }) => deadline !== Number.POSITIVE_INFINITY)
    .map((request) => ({
      at: request.deadline,
      number: request.number,
      end: () => endRequest(model, request, error("LOCK_TIMEOUT")),
    }));
  const ends = model.holds.flatMap((hold) =>
    hold.end === undefined
      ? []
      : [{ ...hold.end, end: () => lose(model, hold, reasonAtEnd(hold)) }],
  );
  const cooldowns = model.cooldowns.map((cooldown) => ({
    at: cooldown.at,
    number: cooldown.number,
    end: () => {
      model.cooldowns = model.cooldowns.filter((other) => other !== cooldown);
      lookAll(model, keysOf(cooldown));
    },
  }));
  return [...leases, ...forced, ...deadlines, ...ends, ...cooldowns].sort(
    (left, right) => left.at - right.at || left.number - right.number,
  );
}
