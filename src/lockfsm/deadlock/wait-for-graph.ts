/**
 * The wait-for graph over tasks, from one task on (semantics.md, 7), with the edges that the
 * table has ("wait-edges.ts"). For a semaphore it does not matter which holder releases, only how
 * many permits are returned. So the graph is reduced: a task that could continue is removed with
 * all that it holds, repeatedly, and the tasks that remain wait forever. A task is treated as a
 * whole: it releases nothing before it has everything that it requested. A request waits for
 * everything that the request before it in the queue waits for, so one edge represents all of
 * those, and a long queue costs no more than its length. The graph is built where the reduction is
 * needed, and to show people which task waits for which.
 *
 * A cycle is reported in its shortest form: a request in the middle of a queue that waits only for
 * what the requests after it also wait for is left out.
 */
import { requestsOf } from "../holds/tasks.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { WaitEdges } from "./wait-edges.js";

export interface TaskNode {
  readonly session: Session;
  readonly task: number;
  /** `undefined` until explored. */
  waits: Wait[] | undefined;
  /** How many of its waits are blocked. */
  blockedCount: number;
  /** Whether it could continue, sooner or later. */
  isFree: boolean;
  /** The waits that it obstructs, each as often as it does. */
  readonly obstructed: Wait[];
  /** The permits that it holds. */
  readonly shares: { readonly pool: Pool; readonly permits: number }[];
}

/** One place at which a task waits. */
export interface Wait {
  readonly node: TaskNode;
  readonly request: Request;
  readonly place: Place;
  /** For a semaphore all holders; for a lock none if `ahead` represents them. */
  readonly holders: readonly TaskNode[];
  /** Listed requests ahead, up to the nearest one that waits for everything before it. */
  readonly ahead: { readonly node: TaskNode; readonly place: Place }[];
  readonly pool: Pool | undefined;
  /** Permits that are needed for it and for each place between it and the one ahead of it. */
  readonly need: number;
  /** The number of obstacles that cannot continue, without holders of permits. */
  inTheWay: number;
  /** Whether there are too few permits, even if every task that can continue returned its own. */
  isShort: boolean;
}

/** The permits of a semaphore in which a task waits. */
export interface Pool {
  readonly limit: number;
  readonly holders: TaskNode[];
  /** Permits held by tasks that cannot continue. */
  held: number;
  /** Waits that lack permits; sorted, when that matters, by the number they need, largest first. */
  readonly short: Wait[];
}

/** The holds of a key that the graph includes: all of them, or those whose tasks wait. */
export type HoldersOf = (key: Key) => Iterable<Place>;

export class WaitForGraph {
  readonly #state: TableState;
  readonly #edges: WaitEdges;
  readonly #holdersIn: HoldersOf;
  readonly #nodes = new Map<Session, Map<number, TaskNode>>();
  readonly #pools = new Map<Key, Pool>();
  readonly #reached: TaskNode[] = [];
  /** How many of `#reached` have been explored. */
  #explored = 0;

  constructor(state: TableState, edges: WaitEdges, holdersIn: HoldersOf) {
    this.#state = state;
    this.#edges = edges;
    this.#holdersIn = holdersIn;
  }

  /** In the order in which they were found. */
  get nodes(): readonly TaskNode[] {
    return this.#reached;
  }

  /**
   * Explores all tasks that `start` waits for, directly or not, and returns the node of `start`.
   */
  explore(start: { readonly session: Session; readonly task: number }): TaskNode {
    const first = this.#nodeOf(start.session, start.task);
    for (; this.#explored < this.#reached.length; this.#explored += 1) {
      const node = this.#reached[this.#explored] as TaskNode;
      node.waits = this.#waitsOf(node);
    }
    return first;
  }

  /** Removes every task that could continue, until none is left; looks at each edge once. */
  reduce(): void {
    for (const pool of this.#pools.values()) {
      pool.short.sort((left, right) => right.need - left.need);
      for (let wait = suppliedBy(pool); wait !== undefined; wait = suppliedBy(pool)) {
        wait.isShort = false;
      }
    }
    for (const node of this.#reached) {
      node.blockedCount = (node.waits ?? []).filter(isBlocked).length;
    }
    const open = this.#reached.filter(({ blockedCount }) => blockedCount === 0);
    for (let node = open.pop(); node !== undefined; node = open.pop()) takeOut(node, open);
  }

