/**
 * Makes a table of the parts of a snapshot: everything into its lists, in the orders that the table
 * would have given it. A turn deals with a bounded number of records. What could not have come about
 * by entries is refused, so that no rule is found broken later.
 */
import type { Hold } from "./hold.js";
import type { Place } from "./key.js";
import { NO_DEADLINE, type Request } from "./request.js";
import { Session } from "./session.js";
import { corruptSnapshot } from "./snapshot-format.js";
import type { SessionParts, SnapshotParts } from "./snapshot-parts.js";
import { sortByNumber } from "./sorting.js";
import type { TableState } from "./state.js";

/** Records of one turn. */
const TURN_RECORDS = 2_048;

/** Counts records; a turn is over after so many. */
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
  yield* linkShared(parts, turn);
  yield* linkRequests(parts, turn);
  yield* linkWork(parts, turn);
  yield* checkWaiting(parts, turn);
  return state;
}

/** The newest of several sessions with one nonce comes last, and is the one that it finds. */
function* linkSessions(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  const { state } = parts;
  const sorted = yield* sortByNumber(parts.sessions, ({ session }) => session.id);
  for (const one of sorted) {
    yield* linkSlots(one, turn);
    yield* linkHolds(parts, one, turn);
    const { session } = one;
    if (!session.isEnded) {
      state.sessions.add(session);
      state.due.add(session);
    }
    if (turn.isOver()) yield;
  }
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
    replies.restore(slot);
    previous = sequence;
    if (turn.isOver()) yield;
  }
}

/** Holds of one session are next to each other in memory: this order is many times faster. */
function* linkHolds(
  parts: SnapshotParts,
  { holds }: SessionParts,
  turn: Turn,
): Generator<void, void, void> {
  for (const hold of yield* sortByNumber(holds, ({ token }) => token)) {
    linkHold(parts, hold);
    if (turn.isOver()) yield;
  }
}

function linkHold({ state, sharedHeld }: SnapshotParts, hold: Hold): void {
  const { session, token, sequence } = hold;
  const slot = session.replies.find(sequence);
  if (slot?.state === "outcome" && slot.token !== token) {
    refuse(session, `sequence ${sequence} was granted ${slot.token}, not ${token}`);
  }
  const before = state.holds.size;
  state.holds.set(token, hold);
  if (state.holds.size === before) refuse(session, `token ${token} twice`);
  session.addHold(hold);
  for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
    if (place.exclusive) linkHeld(place, hold);
    else sharedHeld.push(place);
  }
}

function linkHeld(place: Place, { session, token }: Hold): void {
  if (!place.key.admitsHold(place.exclusive)) refuse(session, `token ${token} conflicts`);
  place.key.addHold(place);
}

function* linkShared({ sharedHeld }: SnapshotParts, turn: Turn): Generator<void, void, void> {
  const tokenOf = ({ claimant }: Place) => (claimant as Hold).token;
  for (const place of yield* sortByNumber(sharedHeld, tokenOf)) {
    linkHeld(place, place.claimant as Hold);
    if (turn.isOver()) yield;
  }
}

function* linkRequests(parts: SnapshotParts, turn: Turn): Generator<void, void, void> {
  const { state, requests } = parts;
  let previous = 0;
  for (const request of yield* sortByNumber(requests, ({ number }) => number)) {
    if (request.number === previous) refuse(request.session, `number ${previous} twice`);
    linkRequest(state, request);
    previous = request.number;
    if (turn.isOver()) yield;
  }
}

function linkRequest(state: TableState, request: Request): void {
  const { session, number } = request;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    const { key, reached } = place;
    if (reached && !key.admits(place.exclusive)) refuse(session, `${number} reached nothing`);
    if (!reached) request.blockedCount += 1;
    key.enqueue(place, reached);
  }
  session.addRequest(request);
  if (request.dueAt !== NO_DEADLINE) state.due.add(request);
  state.requestCount += 1;
}

/** Sessions that were ended are in the work queue, each once, until they have no claims. */
function* linkWork({ state, sessions, work }: SnapshotParts, turn: Turn) {
  const ended = new Set<Session>();
  for (const { session } of sessions) {
    if (session.isEnded) ended.add(session);
    if (turn.isOver()) yield;
  }
  for (const item of work) {
    if (item instanceof Session) {
      if (!ended.delete(item)) refuse(item, "queued for work, but not ended or twice");
      state.work.addSession(item);
    } else {
      if (item.isQueuedForWork) throw corruptSnapshot(`the key ${item.name} twice queued for work`);
      state.work.addKey(item);
    }
    if (turn.isOver()) yield;
  }
  for (const session of ended) refuse(session, "ended, but not queued for work");
}

/** Whoever could be granted has been, unless that is queued for work. */
function* checkWaiting({ state, requests }: SnapshotParts, turn: Turn) {
  for (const request of requests) {
    const { session, number } = request;
    if (request.blockedCount === 0 && !request.isOverAt(state.stamp)) {
      refuse(session, `${number} waits for nothing`);
    }
    for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
      const { key } = place;
      if (key.canReachNext && !key.isQueuedForWork) refuse(session, `${number} was forgotten`);
    }
    if (turn.isOver()) yield;
  }
}

function refuse(session: Session, what: string): never {
  throw corruptSnapshot(`session ${session.id}: ${what}`);
}
