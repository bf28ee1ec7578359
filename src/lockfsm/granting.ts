/**
 * How a request becomes a hold. A request is granted in the step in which the last of its places
 * is reached, unless its deadline or its session is due by then: such a one is never granted, and
 * stands in the way of others until it is swept.
 */
import { assert } from "../assert.js";
import { type AcquireCommand, type Result, STATUS } from "../protocol/index.js";
import { Hold } from "./hold.js";
import { type Key, Place } from "./key.js";
import { NO_DEADLINE, Request } from "./request.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";

/**
 * Looks at what became eligible in a key after something left it, and forgets the key when nothing
 * is left. What exceeds the units of the step goes to the work queue, to be decided anew there.
 */
export function advance(state: TableState, key: Key): void {
  while (key.canReachNext) {
    if (state.stepUnits === 0) {
      state.work.addKey(key);
      return;
    }
    state.stepUnits -= 1;
    const request = key.frontier?.claimant;
    assert(request instanceof Request, () => `${key.name}: a hold stands in the queue`);
    state.saving.keepRequest(request);
    key.reachNext();
    request.blockedCount -= 1;
    if (request.blockedCount === 0 && !request.isOverAt(state.stamp)) grant(state, request);
  }
  if (key.isIdle) state.keys.drop(key);
}

/** Grants an acquire at once: none of its items conflicts with anything. */
export function grantAtOnce(state: TableState, session: Session, command: AcquireCommand): Result {
  const hold = addHold(state, session, command.owner, command.sequence);
  let last: Place | undefined;
  for (const item of command.items) {
    const place = new Place(state.keys.obtain(item.key), item.mode === "exclusive", hold);
    if (last === undefined) hold.firstPlace = place;
    else last.sibling = place;
    last = place;
    place.key.addHold(place);
  }
  return { status: STATUS.granted, token: hold.token };
}

function grant(state: TableState, request: Request): void {
  const { session, slot } = request;
  forgetRequest(state, request);
  const hold = addHold(state, session, request.owner, slot.sequence);
  hold.firstPlace = request.firstPlace;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    assert(place.reached, () => `${slot.sequence} granted, ${place.key.name} not reached`);
    place.key.dequeue(place);
    place.claimant = hold;
    place.key.addHold(place);
  }
  const result: Result = { status: STATUS.granted, token: hold.token };
  session.replies.settle(slot, result);
  state.pushOutcome(session, slot.sequence, result);
}

/** Takes a request out of everything but its queues. */
export function forgetRequest(state: TableState, request: Request): void {
  state.saving.keepRequest(request);
  request.session.removeRequest(request);
  if (request.dueAt !== NO_DEADLINE) state.due.remove(request);
  state.requestCount -= 1;
}

function addHold(state: TableState, session: Session, owner: number, sequence: number): Hold {
  assert(session.isAliveAt(state.stamp), () => `grant to session ${session.id} after its end`);
  const hold = new Hold(state.tokens.take(), session, owner, sequence, state.stamp);
  session.addHold(hold);
  state.holds.set(hold.token, hold);
  return hold;
}
