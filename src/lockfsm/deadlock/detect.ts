/**
 * Cycles of waits: refused to the request that closes one; and where none does, because somebody got
 * something, or a limit fell, broken by the last of those who wait in it. An entry makes a bounded
 * number of steps of search. What it does not come to is queued and looked at by later entries; until
 * then the request waits, and its refusal is an outcome instead of a reply.
 */
import { ERROR_NUMBERS } from "../../errors.js";
import { CYCLE_MEMBERS_MAX, type CycleMember, type Result } from "../../protocol/index.js";
import { endWait } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import { list, type OwnedBy, requestsOf, unlist } from "../holds/owners.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, type Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { OutOfSteps } from "../records/step-limit.js";
import { comesBefore } from "../records/waiting-queue.js";
import { CycleSearch } from "./cycle-search.js";
import { WaitEdges } from "./wait-edges.js";
import { shortestCycle, type Wait, WaitForGraph } from "./wait-for.js";

/** The places in which the members of a cycle wait, each for the next, the last for the first. */
type Cycle = readonly Place[];

/** The steps of the entry are used up: to be asked again. */
export const UNDECIDED = Symbol("undecided");

/**
 * The refusal of a request that stands in its queues and closes a cycle; `undefined`: it may wait. A
 * head start is given up before that. `UNDECIDED`: it waits until a later entry has looked at it.
 */
export function refusalOf(
  state: TableState,
  request: Request,
): Result | typeof UNDECIDED | undefined {
  const cycle = search(state, request, request, breakAny);
  if (cycle === UNDECIDED || cycle === undefined) return cycle;
  if (request.rank >= request.enqueuedAt || request.upgrades !== undefined) {
    return deadlock(cycle, request);
  }
  giveUpHeadStart(request);
  const remaining = search(state, request, request, breakAny);
  if (remaining !== UNDECIDED && remaining !== undefined) return deadlock(remaining, request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
  return remaining;
}

/** A later entry is to look at it. */
export function searchLater(state: TableState, request: Request): void {
  if (state.searches.add(request)) state.searchesDeferred += 1;
}

/**
 * Looks at the first of those that earlier entries did not come to. For which all the steps of an entry
 * are too few, no later one can do more: then its owner waits as if nothing had been found.
 */
export function goOnSearching(state: TableState, request: Request): void {
  const { left } = state.searchSteps;
  const hasAllSteps = left > 0 && left === state.searchStepsMax;
  if (request.isUnchecked) {
    const { rank } = request;
    const refusal = refusalOf(state, request);
    const hasHadAll = hasAllSteps && request.rank === rank;
    if (refusal === UNDECIDED && !hasHadAll) return;
    state.searches.take();
    // What it was granted after all, without its head start, it does not wait for.
    if (request.hasEnded) return;
    request.change().isUnchecked = false;
    if (refusal === UNDECIDED) state.searchesGivenUp += 1;
    if (refusal === UNDECIDED || refusal === undefined) return;
    state.deadlocks += 1;
    endWait(state, request, refusal);
    breakCycles(state, request, false);
  } else {
    state.searches.take();
    breakCycles(state, request, hasAllSteps);
  }
}

/** Looks at the owners that got something in this step. */
export function resolveSuspects(state: TableState): void {
  const { suspects } = state;
  for (let suspect = suspects.shift(); suspect !== undefined; suspect = suspects.shift()) {
    breakCycles(state, suspect, false);
  }
}

/**
 * After it became harder to get what a key has: looks at all who wait there and could be part of a
 * cycle.
 */
export function suspectAll(state: TableState, { queue }: Key): void {
  for (const request of (queue?.listed ?? []).map(orderOf)) {
    if (!request.hasEnded) breakCycles(state, request, false);
  }
}

/** Ends waits until no cycle through this owner is left. `isLast`: there is no use in later entries. */
function breakCycles(state: TableState, owner: OwnedBy, isLast: boolean): void {
  for (let isFirst = true; ; isFirst = false) {
    const [asked] = requestsOf(state, owner);
    if (asked === undefined) return;
    const cycle = search(state, owner, asked, breakWilling);
    if (cycle === UNDECIDED) {
      if (isLast && isFirst) state.searchesGivenUp += 1;
      else searchLater(state, asked);
      return;
    }
    const victim = cycle === undefined ? undefined : lastOf(cycle);
    if (cycle === undefined || victim === undefined) return;
    state.deadlocks += 1;
    endWait(state, victim, deadlock(cycle, victim));
  }
}

type Finding = (state: TableState, edges: WaitEdges, owner: OwnedBy) => Cycle | undefined;

function search(
  state: TableState,
  owner: OwnedBy,
  asked: Request,
  find: Finding,
): Cycle | typeof UNDECIDED | undefined {
  const { searchSteps } = state;
  if (searchSteps.left === 0) return UNDECIDED;
  // Those behind a head start wait for its owner, even if that has nothing else.
  const isAdded = list(asked);
  try {
    searchSteps.take();
    return find(state, new WaitEdges(state, searchSteps, asked), owner);
  } catch (error) {
    if (error instanceof OutOfSteps) return UNDECIDED;
    throw error;
  } finally {
    if (isAdded) unlist(asked);
  }
}

function breakAny(state: TableState, edges: WaitEdges, owner: OwnedBy): Cycle | undefined {
  return cycleThrough(state, edges, owner, () => true);
}

/** One in which everybody may be refused comes first: of another perhaps nobody may. */
function breakWilling(state: TableState, edges: WaitEdges, owner: OwnedBy): Cycle | undefined {
  const any = cycleThrough(state, edges, owner, () => true);
  if (any === undefined || any.every((place) => orderOf(place).detects)) return any;
  return cycleThrough(state, edges, owner, ({ detects }) => detects) ?? any;
}

function cycleThrough(
  state: TableState,
  edges: WaitEdges,
  owner: OwnedBy,
  counts: (request: Request) => boolean,
): Cycle | undefined {
  const found = new CycleSearch(state, edges, owner, counts).find();
  if (found?.isDoubtful !== true) return found?.places;
  const graph = new WaitForGraph(state, edges, ({ heldByWaiters }) => heldByWaiters);
  const start = graph.explore(owner);
  graph.reduce();
  return shortestCycle(start, ({ request }: Wait) => counts(request))?.map(({ place }) => place);
}

/** The request waits where it would without its head start. */
function giveUpHeadStart(request: Request): void {
  const moved = request.change();
  const wasListed = request.isListed;
  unlist(request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.dequeue(place);
  }
  moved.rank = request.enqueuedAt;
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    place.key.enqueue(place);
  }
  if (wasListed) list(request);
}

/** Who gives way: the last in the order of requests of those that let themselves be refused. */
function lastOf(cycle: Cycle): Request | undefined {
  let last: Request | undefined;
  for (const place of cycle) {
    const request = orderOf(place);
    if (request.detects && (last === undefined || comesBefore(last, request))) last = request;
  }
  return last;
}

/** Begins with the owner of the request that is refused. */
function deadlock(cycle: Cycle, refused: Request): Result {
  const at = Math.max(
    0,
    cycle.findIndex((place) => orderOf(place) === refused),
  );
  const named = [...cycle.slice(at), ...cycle.slice(0, at)].slice(0, CYCLE_MEMBERS_MAX);
  return { status: ERROR_NUMBERS.DEADLOCK, cycle: named.map(memberOf) };
}

function memberOf(place: Place): CycleMember {
  const { session, owner } = orderOf(place);
  return {
    session: session.id,
    sessionName: session.name,
    owner,
    key: place.key.name,
    mode: place.mode,
  };
}
