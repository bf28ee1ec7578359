/**
 * Who conflicts with whom in the naive model, and how a request becomes a hold (semantics.md, 4.3). Every
 * question is a scan of everything.
 */
import {
  END_REASON,
  type EndReason,
  type HeldItem,
  MESSAGE,
  type Result,
  STATUS,
} from "../../../src/protocol/index.js";
import {
  error,
  isBefore,
  isSameNamed,
  itemIn,
  keysOf,
  type ModelCooldown,
  type ModelHold,
  type ModelItem,
  type ModelRequest,
  type ModelSession,
  type ModelTake,
  type NamedOwner,
} from "./records.js";
import { push } from "./replies.js";
import { mayOnAll, noteRefusal } from "./rights.js";
import type { Model } from "./state.js";

/** Who waits for a key, in order. */
export function queueOf(model: Model, key: string): ModelRequest[] {
  return model.requests.filter((request) => itemIn(request, key));
}

/** What is held in a key or keeps it closed, in the order of tokens. */
export function heldIn(model: Model, key: string): (ModelHold | ModelCooldown)[] {
  return [...model.holds, ...model.cooldowns]
    .filter((claim) => itemIn(claim, key))
    .sort((left, right) => left.token - right.token);
}

export function holdsIn(model: Model, key: string): ModelHold[] {
  return model.holds.filter((hold) => itemIn(hold, key));
}

/** Whether an item conflicts with no hold and no cooldown. One's own hold is not in one's way. */
export function isAdmitted(model: Model, item: ModelItem, own?: ModelHold): boolean {
  const others = heldIn(model, item.key)
    .filter((claim) => claim !== own)
    .map((claim) => itemIn(claim, item.key) as ModelItem);
  if (item.mode === "permits") {
    const held = others.reduce((sum, { permits }) => sum + permits, 0);
    // A semaphore that is not in use yet gets the limit that the item names, which is enough.
    const limit = model.semaphoreOf(item.key)?.limit ?? Number.POSITIVE_INFINITY;
    return held + item.permits <= limit;
  }
  return !others.some((other) => conflicts(item, other));
}

/** Of two requests, or of a request and a hold of a lock. Permits wait behind each other. */
export function conflicts(left: ModelItem, right: ModelItem): boolean {
  return left.mode !== "shared" || right.mode !== "shared";
}

export function requestsAhead(model: Model, request: ModelRequest, key: string): ModelRequest[] {
  return queueOf(model, key).filter((other) => isBefore(other, request));
}

/** The rule itself: no conflict with a hold, a cooldown, or a request ahead. */
export function isEligible(model: Model, request: ModelRequest, key: string): boolean {
  const item = itemIn(request, key) as ModelItem;
  const ahead = requestsAhead(model, request, key).map((other) => itemIn(other, key) as ModelItem);
  return (
    isAdmitted(model, item, request.upgrades) && !ahead.some((other) => conflicts(item, other))
  );
}

/** As above, for somebody who would come after everybody. */
export function isFree(model: Model, item: ModelItem): boolean {
  const queue = queueOf(model, item.key);
  return (
    isAdmitted(model, item) &&
    queue.every((other) => hasReached(other, item.key)) &&
    !queue.some((other) => conflicts(item, itemIn(other, item.key) as ModelItem))
  );
}

export function hasReached(request: ModelRequest, key: string): boolean {
  return request.reached.includes(key);
}

export function hasReachedAll(request: ModelRequest): boolean {
  return keysOf(request).every((key) => hasReached(request, key));
}

/** A request takes its place; those behind it may have to wait again. */
export function enqueue(model: Model, request: ModelRequest): void {
  model.requests.push(request);
  model.requests.sort((left, right) => (isBefore(left, right) ? -1 : 1));
  for (const key of keysOf(request)) {
    const ahead = requestsAhead(model, request, key);
    const isNext = ahead.every((other) => hasReached(other, key));
    if (isNext && isEligible(model, request, key)) request.reached.push(key);
    retreat(model, key);
  }
}

export function dequeue(model: Model, request: ModelRequest): void {
  model.requests = model.requests.filter((other) => other !== request);
  request.reached = [];
}

/** From the first request that is not eligible on, nobody has reached anything in the key. */
export function retreat(model: Model, key: string): void {
  const queue = queueOf(model, key);
  const at = queue.findIndex((request) => !isEligible(model, request, key));
  if (at === -1) return;
  for (const request of queue.slice(at)) {
    request.reached = request.reached.filter((other) => other !== key);
  }
}

