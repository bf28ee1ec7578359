/**
 * Possible deadlocks (semantics.md, 7.7): cycles of waits that are not deadlocks by the owners that
 * the table knows. A client that names no owners has one for each acquire, so the table cannot know
 * whether a task that waits is the one that holds the lock for which another waits. These cycles
 * are shown, and never refused. Only reads, and every look counts against a limit.
 */
import { requestsOf } from "../holds/owners.js";
import type { Hold } from "../records/hold.js";
import type { Place } from "../records/key.js";
import type { Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import { OutOfSteps, StepLimit } from "../records/step-limit.js";
import { WaitEdges } from "./wait-edges.js";

/** The place of each member: it waits for a hold of the session of the next one. */
export type PossibleCycle = readonly Place[];

/** How a request was reached: an earlier one waits at `place` for a hold of its session. */
interface Hop {
  readonly place: Place;
  readonly rest: Hop | undefined;
}

/** Cycles of which no two have a request in common; `requests` are tried in their order. */
export function possibleDeadlocks(
  state: TableState,
  requests: Iterable<Request>,
  { stepsMax, cyclesMax }: { readonly stepsMax: number; readonly cyclesMax: number },
): PossibleCycle[] {
  const edges = new WaitEdges(state, new StepLimit(stepsMax), undefined);
  const found: PossibleCycle[] = [];
  const named = new Set<Place["claimant"]>();
  try {
    for (const request of requests) {
      if (found.length === cyclesMax) break;
      edges.step();
      const cycle = named.has(request) ? undefined : cycleThrough(state, edges, request);
      if (cycle === undefined) continue;
      found.push(cycle);
      for (const { claimant } of cycle) named.add(claimant);
    }
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error;
  }
  return found;
}

/** The shortest cycle through a request. */
function cycleThrough(
  state: TableState,
  edges: WaitEdges,
  start: Request,
): PossibleCycle | undefined {
  if (edges.isAbsent(start)) return undefined;
  const reached = new Set<Request>();
  const line: { readonly request: Request; readonly hop: Hop | undefined }[] = [];
  line.push({ request: start, hop: undefined });
  for (const { request, hop } of line) {
    for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
      const { key, mode } = place;
      // In a semaphore, any holder may give back what is needed.
      if (mode === "permits" || key.hasReached(place)) continue;
      const next = { place, rest: hop };
      for (let held = key.firstHold; held !== undefined; held = held.next) {
        edges.step();
        const hold = edges.holderAt(held);
        if (hold === undefined || hold === request.upgrades) continue;
        for (const other of perhapsOfItsTask(state, edges, hold)) {
          if (other === start) return placesOf(next);
          if (reached.has(other)) continue;
          reached.add(other);
          line.push({ request: other, hop: next });
        }
      }
    }
  }
  return undefined;
}

/**
 * The requests for which the task that has the hold may be waiting: its owner's requests; and if
 * the owner has nothing else, also the requests of other owners of the session that have nothing
 * else either and came later.
 */
function* perhapsOfItsTask(
  state: TableState,
  edges: WaitEdges,
  hold: Hold,
): Generator<Request, void, void> {
  yield* requestsOf(state, hold);
  if (!isAlone(state, hold)) return;
  for (let other = hold.session.firstRequest; other !== undefined; other = other.next) {
    edges.step();
    if (other.enqueuedAt < hold.grantedAt || other.lease !== undefined) continue;
    // In the key of the hold, two tasks of one client take turns.
    if (edges.isAbsent(other) || !isAlone(state, other) || haveCommonKey(other, hold)) continue;
    yield other;
  }
}

function isAlone(state: TableState, claim: Hold | Request): boolean {
  return state.owners.find(claim.session, claim.owner) === claim;
}

function haveCommonKey(request: Request, hold: Hold): boolean {
  for (let one = request.firstPlace; one !== undefined; one = one.sibling) {
    for (let other = hold.firstPlace; other !== undefined; other = other.sibling) {
      if (one.key === other.key) return true;
    }
  }
  return false;
}

function placesOf(last: Hop): PossibleCycle {
  const places: Place[] = [];
  for (let hop: Hop | undefined = last; hop !== undefined; hop = hop.rest) places.push(hop.place);
  return places.reverse();
}
