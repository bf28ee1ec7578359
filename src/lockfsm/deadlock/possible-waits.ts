/**
 * The waits of possible deadlocks (semantics.md, 7.7), from the requests on that are asked about. A
 * hold is given back when the task that has it goes on, and that may be waiting for any of several
 * requests. So requests are taken out of the graph, again and again, that are granted although every
 * task that may wait does wait: a lock then has no such hold left, a semaphore enough free permits.
 * The requests that remain may wait forever.
 *
 * Each request, each hold and each key is looked at a few times, however many of them there are. Every
 * look counts against a limit. Only reads.
 */
import { requestsOf } from "../holds/tasks.js";
import type { Hold } from "../records/hold.js";
import type { Key, Place } from "../records/key.js";
import { orderOf, type Request, type Session } from "../records/session.js";
import type { TableState } from "../records/state.js";
import type { WaitEdges } from "./wait-edges.js";

/** The place of each member: it waits for a hold of the session of the next one. */
export type PossibleCycle = readonly Place[];

/** A request. */
interface Node {
  readonly request: Request;
  readonly waits: Wait[];
  /** How many of its waits are blocked. */
  blockedCount: number;
  /** Whether it is granted, sooner or later. */
  isFree: boolean;
  /** The holds that stay for as long as this one waits, as far as is known. */
  readonly keeps: Held[];
}

/** One place at which a request waits. */
interface Wait {
  readonly node: Node;
  readonly place: Place;
  readonly pool: Pool;
  isBlocked: boolean;
}

/** The holds of a key in which requests wait. */
interface Pool {
  readonly holders: Held[];
  /** 0 in a lock, in which a hold counts as one permit. */
  readonly limit: number;
  /** The permits of holds that may stay forever. */
  held: number;
  /** Blocked waits, by the permits that they need. */
  readonly blocked: Map<number, Wait[]>;
}

interface Held {
  readonly hold: Hold;
  /** The requests of its task. */
  readonly own: readonly Node[];
  /** Other requests of its session, one of which may be what its task waits for. */
  readonly others: Group | undefined;
  readonly shares: { readonly pool: Pool; readonly permits: number }[];
  isFree: boolean;
}

/** The requests of a session that are the only claims of their tasks, less the free ones. */
interface Group {
  nodes: Node[];
}

/** How a request was reached: an earlier one waits at `place` for a hold of its session. */
interface Hop {
  readonly place: Place;
  readonly rest: Hop | undefined;
}

export class PossibleWaits {
  readonly #state: TableState;
  readonly #edges: WaitEdges;
  readonly #nodes = new Map<Request, Node>();
  readonly #helds = new Map<Hold, Held>();
  readonly #groups = new Map<Session, Group>();
  readonly #pools = new Map<Key, Pool>();
  readonly #needs = new Map<Place, number>();
  readonly #reached: Node[] = [];
  /** How many of `#reached` have been explored. */
  #explored = 0;

  constructor(state: TableState, edges: WaitEdges) {
    this.#state = state;
    this.#edges = edges;
  }

  /** The shortest cycle through a request, which must not be due. */
  cycleThrough(request: Request): PossibleCycle | undefined {
    const start = this.#nodeOf(request);
    const before = this.#explored;
    for (; this.#explored < this.#reached.length; this.#explored += 1) {
      this.#addWaits(this.#reached[this.#explored] as Node);
    }
    const fresh = this.#reached.slice(before);
    this.#takeOut(fresh.filter(({ blockedCount }) => blockedCount === 0));
    return start.isFree ? undefined : this.#shortestCycle(start);
  }

