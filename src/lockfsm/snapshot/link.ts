/**
 * Makes a table from the parts of a snapshot: puts everything into its lists, in the orders that
 * the table would have given it. A turn handles a bounded number of records. A state that entries
 * could not have produced is refused, so that no rule is found broken later.
 */
import { addCooldown } from "../holds/cooldowns.js";
import { endOf } from "../holds/due-time.js";
import { placeIn } from "../holds/grant.js";
import { lookAtKey, obtainKey } from "../holds/keys.js";
import { enterLease } from "../holds/lease-holds.js";
import { addLoneHold, isNew, type LoneHold } from "../holds/lone-holds.js";
import { join } from "../holds/tasks.js";
import { holdOf } from "../holds/tokens.js";
import { LOCAL_NUMBER } from "../records/access-state.js";
import { Hold, HoldEnd } from "../records/hold.js";
import { Credential, Identity } from "../records/identity.js";
import { type Key, Place } from "../records/key.js";
import type { LeaseOwner } from "../records/lease.js";
import { NO_DEADLINE, orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { RemovedIdentity, sessionsOf } from "../records/work-queue.js";
import { sortByNumber } from "../structures/sort.js";
import { corruptSnapshot } from "./format.js";
import type { SessionParts, SnapshotParts, WorkPart } from "./parts.js";

/** Records handled in one turn. */
const TURN_RECORDS = 2_048;

/** Counts the records of a turn, and says when it is over. */
class Turn {
  #left = TURN_RECORDS;

  isOver(): boolean {
    this.#left -= 1;
    if (this.#left > 0) return false;
    this.#left = TURN_RECORDS;
    return true;
  }
}

export function* link(parts: SnapshotParts): Generator<void, TableState, void> {
  const { state } = parts;
  const turn = new Turn();
  yield* linkSessions(parts, turn);
  yield* linkCooldowns(parts, turn);
  yield* linkShared(parts, turn);
  yield* linkSlotsOfSemaphores(state, turn);
  yield* linkRequests(parts, turn);
  yield* linkWork(parts, turn);
  yield* checkWaiting(parts, turn);
  return state;
}

/**
 * In the order of ids, so that it finds the newest of several sessions with one nonce.
 */
function* linkSessions(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  const { state } = parts;
  const ofOwners = parts.sessionsById.get(0);
  if (ofOwners !== undefined) yield* linkHolds(parts, ofOwners, turn);
  const sorted = yield* sortByNumber(parts.sessions, ({ session }) => session.id);
  for (const one of sorted) {
    linkCredential(parts, one);
    yield* linkSlots(one, turn);
    yield* linkHolds(parts, one, turn);
    const { session } = one;
    if (!session.isEnded) {
      state.sessions.add(session);
      state.due.add(session);
      if (session.forcedEnd !== undefined) state.due.add(session.forcedEnd);
    }
    if (turn.isOver()) yield;
  }
}

/** If it was removed, there is only `left`, or its number. */
function identityOf(
  { state, identities }: SnapshotParts,
  number: number,
  left = new Identity(number, ""),
): Identity {
  const known = number === LOCAL_NUMBER ? state.access.local : identities.get(number);
  return known ?? left;
}

/**
 * Only the number is left of a credential that was removed, and its session is attached to nobody.
 */
function linkCredential(parts: SnapshotParts, one: SessionParts): void {
  const { session } = one;
  const { access } = parts.state;
  const identity = identityOf(parts, one.identity);
  if (identity.name === "" && !session.isEnded) {
    refuse(session, `of identity ${one.identity}, which is unknown`);
  }
  const known = access.findCredential(one.credential);
  if (known !== undefined && known.identity !== identity) {
    refuse(session, `credential ${one.credential} is not of ${identity.name}`);
  }
  session.change().credential = known ?? Credential.removed(identity, one.credential);
}

function* linkSlots({ session, slots }: SessionParts, turn: Turn): Generator<void, void, void> {
  const { replies } = session;
  let previous = 0;
  for (const slot of yield* sortByNumber(slots, ({ sequence }) => sequence)) {
    const { sequence, state } = slot;
    if (sequence === previous) refuse(session, `sequence ${sequence} twice`);
    if (sequence < replies.mark && state !== "outcome" && state !== "waiting") {
      refuse(session, `a ${state} at ${sequence} below the mark ${replies.mark}`);
    }
    replies.add(slot);
    previous = sequence;
    if (turn.isOver()) yield;
  }
}

/**
 * In the order of tokens, which puts the holds of one session next to each other in memory and
 * makes this many times faster.
 */
function* linkHolds(
  parts: SnapshotParts,
  { session, holds }: SessionParts,
  turn: Turn,
): Generator<void, void, void> {
  for (const hold of yield* sortByNumber(holds, ({ token }) => token)) {
    if (hold instanceof Hold) linkHold(parts, hold);
    else linkLoneHold(parts, session, hold);
    if (turn.isOver()) yield;
  }
}

function linkLoneHold(parts: SnapshotParts, session: Session, part: LoneHold): void {
  const { state } = parts;
  const { token, task, sequence, grantedAt, name } = part;
  if (isNew(state, session, task, name)) {
    checkNew(state, session, token, sequence);
    addLoneHold(state, session, { token, task, sequence, grantedAt, name });
    return;
  }
  const hold = new Hold(token, session, task, sequence, grantedAt);
  hold.change().firstPlace = new Place(obtainKey(state, name), "exclusive", hold, undefined);
  linkHold(parts, hold);
}

function linkHold(parts: SnapshotParts, hold: Hold): void {
  const { state, sharedHeld } = parts;
  const { session, token, sequence, extras } = hold;
  checkNew(state, session, token, sequence);
  const number = parts.countedFor.get(hold);
  if (extras !== undefined && number !== undefined) {
    const { lease } = extras;
    const identity = identityOf(parts, number, lease?.identity);
    if (lease !== undefined) hold.changeExtras().lease = { ...lease, identity };
  }
  hold.change().row = state.rows.add(session, token, sequence, hold);
  state.holds.add(hold.row);
  const lease = hold.extras?.lease;
  if (lease !== undefined) {
    checkOwner(state, hold, lease);
    enterLease(state, hold, lease);
  } else {
    state.holdsBySequence.add(hold.row);
    join(state, hold);
  }
  if (extras !== undefined) linkEnd(parts, hold);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    if (place.mode === "exclusive") linkHeld(place, session, token);
    else sharedHeld.push(place);
  }
}

/** An owner may have one claim in a key, and no memory of an end in a key that it holds. */
function checkOwner(state: TableState, claim: Hold | Request, owner: LeaseOwner): void {
  for (let place = claim.firstPlace; place !== undefined; place = place.sibling) {
    if (state.leases.find(place.key.name, owner) !== undefined) {
      throw corruptSnapshot(`an owner has two claims in ${place.key.name}`);
    }
  }
}

function checkNew(state: TableState, session: Session, token: number, sequence: number): void {
  if (state.holds.find(token) !== 0) refuse(session, `token ${token} twice`);
  const isKnown = state.holdsBySequence.find(session, sequence) !== 0;
  if (isKnown || session.replies.find(sequence) !== undefined) {
    refuse(session, `sequence ${sequence} twice`);
  }
}

function linkEnd({ state, endNumbers }: SnapshotParts, hold: Hold): void {
  const dueAt = endOf(hold);
  const number = endNumbers.get(hold);
  if (dueAt === undefined || number === undefined) return;
  const end = new HoldEnd(hold, dueAt, number);
  hold.changeExtras().end = end;
  state.due.add(end);
}

function linkHeld(place: Place, session: Session, token: number): void {
  const { key } = place;
  const isOfKind = (place.permits !== undefined) === (key.semaphore !== undefined);
  if (!isOfKind || !key.restoreHold(place)) refuse(session, `token ${token} conflicts`);
}

function* linkCooldowns(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  const { state, sharedHeld } = parts;
  for (const cooldown of yield* sortByNumber(parts.cooldowns, ({ number }) => number)) {
    const number = parts.countedFor.get(cooldown);
    if (number !== undefined) cooldown.change().identity = identityOf(parts, number);
    if (state.cooldownsByToken.has(cooldown.token)) {
      throw corruptSnapshot(`two cooldowns of token ${cooldown.token}`);
    }
    addCooldown(state, cooldown);
    for (let place = cooldown.firstPlace; place !== undefined; place = place.sibling) {
      if (place.mode === "exclusive") linkHeld(place, state.detached, cooldown.token);
      else sharedHeld.push(place);
    }
    if (turn.isOver()) yield;
  }
}

function* linkShared(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  for (const place of yield* sortByNumber(parts.sharedHeld, tokenOf)) {
    linkHeld(place, parts.state.detached, tokenOf(place));
    if (turn.isOver()) yield;
  }
}

function tokenOf({ claimant }: Place): number {
  return (claimant as Hold).token;
}

function* linkSlotsOfSemaphores(state: TableState, turn: Turn): Generator<void, void, void> {
  for (const semaphore of state.semaphores.walk()) {
    const slots: number[] = [];
    const { name } = semaphore;
    for (let place = lookAtKey(state, name)?.firstHold; place !== undefined; place = place.next) {
      slots.push(...(place.permits?.slots ?? []));
      if (turn.isOver()) yield;
    }
    if (!semaphore.restore(slots)) throw corruptSnapshot(`slots of ${name} twice`);
  }
}

function* linkRequests(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  let previous = 0;
  for (const request of yield* sortByNumber(parts.requests, ({ number }) => number)) {
    if (request.number === previous) refuse(request.session, `number ${previous} twice`);
    linkRequest(parts, request);
    previous = request.number;
    if (turn.isOver()) yield;
  }
  for (const request of yield* sortByNumber(parts.requests, ({ joined }) => joined)) {
    parts.state.otherBytes += request.session.addRequest(request);
    if (turn.isOver()) yield;
  }
}

function linkRequest(parts: SnapshotParts, request: Request): void {
  const { state, upgraded } = parts;
  const { session, number, lease } = request;
  if (lease !== undefined) {
    const wait = { ...lease, identity: identityOf(parts, lease.identity.number, lease.identity) };
    request.change().lease = wait;
    checkOwner(state, request, wait);
    state.leases.add(request, wait);
  }
  const target = upgraded.get(request);
  if (target !== undefined) {
    const hold = holdOf(state, session, target);
    if (hold === undefined || hold.extras?.upgrade !== undefined) {
      refuse(session, `${number} upgrades no hold, or one that has an upgrade`);
    }
    const { firstPlace } = request;
    if (firstPlace?.sibling !== undefined || placeIn(hold, firstPlace?.key) === undefined) {
      refuse(session, `${number} upgrades a key that its hold does not have`);
    }
    request.change().upgrades = hold;
    hold.changeExtras().upgrade = request;
  }
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    if ((place.permits !== undefined) !== (place.key.semaphore !== undefined)) {
      refuse(session, `${number} waits for another kind of key`);
    }
    place.key.enqueue(place);
  }
  join(state, request);
  if (request.dueAt !== NO_DEADLINE) state.due.add(request);
  state.requestCount += 1;
}