  #nodeOf(session: Session, task: number): TaskNode {
    let ofSession = this.#nodes.get(session);
    if (ofSession === undefined) {
      ofSession = new Map();
      this.#nodes.set(session, ofSession);
    }
    let node = ofSession.get(task);
    if (node === undefined) {
      const fresh = { waits: undefined, blockedCount: 0, isFree: false };
      node = { session, task, ...fresh, obstructed: [], shares: [] };
      ofSession.set(task, node);
      this.#reached.push(node);
    }
    return node;
  }

  #waitsOf(node: TaskNode): Wait[] {
    const waits: Wait[] = [];
    for (const request of requestsOf(this.#state, node)) {
      if (this.#edges.isAbsent(request)) continue;
      for (let place = request.firstPlace; place !== undefined; place = place.sibling) {
        this.#edges.step();
        if (place.key.hasReached(place)) continue;
        const wait = this.#waitAt(node, request, place);
        if (wait !== undefined) waits.push(wait);
      }
    }
    return waits;
  }

  /**
   * `undefined` if nothing conflicts with the place and its key only waits for its turn of work.
   */
  #waitAt(node: TaskNode, request: Request, place: Place): Wait | undefined {
    const { key, mode } = place;
    const last = this.#edges.lastConflictBefore(place);
    if (!this.#edges.isBlocked(place, last)) return undefined;
    const ahead = last === undefined ? [] : this.#aheadFrom(last);
    const pool = mode === "permits" ? this.#poolOf(key) : undefined;
    const isImplied = ahead.some(({ place: { mode: other } }) => other !== "shared");
    const inLock = isImplied ? [] : this.#holdersOf(place, request);
    const holders = pool?.holders ?? inLock;
    const need = pool === undefined ? 0 : this.#needOf(place);
    const inTheWay = ahead.length + (pool === undefined ? holders.length : 0);
    const isShort = pool !== undefined;
    const wait: Wait = { node, request, place, holders, ahead, pool, need, inTheWay, isShort };
    for (const other of ahead) other.node.obstructed.push(wait);
    if (pool === undefined) for (const holder of holders) holder.obstructed.push(wait);
    else pool.short.push(wait);
    return wait;
  }

  /**
   * The listed requests from `last` towards the head, up to one that waits for all others before
   * it.
   */
  #aheadFrom(last: Place): Wait["ahead"] {
    const ahead: Wait["ahead"] = [];
    const { queue } = last.key;
    for (let left = queue?.countListedTo(last) ?? 0; left > 0; left -= 1) {
      this.#edges.step();
      const place = queue?.listed[left - 1] as Place;
      const other = orderOf(place);
      if (this.#edges.isAbsent(other)) continue;
      ahead.push({ node: this.#nodeOf(other.session, other.task), place });
      if (place.mode !== "shared") break;
    }
    return ahead;
  }

  /** The holders of a lock, except the hold that is to be upgraded. */
  #holdersOf({ key, mode }: Place, { upgrades }: Request): TaskNode[] {
    const holders: TaskNode[] = [];
    if (mode === "permits") return holders;
    for (const held of this.#holdersIn(key)) {
      const holder = held.claimant === upgrades ? undefined : this.#holderAt(held);
      if (holder !== undefined) holders.push(holder);
    }
    return holders;
  }

  #poolOf(key: Key): Pool {
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const pool: Pool = { limit: key.semaphore?.limit ?? 0, holders: [], held: 0, short: [] };
    this.#pools.set(key, pool);
    for (const place of this.#holdersIn(key)) {
      const holder = this.#holderAt(place);
      if (holder === undefined) continue;
      pool.holders.push(holder);
      pool.held += place.wanted;
      holder.shares.push({ pool, permits: place.wanted });
    }
    return pool;
  }

  #holderAt(place: Place): TaskNode | undefined {
    this.#edges.step();
    const hold = this.#edges.holderAt(place);
    return hold === undefined ? undefined : this.#nodeOf(hold.session, hold.task);
  }

  /** Requests in between must be served first, so the largest number of permits decides. */
  #needOf(place: Place): number {
    let need = place.wanted;
    for (let before = place.previous; before !== undefined; before = before.previous) {
      this.#edges.step();
      const request = orderOf(before);
      if (this.#edges.isAbsent(request)) continue;
      if (request.isListed) break;
      need = Math.max(need, before.wanted);
    }
    return need;
  }
}

