/**
 * Searches for a cycle: whether a task waits, through others, for itself. Two searches take
 * turns, step by step: forward from the task to those it waits for, and backward to those that
 * wait for it. The first search that ends, or finds the task again, decides. So the search costs
 * twice the smaller side: a task that no other waits for costs one look at its claims, and one
 * that waits for idle holders costs a few more. Everything in a key is examined once, so a side
 * costs no more than its claims.
 *
 * A cycle of locks is a deadlock. A cycle that includes held permits need not be one, because
 * others may give back enough of them; then the graph must be reduced ("wait-for-graph.ts").
 */
import { holdsOf, requestsOf, type SessionTask } from "../holds/tasks.js";
import type { TaskEntry } from "../records/claim-indexes.js";
import type { Hold } from "../records/hold.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, Request } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { WaitEdges } from "./wait-edges.js";

/**
 * A task waits at `place` because of `obstacle`, which is another task's hold or a request
 * ahead.
 */
interface Hop {
  readonly place: Place;
  readonly obstacle: Place;
  /** The rest of the path, back to the start. */
  readonly rest: Hop | undefined;
}

/**
 * The places at which the members of a cycle wait, each for the next one, the last for the first.
 */
export interface FoundCycle {
  readonly places: readonly Place[];
  /**
   * Whether the cycle includes held permits, so that the reduction must decide if it is a deadlock.
   */
  readonly isDoubtful: boolean;
}

type Search = Generator<void, Hop | undefined, void>;

export class CycleSearch {
  readonly #state: TableState;
  readonly #edges: WaitEdges;
  readonly #counts: (request: Request) => boolean;
  readonly #start: SessionTask;

  /** `counts` says which requests may be part of the cycle. */
  constructor(
    state: TableState,
    edges: WaitEdges,
    start: SessionTask,
    counts: (request: Request) => boolean,
  ) {
    this.#state = state;
    this.#edges = edges;
    this.#start = start;
    this.#counts = counts;
  }

