/**
 * Detects and breaks cycles of waits. A request that would close a cycle is refused. A cycle that
 * arises otherwise, because a task was granted something or a limit was lowered, is broken by
 * refusing the last request in it. An entry makes a bounded number of search steps. Searches that
 * it does not reach are queued for later entries; until then the request waits, and its refusal is
 * an outcome instead of a reply.
 */
import { ERROR_NUMBERS } from "../../errors/index.js";
import {
  ACCESS_LEVEL,
  CYCLE_MEMBERS_MAX,
  type CycleMember,
  REFUSED_DEADLOCKS_MAX,
  type Result,
} from "../../protocol/index.js";
import { endWait } from "../holds/end.js";
import { advance } from "../holds/grant.js";
import { list, requestsOf, type SessionTask, unlist } from "../holds/tasks.js";
import type { Identity } from "../records/identity.js";
import type { Key, Place } from "../records/key.js";
import { shownTask } from "../records/lease.js";
import { orderOf, type Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { OutOfSteps } from "../records/step-limit.js";
import { comesBefore } from "../records/waiting-queue.js";
import { CycleSearch } from "./cycle-search.js";
import { WaitEdges } from "./wait-edges.js";
import { shortestCycle, type Wait, WaitForGraph } from "./wait-for-graph.js";

/**
 * The places at which the members of a cycle wait, each for the next one, the last for the first.
 */
type Cycle = readonly Place[];

/** The steps of the entry are used up, and the search must be repeated. */
export const UNDECIDED = Symbol("undecided");

/**
 * The refusal of a request that is in its queues and closes a cycle; `undefined` if it may wait.
 * Before it is refused, it gives up its head start. `UNDECIDED` means that it waits until a later
 * entry has searched for it.
 */
export function refusalOf(
  state: TableState,
  request: Request,
): Result | typeof UNDECIDED | undefined {
  const cycle = search(state, request, request, anyCycle);
  if (cycle === UNDECIDED || cycle === undefined) return cycle;
  if (request.rank >= request.enqueuedAt || request.upgrades !== undefined) {
    return deadlock(state, cycle, request);
  }
  giveUpHeadStart(request);
  const remaining = search(state, request, request, anyCycle);
  if (remaining !== UNDECIDED && remaining !== undefined)
    return deadlock(state, remaining, request);
  for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
    advance(state, place.key);
  }
  return remaining;
}

/** Queues the request for a search by a later entry. */
export function searchLater(state: TableState, request: Request): void {
  if (state.searches.add(request)) state.searchesDeferred += 1;
}

/**
 * Continues with the first search that earlier entries deferred. If all steps of one entry are too
 * few for a search, no later entry can do more: its task then waits as if no cycle had been found.
 */
