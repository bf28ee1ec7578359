/**
 * Circles of waits: refused to the request that closes one; and where none does, because somebody got
 * something, or a limit fell, taken apart by the last of those who wait in it.
 */
import { ERROR_NUMBERS } from "../errors.js";
import { CYCLE_MEMBERS_MAX, type CycleMember, type Result } from "../protocol/index.js";
import { endWait } from "./ending.js";
import type { Key } from "./key.js";
import { list, requestsOf, unlist } from "./owning.js";
import { comesBefore, type Request } from "./request.js";
import type { Session } from "./session.js";
import type { TableState } from "./state.js";
import { circleOf } from "./wait-circle.js";
import { type OwnerNode, TooManyVisits, type Wait, WaitForGraph } from "./wait-for.js";
import { orderOf } from "./waiting-queue.js";

/** Of the circles through one owner so many are broken in one step; the others in later ones. */
const CIRCLES_MAX = 16;
/** A search that was cut short is repeated later, so often, each with so many times the visits. */
const LOOKS_MAX = 2;
const LOOK_FACTOR = 4;

/** An owner, to be looked at. */
interface Suspect {
  readonly session: Session;
  readonly owner: number;
}

/** The refusal of a request that stands in its queues and closes a circle. */
export function circleThrough(state: TableState, request: Request): Result | undefined {
  const circle = search(state, request, request, circleOf);
  return circle === undefined ? undefined : refusalOf(circle, request);
}

/** Looks at the owners that got something in this step. */
export function resolveSuspects(state: TableState): void {
  const { suspects } = state;
  for (let suspect = suspects.shift(); suspect !== undefined; suspect = suspects.shift()) {
    breakCircles(state, suspect, undefined);
  }
}

/**
 * After it became harder to get what a key has: looks at all who wait there and could be part of a
 * circle, at some in this step and at the others in later ones.
 */
export function suspectAll(state: TableState, { queue }: Key): void {
  for (const request of (queue?.listed ?? []).map(orderOf)) {
    if (state.stepUnits === 0) state.work.addRequest(request);
    else if (!request.hasEnded) {
      state.stepUnits -= 1;
      breakCircles(state, request, request);
    }
  }
}

/** A request of the work queue, whose owner was not looked at to the end. */
export function lookAgain(state: TableState, request: Request): void {
  breakCircles(state, request, request);
}

/** Ends waits until none of the circles through this owner is left. */
function breakCircles(state: TableState, owner: Suspect, asked: Request | undefined): void {
  let again = asked;
  for (let left = CIRCLES_MAX; ; left -= 1) {
    // The one that was asked about may have given way itself.
    if (again === undefined || again.hasEnded) again = firstWaitOf(state, owner);
    if (again === undefined) return;
    if (left === 0) break;
    const circle = search(state, owner, again, breakableCircleOf);
    const victim = circle === undefined ? undefined : lastOf(circle);
    if (circle === undefined || victim === undefined) return;
    state.deadlocks += 1;
    endWait(state, victim, refusalOf(circle, victim));
  }
  state.work.addRequest(again);
}

function firstWaitOf(state: TableState, owner: Suspect): Request | undefined {
  for (const request of requestsOf(state, owner)) return request;
  return undefined;
}

/** One in which everybody may be refused comes first: of another perhaps nobody may. */
function breakableCircleOf(start: OwnerNode): readonly Wait[] | undefined {
  return circleOf(start, ({ request }) => request.detects) ?? circleOf(start);
}

function search(
  state: TableState,
  owner: Suspect,
  again: Request,
  find: (start: OwnerNode) => readonly Wait[] | undefined,
): readonly Wait[] | undefined {
  const visitsMax = state.settings.detectionVisitsMax * LOOK_FACTOR ** again.looks;
  if (visitsMax === 0) return undefined;
  const graph = new WaitForGraph(state, visitsMax);
  // Those behind a head start wait for its owner, even if that has nothing else.
  const isAdded = list(again);
  try {
    const start = graph.explore(owner);
    graph.reduce();
    return find(start);
  } catch (error) {
    if (!(error instanceof TooManyVisits)) throw error;
    state.searchesCut += 1;
    if (again.looks < LOOKS_MAX) {
      state.saving.keepRequest(again);
      again.looks += 1;
      state.work.addRequest(again);
    }
    return undefined;
  } finally {
    if (isAdded) unlist(again);
    state.stepVisits += graph.visits;
  }
}

/** Who gives way: the last in the order of requests of those that let themselves be refused. */
function lastOf(circle: readonly Wait[]): Request | undefined {
  let last: Request | undefined;
  for (const { request } of circle) {
    if (request.detects && (last === undefined || comesBefore(last, request))) last = request;
  }
  return last;
}

/** Begins with the owner of the request that is refused. */
function refusalOf(circle: readonly Wait[], refused: Request): Result {
  const at = Math.max(
    0,
    circle.findIndex(({ request }) => request === refused),
  );
  const named = [...circle.slice(at), ...circle.slice(0, at)].slice(0, CYCLE_MEMBERS_MAX);
  const cycle = named.map(memberOf);
  return { status: ERROR_NUMBERS.DEADLOCK, cycle };
}

function memberOf({ request, place }: Wait): CycleMember {
  const { session, owner } = request;
  return {
    session: session.id,
    sessionName: session.name,
    owner,
    key: place.key.name,
    mode: place.mode,
  };
}