  #nodeOf(request: Request): Node {
    const known = this.#nodes.get(request);
    if (known !== undefined) return known;
    const node = { request, waits: [], blockedCount: 0, isFree: false, keeps: [] };
    this.#nodes.set(request, node);
    this.#reached.push(node);
    return node;
  }

  #addWaits(node: Node): void {
    const { firstPlace, upgrades } = node.request;
    for (let place = firstPlace; place !== undefined; place = place.sibling) {
      this.#edges.step();
      const { key } = place;
      if (key.hasReached(place)) continue;
      const need = place.mode === "permits" ? this.#needOf(place) : 0;
      // Its own hold is not in the way of an upgrade.
      const pool = upgrades === undefined ? this.#poolOf(key) : this.#newPool(key, upgrades);
      const isBlocked = pool.held + need > pool.limit;
      const wait = { node, place, pool, isBlocked };
      node.waits.push(wait);
      if (!isBlocked) continue;
      node.blockedCount += 1;
      const alike = pool.blocked.get(need);
      if (alike === undefined) pool.blocked.set(need, [wait]);
      else alike.push(wait);
    }
  }

  /** Those ahead must be served first, so the largest number of permits decides. */
  #needOf(place: Place): number {
    const unknown: Place[] = [];
    let at: Place | undefined = place;
    for (; at !== undefined && !this.#needs.has(at); at = at.previous) {
      this.#edges.step();
      unknown.push(at);
    }
    let need = at === undefined ? 0 : (this.#needs.get(at) ?? 0);
    for (const one of unknown.reverse()) {
      if (!this.#edges.isAbsent(orderOf(one))) need = Math.max(need, one.wanted);
      this.#needs.set(one, need);
    }
    return need;
  }

  #poolOf(key: Key): Pool {
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    const pool = this.#newPool(key, undefined);
    this.#pools.set(key, pool);
    return pool;
  }

  #newPool(key: Key, leftOut: Request["upgrades"]): Pool {
    const holders: Held[] = [];
    const pool = { holders, limit: key.semaphore?.limit ?? 0, held: 0, blocked: new Map() };
    for (let place = key.firstHold; place !== undefined; place = place.next) {
      this.#edges.step();
      const hold = this.#edges.holderAt(place);
      if (hold === undefined || hold === leftOut) continue;
      const held = this.#heldOf(hold);
      if (held.isFree) continue;
      const permits = key.semaphore === undefined ? 1 : place.wanted;
      holders.push(held);
      held.shares.push({ pool, permits });
      pool.held += permits;
    }
    return pool;
  }

  #heldOf(hold: Hold): Held {
    const known = this.#helds.get(hold);
    if (known !== undefined) return known;
    const own: Node[] = [];
    for (const request of requestsOf(this.#state, hold)) {
      this.#edges.step();
      if (!this.#edges.isAbsent(request)) own.push(this.#nodeOf(request));
    }
    const others = this.#isAlone(hold) ? this.#groupOf(hold.session) : undefined;
    const held = { hold, own, others, shares: [], isFree: false };
    this.#helds.set(hold, held);
    held.isFree = !this.#isKept(held);
    return held;
  }

  #groupOf(session: Session): Group {
    const known = this.#groups.get(session);
    if (known !== undefined) return known;
    const group: Group = { nodes: [] };
    this.#groups.set(session, group);
    for (let one = session.firstRequest; one !== undefined; one = one.next) {
      this.#edges.step();
      if (one.lease !== undefined || this.#edges.isAbsent(one) || !this.#isAlone(one)) continue;
      const node = this.#nodeOf(one);
      if (!node.isFree) group.nodes.push(node);
    }
    return group;
  }

  #isAlone(claim: Hold | Request): boolean {
    return this.#state.tasks.find(claim.session, claim.task) === claim;
  }

  /** Whether its task may wait for a request that is not free. */
  #isKept(held: Held): boolean {
    const { hold, own, others } = held;
    const by =
      own.find(({ isFree }) => !isFree) ??
      others?.nodes.find((node) => {
        this.#edges.step();
        return !node.isFree && mayBeOfTask(node, hold);
      });
    by?.keeps.push(held);
    return by !== undefined;
  }

  /** Takes out requests, and then all that are granted because their tasks go on. */
  #takeOut(free: readonly Node[]): void {
    for (let round = free; round.length > 0; ) {
      for (const node of round) node.isFree = true;
      for (const session of new Set(round.map(({ request }) => request.session))) {
        const group = this.#groups.get(session);
        if (group === undefined) continue;
        group.nodes = group.nodes.filter(({ isFree }) => {
          this.#edges.step();
          return !isFree;
        });
      }
      const next: Node[] = [];
      for (const held of round.flatMap(({ keeps }) => keeps)) {
        if (this.#isKept(held)) continue;
        held.isFree = true;
        for (const { pool, permits } of held.shares) {
          pool.held -= permits;
          next.push(...freedIn(pool));
        }
      }
      round = next;
    }
  }

  #shortestCycle(start: Node): PossibleCycle | undefined {
    const reached = new Set<Node>();
    const seen = new Set<Pool>();
    const left = new Map<Group, readonly Node[]>();
    const line: { readonly node: Node; readonly hop: Hop | undefined }[] = [];
    line.push({ node: start, hop: undefined });
    for (const { node, hop } of line) {
      for (const { place, pool, isBlocked } of node.waits) {
        if (!isBlocked || seen.has(pool)) continue;
        seen.add(pool);
        const next = { place, rest: hop };
        for (const held of pool.holders) {
          this.#edges.step();
          if (held.isFree) continue;
          for (const other of this.#tasksOf(held, left)) {
            if (other === start) return placesOf(next);
            if (reached.has(other)) continue;
            reached.add(other);
            line.push({ node: other, hop: next });
          }
        }
      }
    }
    return undefined;
  }

  /** What the task of a hold may be waiting for. `left`: those that were not reached in this way. */
  #tasksOf({ hold, own, others }: Held, left: Map<Group, readonly Node[]>): Node[] {
    const tasks = own.filter(({ isFree }) => !isFree);
    if (others === undefined) return tasks;
    const rest: Node[] = [];
    for (const node of left.get(others) ?? others.nodes) {
      this.#edges.step();
      (mayBeOfTask(node, hold) ? tasks : rest).push(node);
    }
    left.set(others, rest);
    return tasks;
  }
}

/** Removes waits that have enough permits now. Returns the requests of which all have. */
function freedIn({ blocked, held, limit }: Pool): Node[] {
  const freed: Node[] = [];
  for (const [need, waits] of blocked) {
    if (held + need > limit) continue;
    blocked.delete(need);
    for (const wait of waits) {
      wait.isBlocked = false;
      wait.node.blockedCount -= 1;
      if (wait.node.blockedCount === 0) freed.push(wait.node);
    }
  }
  return freed;
}

/** Both are the only claims of their tasks: the request may be what the holder waits for. */
function mayBeOfTask({ request }: Node, hold: Hold): boolean {
  if (request.enqueuedAt < hold.grantedAt) return false;
  // In the key of the hold, two tasks of one client take turns.
  for (let one = request.firstPlace; one !== undefined; one = one.sibling) {
    for (let other = hold.firstPlace; other !== undefined; other = other.sibling) {
      if (one.key === other.key) return false;
    }
  }
  return true;
}

function placesOf(last: Hop): PossibleCycle {
  const places: Place[] = [];
  for (let hop: Hop | undefined = last; hop !== undefined; hop = hop.rest) places.push(hop.place);
  return places.reverse();
}