/**
 * Sessions that were ended must be in the work queue, each once, until they have no claims, and
 * identities that were removed, until they have no sessions.
 */
function* linkWork(parts: SnapshotParts, turn: Turn) {
  const { state, sessions, work } = parts;
  const ended = new Set<Session>();
  const removed = new Set(state.access.removed());
  for (const { session } of sessions) {
    if (session.isEnded) ended.add(session);
    if (turn.isOver()) yield;
  }
  for (const part of work) {
    linkWorkPart(parts, part, ended, removed);
    if (turn.isOver()) yield;
  }
  for (const session of ended) refuse(session, "ended, but not queued for work");
  for (const { number } of removed)
    throw corruptSnapshot(`identity ${number} is not queued for work`);
}

function linkWorkPart(
  parts: SnapshotParts,
  part: WorkPart,
  ended: Set<Session>,
  removed: Set<Identity>,
): void {
  const { state, sessionsById } = parts;
  if (part.kind === "identity") {
    const identity = parts.identities.get(part.number);
    if (identity === undefined || !removed.delete(identity)) {
      throw corruptSnapshot(`identity ${part.number} queued for work, but not removed or twice`);
    }
    const sessions = sessionsOf(state.sessions, identity);
    state.work.addIdentity(new RemovedIdentity(identity, sessions, part.orderedBy));
  } else if (part.kind === "session") {
    if (!ended.delete(part.session))
      refuse(part.session, "queued for work, but not ended or twice");
    state.work.addSession(part.session);
  } else if (part.kind === "key") linkWorkKey(state, part);
  else {
    // The session may have ended, so that the table can no longer find it.
    const { session } = sessionsById.get(part.session) ?? {};
    const request = session?.replies.find(part.sequence)?.request;
    if (request === undefined) throw corruptSnapshot(`no request ${part.sequence} to search from`);
    if (!state.searches.add(request)) throw corruptSnapshot(`${part.sequence} is queued twice`);
  }
}