/** Removes a task. Adds to `open` those that could continue once this one has. */
function takeOut(node: TaskNode, open: TaskNode[]): void {
  node.isFree = true;
  for (const wait of node.obstructed) {
    wait.inTheWay -= 1;
    unblock(wait, open);
  }
  for (const { pool, permits } of node.shares) {
    pool.held -= permits;
    for (let wait = suppliedBy(pool); wait !== undefined; wait = suppliedBy(pool)) {
      wait.isShort = false;
      unblock(wait, open);
    }
  }
}

/** Removes and returns the next wait that now has enough permits. */
function suppliedBy({ held, limit, short }: Pool): Wait | undefined {
  const least = short.at(-1);
  return least !== undefined && held + least.need <= limit ? short.pop() : undefined;
}

/** An obstacle of a wait is gone; it may have been the last one. */
function unblock(wait: Wait, open: TaskNode[]): void {
  if (isBlocked(wait)) return;
  wait.node.blockedCount -= 1;
  if (wait.node.blockedCount === 0) open.push(wait.node);
}

function isBlocked({ inTheWay, isShort }: Wait): boolean {
  return inTheWay > 0 || isShort;
}

/**
 * One step of a cycle: `from` waits, because of the place `ahead` of it in the queue if that is
 * set.
 */
interface Step {
  readonly from: TaskNode;
  readonly wait: Wait;
  readonly ahead: Place | undefined;
}

/**
 * The shortest cycle of waits through `start`, among tasks that wait forever: each waits for the
 * next one, the last for the first. `counts` says which waits may be part of it. `undefined` if
 * there is none.
 */
export function shortestCycle(
  start: TaskNode,
  counts: (wait: Wait) => boolean = () => true,
): readonly Wait[] | undefined {
  if (start.isFree) return undefined;
  const reachedBy = new Map<TaskNode, Step>();
  const lookedThrough = new Set<Pool>();
  const line = [start];
  for (const from of line) {
    const before = reachedBy.get(from)?.ahead;
    for (const wait of from.waits ?? []) {
      const isLeftOut = before !== undefined && wait.place === before;
      if (!isBlocked(wait) || !(isLeftOut || counts(wait))) continue;
      for (const { node, ahead } of obstaclesOf(wait, lookedThrough)) {
        // The hold is in the way of others but not of its own upgrade, so its obstacles must be
        // named.
        const step = { from, wait, ahead: wait.request.upgrades === undefined ? ahead : undefined };
        if (node === start) return namesOf(stepsTo(step, reachedBy, start));
        if (reachedBy.has(node)) continue;
        reachedBy.set(node, step);
        line.push(node);
      }
    }
  }
  return undefined;
}

/** The obstacles of a wait. Held permits are not in the way if enough are left. */
function* obstaclesOf(
  { holders, ahead, pool, isShort }: Wait,
  lookedThrough: Set<Pool>,
): Generator<{ readonly node: TaskNode; readonly ahead: Place | undefined }, void, void> {
  if (pool === undefined || (isShort && !lookedThrough.has(pool))) {
    for (const node of holders) if (!node.isFree) yield { node, ahead: undefined };
    if (pool !== undefined) lookedThrough.add(pool);
  }
  for (const { node, place } of ahead) if (!node.isFree) yield { node, ahead: place };
}

function stepsTo(
  last: Step,
  reachedBy: ReadonlyMap<TaskNode, Step>,
  start: TaskNode,
): readonly Step[] {
  const steps = [last];
  for (let node = last.from; node !== start; ) {
    const step = reachedBy.get(node);
    if (step === undefined) break;
    steps.push(step);
    node = step.from;
  }
  return steps.reverse();
}

/** The waits to name, without those that contribute only their own place in the queue. */
function namesOf(steps: readonly Step[]): Wait[] {
  const waits: Wait[] = [];
  let before: Place | undefined;
  for (const { wait, ahead } of steps) {
    if (before === undefined || wait.place !== before) waits.push(wait);
    before = ahead;
  }
  return waits;
}