export function continueSearch(state: TableState, request: Request): void {
  const { left } = state.searchSteps;
  const hasAllSteps = left > 0 && left === state.searchStepsMax;
  if (request.isUnchecked) {
    const { rank } = request;
    const refusal = refusalOf(state, request);
    const hasHadAll = hasAllSteps && request.rank === rank;
    if (refusal === UNDECIDED && !hasHadAll) return;
    state.searches.take();
    // It was granted after all, without its head start, so it does not wait.
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

/** Searches for cycles through the tasks that were granted something in this step. */
export function resolveSuspects(state: TableState): void {
  const { suspects } = state;
  for (let suspect = suspects.shift(); suspect !== undefined; suspect = suspects.shift()) {
    breakCycles(state, suspect, false);
  }
}

/**
 * Searches for cycles through every request that waits in a key and could be part of one, after it
 * became harder to get permits of that key.
 */
export function suspectAll(state: TableState, { queue }: Key): void {
  for (const request of (queue?.listed ?? []).map(orderOf)) {
    if (!request.hasEnded) breakCycles(state, request, false);
  }
}

/**
 * Ends waits until no cycle through this task is left. `isLast` means that later entries cannot do
 * more.
 */
function breakCycles(state: TableState, task: SessionTask, isLast: boolean): void {
  for (let isFirst = true; ; isFirst = false) {
    const [asked] = requestsOf(state, task);
    if (asked === undefined) return;
    const cycle = search(state, task, asked, preferRefusable);
    if (cycle === UNDECIDED) {
      if (isLast && isFirst) state.searchesGivenUp += 1;
      else searchLater(state, asked);
      return;
    }
    const victim = cycle === undefined ? undefined : lastOf(cycle);
    if (cycle === undefined || victim === undefined) return;
    state.deadlocks += 1;
    endWait(state, victim, deadlock(state, cycle, victim));
  }
}

type Finding = (state: TableState, edges: WaitEdges, task: SessionTask) => Cycle | undefined;

function search(
  state: TableState,
  task: SessionTask,
  asked: Request,
  find: Finding,
): Cycle | typeof UNDECIDED | undefined {
  const { searchSteps } = state;
  if (searchSteps.left === 0) return UNDECIDED;
  // Requests after one with a head start wait for its task, even if that task has no other claim.
  const isAdded = list(asked);
  try {
    searchSteps.take();
    return find(state, new WaitEdges(state, searchSteps, asked), task);
  } catch (error) {
    if (error instanceof OutOfSteps) return UNDECIDED;
    throw error;
  } finally {
    if (isAdded) unlist(asked);
  }
}

function anyCycle(state: TableState, edges: WaitEdges, task: SessionTask): Cycle | undefined {
  return cycleThrough(state, edges, task, () => true);
}

/** Prefers a cycle in which every request may be refused: in another one perhaps none may. */
function preferRefusable(
  state: TableState,
  edges: WaitEdges,
  task: SessionTask,
): Cycle | undefined {
  const any = cycleThrough(state, edges, task, () => true);
  if (any === undefined || any.every((place) => orderOf(place).detects)) return any;
  return cycleThrough(state, edges, task, ({ detects }) => detects) ?? any;
}

function cycleThrough(
  state: TableState,
  edges: WaitEdges,
  task: SessionTask,
  counts: (request: Request) => boolean,
): Cycle | undefined {
  const found = new CycleSearch(state, edges, task, counts).find();
  if (found?.isDoubtful !== true) return found?.places;
  const graph = new WaitForGraph(state, edges, ({ heldByWaiters }) => heldByWaiters);
  const start = graph.explore(task);
  graph.reduce();
  return shortestCycle(start, ({ request }: Wait) => counts(request))?.map(({ place }) => place);
}

/** Moves the request to the place where it would wait without its head start. */
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

/** The request to refuse: the last one, in the order of requests, of those that allow it. */
function lastOf(cycle: Cycle): Request | undefined {
  let last: Request | undefined;
  for (const place of cycle) {
    const request = orderOf(place);
    if (request.detects && (last === undefined || comesBefore(last, request))) last = request;
  }
  return last;
}

/** The refusal, whose cycle begins with the task of the refused request, and which is remembered. */
function deadlock(state: TableState, cycle: Cycle, refused: Request): Result {
  const at = Math.max(
    0,
    cycle.findIndex((place) => orderOf(place) === refused),
  );
  const named = [...cycle.slice(at), ...cycle.slice(0, at)].slice(0, CYCLE_MEMBERS_MAX);
  const members = named.map(memberOf);
  state.refused.push({ wallMs: state.wallMs, cycle: members });
  if (state.refused.length > REFUSED_DEADLOCKS_MAX) state.refused.shift();
  const { identity } = refused.session.credential;
  return { status: ERROR_NUMBERS.DEADLOCK, cycle: redactedCycle(members, identity) };
}

export function memberOf(place: Place): CycleMember {
  const { session, task, holderName, identityName } = orderOf(place);
  return {
    session: session.id,
    sessionName: holderName,
    task: shownTask(task),
    key: place.key.name,
    mode: place.mode,
    identity: identityName,
  };
}

/** Nothing but their modes of those who wait in a key that the identity may not observe. */
export function redactedCycle(cycle: readonly CycleMember[], told: Identity): CycleMember[] {
  return cycle.map((member) => {
    if (told.levelOf(member.key) >= ACCESS_LEVEL.observe) return member;
    const { mode } = member;
    return { session: 0, sessionName: "", task: 0, key: "", mode, identity: "" };
  });
}