function linkWorkKey(state: TableState, part: Extract<WorkPart, { kind: "key" }>): void {
  const key = obtainKey(state, part.name);
  if (key.isQueuedForWork) throw corruptSnapshot(`the key ${part.name} is queued for work twice`);
  if (part.evictFrom !== undefined) {
    if (key.semaphore === undefined) throw corruptSnapshot(`${part.name} is not a semaphore`);
    key.semaphore.evictFrom = part.evictFrom;
  }
  if (part.frontier > 0) retreatTo(key, part.frontier);
  state.work.addKey(key);
}

/**
 * Moves the frontier of a key back: places after it could be reached but had not been handled yet.
 */
function retreatTo(key: Key, number: number): void {
  const { queue } = key;
  for (let place = queue?.first; place !== undefined; place = place.next) {
    if (queue !== undefined && orderOf(place).number === number) {
      queue.frontier = place;
      return;
    }
    if (place === queue?.frontier) break;
  }
  throw corruptSnapshot(`${key.name}: request ${number} is not at its frontier`);
}

/**
 * A request that can be granted must have been granted, unless its key is queued for work, and an
 * unchecked request must be queued for a search.
 */
function* checkWaiting({ state, requests }: SnapshotParts, turn: Turn) {
  for (const request of requests) {
    if (request.isEligible && !request.isOverAt(state.stamp)) {
      refuse(request.session, `${request.number} waits for nothing`);
    }
    if (request.isUnchecked && !request.isQueuedForSearch) {
      refuse(request.session, `${request.number} is unchecked and not queued for a search`);
    }
    if (turn.isOver()) yield;
  }
}

function refuse(session: Session, what: string): never {
  throw corruptSnapshot(`session ${session.id}: ${what}`);
}