/**
 * After anything changed in a key: each request that became eligible there has reached it, one
 * after the other, and is granted when that was the last of its keys. Then holders hear of those
 * who wait.
 *
 * Who is granted waits no more in its other keys: in a lock that helps nobody who could not go before,
 * in a semaphore the next one may go together with it.
 */
export function look(model: Model, key: string): void {
  const keys = [key];
  for (const at of keys) keys.push(...lookAt(model, at));
}

/** Returns the other semaphores of those that were granted. */
function lookAt(model: Model, key: string): string[] {
  const others: string[] = [];
  for (;;) {
    const request = queueOf(model, key).find((other) => !hasReached(other, key));
    if (request === undefined || !isEligible(model, request, key)) break;
    if (model.budget === 0) {
      model.addWork(key);
      return others;
    }
    model.budget -= 1;
    request.reached.push(key);
    if (!hasReachedAll(request) || model.isOver(request)) continue;
    if (!mayOnAll(request.session.identity, "acquire", request)) {
      noteRefusal(model, "acquire");
      push(model, request.session, request.sequence, error("FORBIDDEN"));
      dequeue(model, request);
      others.push(...keysOf(request).filter((other) => other !== key));
      continue;
    }
    push(model, request.session, request.sequence, grant(model, request));
    for (const item of request.items) {
      if (item.key === key) continue;
      if (item.mode === "permits") others.push(item.key);
      else tellHolders(model, item.key);
    }
  }
  tellHolders(model, key);
  return others;
}

export function lookAll(model: Model, keys: readonly string[]): void {
  for (const key of keys) look(model, key);
}

/** Each holder hears once that somebody waits behind it, other than its own upgrade. */
export function tellHolders(model: Model, key: string): void {
  const queue = queueOf(model, key);
  if (queue.every((request) => hasReached(request, key))) return;
  for (const hold of holdsIn(model, key)) {
    if (hold.isContended || (queue.length === 1 && queue[0]?.upgrades === hold)) continue;
    if (model.budget === 0) {
      model.addWork(key);
      return;
    }
    model.budget -= 1;
    hold.isContended = true;
    model.say(hold.session, { kind: MESSAGE.contended, sequence: hold.sequence });
  }
}

/** The request becomes a hold, or makes the hold that it upgrades exclusive. */
export function grant(model: Model, request: ModelRequest): Result {
  const { session, task, items, upgrades, since } = request;
  dequeue(model, request);
  if (upgrades === undefined) return grantedResult(makeHold(model, request, model.stamp - since));
  takeNewToken(model, upgrades);
  const key = items[0]?.key ?? "";
  (itemIn(upgrades, key) as ModelItem).mode = "exclusive";
  model.suspects.push({ session, task });
  return { status: STATUS.upgraded, token: upgrades.token };
}

/** What becomes a hold: a request, or what need not become one. */
export type Wanted = Pick<
  ModelRequest,
  "session" | "sequence" | "task" | "items" | "options" | "take"
>;

export function makeHold(model: Model, wanted: Wanted, waitedMs = 0): ModelHold {
  const { session, task, sequence, items, options, take } = wanted;
  for (const item of items) item.slots = lowestFreeSlots(model, item);
  const hold: ModelHold = {
    token: model.takeToken(),
    session: take === undefined ? session : undefined,
    task,
    sequence,
    items,
    since: model.stamp,
    waitedMs,
    options,
    value: options.value,
    revoked: undefined,
    lease: take && leaseOf(model, wanted, take),
    end: undefined,
    isContended: false,
  };
  if (take !== undefined) forgetEnded(model, take, keysOf(hold));
  else if (hasClaims(model, session, task)) model.suspects.push({ session, task });
  model.holds.push(hold);
  scheduleEnd(model, hold);
  return hold;
}

function leaseOf({ stamp }: Model, { session: { id }, sequence }: Wanted, take: ModelTake) {
  const endsAt = take.ttlMs === 0 ? Number.POSITIVE_INFINITY : stamp + take.ttlMs;
  return { ...take, endsAt, takenBy: { session: id, sequence } };
}

/** How long it is remembered why a hold of an owner ended. */
const REMEMBERED_MS = 60_000;

