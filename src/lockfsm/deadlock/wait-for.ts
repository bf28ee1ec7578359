/**
 * The wait-for graph over owners, from one owner on (semantics.md, 7), as far as its edges in the table say
 * ("wait-edges.ts"). Of a semaphore it is not one holder that matters but how many permits come back;
 * so the graph is reduced: an owner that could go on is taken out with all that it holds, again and
 * again, and what is left waits for ever. An owner is taken as a whole: it gives up nothing before it
 * has all that it asked for. A request behind another in a queue waits for whatever that one waits for,
 * so one edge stands for all of them, and a long queue costs no more than its length. Built where the
 * reduction is needed, and to show people who waits for whom.
 *
 * A cycle in what is left is named as short as can be: a request in the middle of a queue waits only for
 * what the requests after it wait for as well, and is left out.
 */
import { requestsOf } from "../holds/owners.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { WaitEdges } from "./wait-edges.js";

export interface OwnerNode {
  readonly session: Session;
  readonly owner: number;
  /** `undefined`: not looked at yet. */
  waits: Wait[] | undefined;
  /** How many of its waits are blocked. */
  blockedCount: number;
  /** It could go on, sooner or later. */
  isFree: boolean;
  /** The waits that it is in the way of, each as often as it is. */
  readonly obstructed: Wait[];
  /** What it holds of semaphores. */
  readonly shares: { readonly pool: Pool; readonly permits: number }[];
}

/** One place in which an owner waits. */
export interface Wait {
  readonly node: OwnerNode;
  readonly request: Request;
  readonly place: Place;
  /** Of a semaphore all of them; of a lock none where `ahead` stands for them. */
  readonly holders: readonly OwnerNode[];
  /** Up to the last one that waits for everything before it. */
  readonly ahead: { readonly node: OwnerNode; readonly place: Place }[];
  readonly pool: Pool | undefined;
  /** Permits that must come together for it and for each between it and the one ahead. */
  readonly need: number;
  /** Those in the way, but for holders of permits, who cannot go on. */
  inTheWay: number;
  /** There are not enough permits, even if everybody gave back theirs who could go on. */
  isShort: boolean;
}

/** The permits of a semaphore in which somebody waits. */
export interface Pool {
  readonly limit: number;
  readonly holders: OwnerNode[];
  /** By those who cannot go on. */
  held: number;
  /** Waits that are short of permits; sorted, when it matters, by what they need: most first. */
  readonly short: Wait[];
}

/** The holds of a key that the graph has: all of them, or those whose owners wait. */
export type HoldersOf = (key: Key) => Iterable<Place>;

export class WaitForGraph {
  readonly #state: TableState;
  readonly #edges: WaitEdges;
  readonly #holdersIn: HoldersOf;
  readonly #nodes = new Map<Session, Map<number, OwnerNode>>();
  readonly #pools = new Map<Key, Pool>();
  readonly #reached: OwnerNode[] = [];
  /** How many of them were looked at. */
  #explored = 0;

  constructor(state: TableState, edges: WaitEdges, holdersIn: HoldersOf) {
    this.#state = state;
    this.#edges = edges;
    this.#holdersIn = holdersIn;
  }

  /** In the order in which they were found. */
  get nodes(): readonly OwnerNode[] {
    return this.#reached;
  }

  /** All owners that `start` waits for, directly or not, itself included. */
  explore(start: { readonly session: Session; readonly owner: number }): OwnerNode {
    const first = this.#nodeOf(start.session, start.owner);
    for (; this.#explored < this.#reached.length; this.#explored += 1) {
      const node = this.#reached[this.#explored] as OwnerNode;
      node.waits = this.#waitsOf(node);
    }
    return first;
  }

  /** Takes out whoever could go on, until nobody is left who could; looks once at each edge. */
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