  /**
   * @returns the cycle found first, or `undefined` if there is none
   * @throws {OutOfSteps} if the limit is reached first
   */
  find(): FoundCycle | undefined {
    const back = this.#searchBackward();
    const on = this.#searchForward();
    for (;;) {
      const backward = back.next();
      if (backward.done === true) {
        if (backward.value === undefined) return undefined;
        const hops = hopsOf(backward.value);
        // The backward search may have followed a hop that is not an edge.
        return hops.every((hop) => this.#isEdge(hop)) ? cycleOf(hops) : endOfSearch(on);
      }
      const forward = on.next();
      if (forward.done === true) return forward.value && cycleOf(hopsOf(forward.value).reverse());
    }
  }

  /** Searches for the tasks that the start waits for; every hop is an edge. */
  *#searchForward(): Search {
    const reached = new Set<TaskEntry>();
    const line: { readonly task: SessionTask; readonly path: Hop | undefined }[] = [];
    /** By key: whether its holders were examined, and how many of its listed requests. */
    const looked = new Map<Key, { hasHolders: boolean; ahead: number }>();
    let found: Hop | undefined;
    const reach = (place: Place, obstacle: Place, rest: Hop | undefined): boolean => {
      const task = obstacle.claimant as Hold | Request;
      const path = { place, obstacle, rest };
      if (this.#isStart(task)) found = path;
      else if (this.#isNew(task, reached)) line.push({ task, path });
      return found !== undefined;
    };
    line.push({ task: this.#start, path: undefined });
    for (const { task, path } of line) {
      for (const request of requestsOf(this.#state, task)) {
        this.#edges.step();
        yield;
        if (this.#edges.isAbsent(request) || !this.#counts(request)) continue;
        for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
          const { key } = place;
          if (key.hasReached(place)) continue;
          const last = yield* this.#edges.seekConflictBefore(place);
          if (!this.#edges.isBlocked(place, last)) continue;
          const done = looked.get(key) ?? { hasHolders: false, ahead: 0 };
          looked.set(key, done);
          if (!done.hasHolders) {
            // Its own hold is not in the way of an upgrade, but it is in the way of others.
            done.hasHolders = request.upgrades === undefined;
            for (const held of key.heldByWaiters) {
              this.#edges.step();
              yield;
              if (held.claimant === request.upgrades) continue;
              if (this.#edges.holderAt(held) === undefined) continue;
              if (reach(place, held, path)) return found;
            }
          }
          const ahead = last === undefined ? 0 : (key.queue?.countListedTo(last) ?? 0);
          for (; done.ahead < ahead; done.ahead += 1) {
            this.#edges.step();
            yield;
            const other = key.queue?.listed[done.ahead] as Place;
            if (this.#edges.isAbsent(orderOf(other))) continue;
            if (reach(place, other, path)) return found;
          }
        }
      }
    }
    return undefined;
  }

  /** Searches for the tasks that wait for the start; some of those found may not. */
  *#searchBackward(): Search {
    const reached = new Set<TaskEntry>();
    const line: { readonly task: SessionTask; readonly path: Hop | undefined }[] = [];
    /** By key: the listed request from which on all were examined. */
    const looked = new Map<Key, number>();
    line.push({ task: this.#start, path: undefined });
    for (const { task, path } of line) {
      for (const obstacle of this.#placesOf(task)) {
        yield;
        const { key, claimant } = obstacle;
        const { queue } = key;
        if (queue === undefined || queue.listed.length === 0) continue;
        const isWaiting = claimant instanceof Request;
        const first = isWaiting ? queue.countListedTo(obstacle) : queue.countReachedListed();
        const known = looked.get(key) ?? queue.listed.length;
        let isWhole = true;
        for (let at = first; at < known; at += 1) {
          this.#edges.step();
          yield;
          const place = queue.listed[at] as Place;
          const request = orderOf(place);
          if (key.hasReached(place) || this.#edges.isAbsent(request)) continue;
          if (!this.#counts(request)) continue;
          if (request.upgrades === claimant) {
            isWhole = false;
            continue;
          }
          const hop = { place, obstacle, rest: path };
          if (this.#isStart(request)) return hop;
          if (this.#isNew(request, reached)) line.push({ task: request, path: hop });
        }
        if (isWhole) looked.set(key, Math.min(first, known));
      }
    }
    return undefined;
  }

  /** The places of a task in keys where others may wait for it. */
  *#placesOf(task: SessionTask): Generator<Place, void, void> {
    for (const hold of holdsOf(this.#state, task)) {
      this.#edges.step();
      for (let place = hold.firstPlace; place !== undefined; place = place.sibling) {
        if (this.#edges.holderAt(place) !== undefined) yield place;
      }
    }
    for (const request of requestsOf(this.#state, task)) {
      this.#edges.step();
      if (!request.isListed || this.#edges.isAbsent(request)) continue;
      for (let place = request.firstPlace; place !== undefined; place = place.sibling) yield place;
    }
  }

  #isStart({ session, task }: SessionTask): boolean {
    return session === this.#start.session && task === this.#start.task;
  }

  #isNew({ session, task }: SessionTask, reached: Set<TaskEntry>): boolean {
    const entry = this.#state.tasks.find(session, task);
    if (entry === undefined || reached.has(entry)) return false;
    reached.add(entry);
    return true;
  }

  #isEdge({ place, obstacle }: Hop): boolean {
    const { claimant } = obstacle;
    const last = this.#edges.lastConflictBefore(place);
    if (!(claimant instanceof Request)) return this.#edges.isBlocked(place, last);
    if (last === undefined) return false;
    return obstacle === last || !comesAfter(obstacle, last);
  }
}

function comesAfter(place: Place, other: Place): boolean {
  const [left, right] = [orderOf(place), orderOf(other)];
  return left.rank > right.rank || (left.rank === right.rank && left.number > right.number);
}

/** The hops of a path, the last one first. */
function hopsOf(last: Hop): Hop[] {
  const hops: Hop[] = [];
  for (let hop: Hop | undefined = last; hop !== undefined; hop = hop.rest) hops.push(hop);
  return hops;
}

function cycleOf(hops: readonly Hop[]): FoundCycle {
  const isDoubtful = hops.some(({ place, obstacle }) => {
    return place.mode === "permits" && !(obstacle.claimant instanceof Request);
  });
  return { places: hops.map(({ place }) => place), isDoubtful };
}

function endOfSearch(search: Search): FoundCycle | undefined {
  for (;;) {
    const next = search.next();
    if (next.done === true) return next.value && cycleOf(hopsOf(next.value).reverse());
  }
}