/** A new lease of the owner takes the place of what is known of those before it. */
export function forgetEnded(model: Model, owner: NamedOwner, keys: readonly string[]): void {
  model.endedLeases = model.endedLeases.filter((ended) => {
    return !isSameNamed(ended, owner) || !keys.includes(ended.key);
  });
}

/** The hold that an owner has in a key. */
export function holdOfOwner(model: Model, owner: NamedOwner, key: string): ModelHold | undefined {
  return model.holds.find(
    (hold) =>
      hold.lease !== undefined && isSameNamed(hold.lease, owner) && itemIn(hold, key) !== undefined,
  );
}

/** The wait that an owner has in a key. */
export function waitOfOwner(
  model: Model,
  owner: NamedOwner,
  key: string,
): ModelRequest | undefined {
  return model.requests.find(
    ({ take, ...wait }) =>
      take !== undefined && isSameNamed(take, owner) && itemIn(wait, key) !== undefined,
  );
}

/** Why the owner's last hold in the key ended, if that is not long ago. */
export function memoryOf(model: Model, owner: NamedOwner, key: string): EndReason {
  return endedIn(model, owner, key)?.reason ?? END_REASON.unknown;
}

export function endedIn(model: Model, owner: NamedOwner, key: string) {
  return model.endedLeases
    .filter((ended) => model.stamp < ended.at + REMEMBERED_MS)
    .find((one) => isSameNamed(one, owner) && one.key === key);
}

export function hasClaims(model: Model, session: ModelSession, task: number): boolean {
  return [...model.holds, ...model.requests].some(
    (claim) => claim.session === session && claim.task === task && !("take" in claim && claim.take),
  );
}

function lowestFreeSlots(model: Model, { key, permits }: ModelItem): number[] {
  const taken = heldIn(model, key).flatMap((claim) => itemIn(claim, key)?.slots ?? []);
  const slots: number[] = [];
  for (let slot = 0; slots.length < permits; slot += 1) if (!taken.includes(slot)) slots.push(slot);
  return slots;
}

export function grantedResult({ token, items, lease, end }: ModelHold): Result {
  const slots = items.filter(({ mode }) => mode === "permits").map((item) => item.slots);
  if (lease !== undefined) {
    return { status: STATUS.leased, tokens: [token], endsAt: end?.at ?? 0, slots };
  }
  return { status: STATUS.granted, token, ...(slots.length > 0 ? { slots } : {}) };
}

/** As they are now, with their slots. */
export function heldItems({ items }: ModelHold): HeldItem[] {
  return items.map(({ key, mode, permits, slots }) => ({ key, mode, permits, slots }));
}

export function takeNewToken(model: Model, hold: ModelHold): void {
  hold.token = model.takeToken();
  model.holds = [...model.holds.filter((other) => other !== hold), hold];
}

/** When a hold ends by itself while its session lives, for each reason, the weightiest first. */
function endsOf({ since, options, revoked, lease }: ModelHold) {
  const { maxHoldMs } = options;
  return [
    { reason: "revoked" as const, at: revoked?.at },
    { reason: "maxHold" as const, at: maxHoldMs > 0 ? since + maxHoldMs : undefined },
    { reason: "expired" as const, at: lease?.endsAt },
  ].flatMap(({ reason, at }) => (at === undefined ? [] : [{ reason, at }]));
}

/** `Infinity`: it does not end by itself. */
export function firstEndOf(hold: ModelHold): number {
  return Math.min(...endsOf(hold).map(({ at }) => at));
}

/** After anything of that changed. */
export function scheduleEnd(model: Model, hold: ModelHold): void {
  const at = firstEndOf(hold);
  if (hold.end?.at === at) return;
  hold.end = at === Number.POSITIVE_INFINITY ? undefined : { at, number: model.takeNumber() };
}

/** What comes first, and of equals the weightiest. */
export function reasonAtEnd(hold: ModelHold): EndReason {
  const found = endsOf(hold).find(({ at }) => at === hold.end?.at);
  return found === undefined ? END_REASON.unknown : END_REASON[found.reason];
}

export function isRevokedAtEnd(hold: ModelHold): boolean {
  return hold.end !== undefined && reasonAtEnd(hold) === END_REASON.revoked;
}

/** The hold that an acquire or claim of this session brought. */
export function holdOf(
  model: Model,
  session: ModelSession,
  sequence: number,
): ModelHold | undefined {
  return model.holds.find((hold) => hold.session === session && hold.sequence === sequence);
}