  #nodeOf(session: Session, owner: number): OwnerNode {
    let ofSession = this.#nodes.get(session);
    if (ofSession === undefined) {
      ofSession = new Map();
      this.#nodes.set(session, ofSession);
    }
    let node = ofSession.get(owner);
    if (node === undefined) {
      const fresh = { waits: undefined, blockedCount: 0, isFree: false };
      node = { session, owner, ...fresh, obstructed: [], shares: [] };
      ofSession.set(owner, node);
      this.#reached.push(node);
    }
    return node;
  }

  #waitsOf(node: OwnerNode): Wait[] {
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

  /** `undefined`: nothing conflicts with it, and its key has only not had its turn of work yet. */
  #waitAt(node: OwnerNode, request: Request, place: Place): Wait | undefined {
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

  /** The listed from `last` towards the head, until one that waits for all others before it. */
  #aheadFrom(last: Place): Wait["ahead"] {
    const ahead: Wait["ahead"] = [];
    const { queue } = last.key;
    for (let left = queue?.countListedTo(last) ?? 0; left > 0; left -= 1) {
      this.#edges.step();
      const place = queue?.listed[left - 1] as Place;
      const other = orderOf(place);
      if (this.#edges.isAbsent(other)) continue;
      ahead.push({ node: this.#nodeOf(other.session, other.owner), place });
      if (place.mode !== "shared") break;
    }
    return ahead;
  }

  /** Those of a lock, but for the hold that is to be upgraded itself. */
  #holdersOf({ key, mode }: Place, { upgrades }: Request): OwnerNode[] {
    const holders: OwnerNode[] = [];
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

  #holderAt(place: Place): OwnerNode | undefined {
    this.#edges.step();
    const hold = this.#edges.holderAt(place);
    return hold === undefined ? undefined : this.#nodeOf(hold.session, hold.owner);
  }

  /** Those between have to be served first, so the largest wish decides. */
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

/** Adds to `open` those who could go on as soon as this one did. */
function takeOut(node: OwnerNode, open: OwnerNode[]): void {
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

/** Takes out the next of those who are short of permits for which there are enough by now. */
function suppliedBy({ held, limit, short }: Pool): Wait | undefined {
  const least = short.at(-1);
  return least !== undefined && held + least.need <= limit ? short.pop() : undefined;
}

/** Something that blocked a wait went away, the last one perhaps. */
function unblock(wait: Wait, open: OwnerNode[]): void {
  if (isBlocked(wait)) return;
  wait.node.blockedCount -= 1;
  if (wait.node.blockedCount === 0) open.push(wait.node);
}

function isBlocked({ inTheWay, isShort }: Wait): boolean {
  return inTheWay > 0 || isShort;
}

/** Of a cycle: `from` waits, because of the place `ahead` of it in the queue if there is one. */
interface Step {
  readonly from: OwnerNode;
  readonly wait: Wait;
  readonly ahead: Place | undefined;
}

/**
 * The shortest cycle of waits through `start` among those that wait for ever: each for the next,
 * the last for the first. `counts` says which waits may be part of it. `undefined`: there is none.
 */
export function shortestCycle(
  start: OwnerNode,
  counts: (wait: Wait) => boolean = () => true,
): readonly Wait[] | undefined {
  if (start.isFree) return undefined;
  const reachedBy = new Map<OwnerNode, Step>();
  const lookedThrough = new Set<Pool>();
  const line = [start];
  for (const from of line) {
    const before = reachedBy.get(from)?.ahead;
    for (const wait of from.waits ?? []) {
      const isLeftOut = before !== undefined && wait.place === before;
      if (!isBlocked(wait) || !(isLeftOut || counts(wait))) continue;
      for (const { node, ahead } of obstaclesOf(wait, lookedThrough)) {
        // Its own hold is in the way of others, not of an upgrade: whom it waits for has to be named.
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

/** Permits that somebody holds are not in the way where enough are left. */
function* obstaclesOf(
  { holders, ahead, pool, isShort }: Wait,
  lookedThrough: Set<Pool>,
): Generator<{ readonly node: OwnerNode; readonly ahead: Place | undefined }, void, void> {
  if (pool === undefined || (isShort && !lookedThrough.has(pool))) {
    for (const node of holders) if (!node.isFree) yield { node, ahead: undefined };
    if (pool !== undefined) lookedThrough.add(pool);
  }
  for (const { node, place } of ahead) if (!node.isFree) yield { node, ahead: place };
}

function stepsTo(
  last: Step,
  reachedBy: ReadonlyMap<OwnerNode, Step>,
  start: OwnerNode,
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

/** Without those whose own place in the queue is all that they add. */
function namesOf(steps: readonly Step[]): Wait[] {
  const waits: Wait[] = [];
  let before: Place | undefined;
  for (const { wait, ahead } of steps) {
    if (before === undefined || wait.place !== before) waits.push(wait);
    before = ahead;
  }
  return waits;
}
