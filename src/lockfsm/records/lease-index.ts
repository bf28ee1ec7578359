/**
 * Finds what a named owner has in a key, a lease or a wait for one, and remembers for a while why
 * leases ended, and which request it gave back. An owner has at most one claim in a key.
 */
import { assert } from "../../errors/index.js";
import { END_REASON, type EndReason } from "../../protocol/index.js";
import { type Linked, unlink } from "../structures/record-list.js";
import { hashText, ShardedMap } from "../structures/sharded-map.js";
import type { Hold } from "./hold.js";
import type { LeaseOwner } from "./lease.js";
import type { Request } from "./session.js";

/** How long the table remembers why a lease ended, in milliseconds of cluster time. */
const ENDED_LEASE_MS = 60_000;
/** How many ended leases it remembers, counted once for each key. */
const ENDED_LEASES_MAX = 10_000;

/** The name space of bearers; each identity has its number as its name space. */
const OF_BEARERS = -1;

/** The name space in which an owner is found. */
export function spaceOf({ isBearer, identity }: LeaseOwner): number {
  return isBearer ? OF_BEARERS : identity.number;
}

/** The end of a lease, or of a wait that was given back, in one of its keys. */
export interface EndedLease {
  readonly key: string;
  /** The name space of its owner. */
  readonly space: number;
  readonly ownerDigest: string;
  /** The request that its owner gave back; "": it ended otherwise, or names no single request. */
  readonly request: string;
  readonly reason: EndReason;
  /** In cluster time. */
  readonly endedAt: number;
}

/** What an owner has in a key, and how its last lease there ended. */
interface IndexedLease extends Linked<IndexedLease> {
  /** Under which it is found. */
  readonly name: string;
  claim: Hold | Request | undefined;
  /** Only entries that have this are in the chain. */
  ended: EndedLease | undefined;
}

export class LeaseIndex {
  readonly #entries = new ShardedMap<string, IndexedLease>(hashText);
  /** Entries of ended leases are a chain in the order of their ends. */
  #oldest: IndexedLease | undefined = undefined;
  #newest: IndexedLease | undefined = undefined;
  #endedCount = 0;
  /** What was looked for last: a command comes back to it, and to make its name costs most. */
  #lastKey = "";
  #lastSpace = 0;
  #lastDigest = "";
  #lastName = "";
  #lastEntry: IndexedLease | undefined = undefined;
  /** Leases, and how many of them are without end. */
  count = 0;
  endlessCount = 0;

  find(key: string, owner: LeaseOwner): Hold | Request | undefined {
    return this.#find(key, spaceOf(owner), owner.ownerDigest)?.claim;
  }

  /** Adds a claim, which must have its places. */
  add(claim: Hold | Request, owner: LeaseOwner): void {
    const space = spaceOf(owner);
    for (let place = claim.firstPlace; place !== undefined; place = place.sibling) {
      const entry = this.#findOrMake(place.key.name, space, owner.ownerDigest);
      assert(entry.claim === undefined, () => `two claims in ${place?.key.name}`);
      entry.claim = claim;
    }
  }

  remove(claim: Hold | Request, owner: LeaseOwner): void {
    const space = spaceOf(owner);
    for (let place = claim.firstPlace; place !== undefined; place = place.sibling) {
      const entry = this.#find(place.key.name, space, owner.ownerDigest);
      assert(entry?.claim === claim, () => `no claim in ${place?.key.name}`);
      entry.claim = undefined;
      this.#tidy(entry);
    }
  }

  /** Why the owner's last lease of the key ended; `unknown` if that is forgotten. */
  reasonOf(key: string, owner: LeaseOwner, stamp: number): EndReason {
    return this.#endedOf(key, owner, stamp)?.reason ?? END_REASON.unknown;
  }

  /** Whether this request was the last that the owner had in the key, and gave back. */
  isGivenBack(key: string, owner: LeaseOwner, request: string, stamp: number): boolean {
    return this.#endedOf(key, owner, stamp)?.request === request;
  }

  #endedOf(key: string, owner: LeaseOwner, stamp: number): EndedLease | undefined {
    const ended = this.#find(key, spaceOf(owner), owner.ownerDigest)?.ended;
    return ended === undefined || ended.endedAt + ENDED_LEASE_MS <= stamp ? undefined : ended;
  }

  remember(ended: EndedLease): void {
    const entry = this.#findOrMake(ended.key, ended.space, ended.ownerDigest);
    if (entry.ended !== undefined) this.#unchain(entry);
    entry.ended = ended;
    entry.previous = this.#newest;
    if (this.#newest === undefined) this.#oldest = entry;
    else this.#newest.next = entry;
    this.#newest = entry;
    this.#endedCount += 1;
    for (let oldest = this.#oldest; oldest?.ended !== undefined; oldest = this.#oldest) {
      const isOver = oldest.ended.endedAt + ENDED_LEASE_MS <= ended.endedAt;
      if (!isOver && this.#endedCount <= ENDED_LEASES_MAX) return;
      this.#unchain(oldest);
      this.#tidy(oldest);
    }
  }

  forget(key: string, owner: LeaseOwner): void {
    const entry = this.#find(key, spaceOf(owner), owner.ownerDigest);
    if (entry?.ended === undefined) return;
    this.#unchain(entry);
    this.#tidy(entry);
  }

  /** In the order of their ends. */
  ended(): EndedLease[] {
    const all: EndedLease[] = [];
    for (let one = this.#oldest; one?.ended !== undefined; one = one.next) all.push(one.ended);
    return all;
  }

  #find(key: string, space: number, ownerDigest: string): IndexedLease | undefined {
    const isSame = key === this.#lastKey && ownerDigest === this.#lastDigest;
    if (isSame && space === this.#lastSpace) return this.#lastEntry;
    this.#lastKey = key;
    this.#lastSpace = space;
    this.#lastDigest = ownerDigest;
    // Keys have no control characters.
    this.#lastName = `${key}\n${space}\n${ownerDigest}`;
    this.#lastEntry = this.#entries.get(this.#lastName);
    return this.#lastEntry;
  }

  #findOrMake(key: string, space: number, ownerDigest: string): IndexedLease {
    const known = this.#find(key, space, ownerDigest);
    if (known !== undefined) return known;
    const none = { claim: undefined, ended: undefined, previous: undefined, next: undefined };
    const made: IndexedLease = { name: this.#lastName, ...none };
    this.#entries.set(made.name, made);
    this.#lastEntry = made;
    return made;
  }

  /** Its end is not remembered any more. */
  #unchain(entry: IndexedLease): void {
    if (this.#oldest === entry) this.#oldest = entry.next;
    if (this.#newest === entry) this.#newest = entry.previous;
    unlink(entry);
    entry.ended = undefined;
    this.#endedCount -= 1;
  }

  /** Removes an entry that says nothing any more. */
  #tidy(entry: IndexedLease): void {
    if (entry.claim !== undefined || entry.ended !== undefined) return;
    this.#entries.delete(entry.name);
    if (this.#lastEntry === entry) this.#lastEntry = undefined;
  }
}
