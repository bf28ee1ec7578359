/**
 * Finds what a named owner has in a key, a lease or a wait for one, and remembers for a while why
 * leases ended. An owner of one identity has at most one claim in a key.
 */
import { assert } from "../../assert.js";
import { END_REASON, type EndReason } from "../../protocol/index.js";
import { type Linked, unlink } from "../structures/record-list.js";
import { hashText, ShardedMap } from "../structures/sharded-map.js";
import type { Hold, LeaseOwner, Request } from "./session.js";

/** How long the table remembers why a lease ended, in milliseconds of cluster time. */
const ENDED_LEASE_MS = 60_000;
/** How many ended leases it remembers, counted once for each key. */
const ENDED_LEASES_MAX = 10_000;

/** The end of a lease in one of its keys. */
export interface EndedLease {
  readonly key: string;
  readonly identity: number;
  readonly ownerDigest: string;
  readonly reason: EndReason;
  /** In cluster time. */
  readonly endedAt: number;
}

export class LeaseIndex {
  readonly #claims = new ShardedMap<string, Hold | Request>(hashText);
  readonly #ended = new Map<string, Remembered>();
  /** They are a chain in the order of their ends. A Map would be slow to find its first one. */
  #oldest: Remembered | undefined = undefined;
  #newest: Remembered | undefined = undefined;
  /** Leases, and those of them without end. */
  count = 0;
  endlessCount = 0;

  find(key: string, owner: LeaseOwner): Hold | Request | undefined {
    return this.#claims.get(nameOf(key, owner));
  }

  /** Adds a claim, which must have its places. */
  add(claim: Hold | Request, owner: LeaseOwner): void {
    for (let place = claim.firstPlace; place !== undefined; place = place.sibling) {
      const name = nameOf(place.key.name, owner);
      assert(this.#claims.get(name) === undefined, () => `two claims in ${place?.key.name}`);
      this.#claims.set(name, claim);
    }
  }

  remove(claim: Hold | Request, owner: LeaseOwner): void {
    for (let place = claim.firstPlace; place !== undefined; place = place.sibling) {
      this.#claims.delete(nameOf(place.key.name, owner));
    }
  }

  /** Why the owner's last lease of the key ended; `unknown` if that is forgotten. */
  reasonOf(key: string, owner: LeaseOwner, stamp: number): EndReason {
    const ended = this.#ended.get(nameOf(key, owner))?.ended;
    if (ended === undefined || ended.endedAt + ENDED_LEASE_MS <= stamp) return END_REASON.unknown;
    return ended.reason;
  }

  remember(ended: EndedLease): void {
    const name = `${ended.key}\n${ended.identity}\n${ended.ownerDigest}`;
    this.#drop(name);
    const added: Remembered = { ended, name, previous: this.#newest, next: undefined };
    if (this.#newest === undefined) this.#oldest = added;
    else this.#newest.next = added;
    this.#newest = added;
    this.#ended.set(name, added);
    for (let oldest = this.#oldest; oldest !== undefined; oldest = this.#oldest) {
      const isOver = oldest.ended.endedAt + ENDED_LEASE_MS <= ended.endedAt;
      if (!isOver && this.#ended.size <= ENDED_LEASES_MAX) return;
      this.#drop(oldest.name);
    }
  }

  forget(key: string, owner: LeaseOwner): void {
    this.#drop(nameOf(key, owner));
  }

  /** In the order of their ends. */
  ended(): EndedLease[] {
    const all: EndedLease[] = [];
    for (let one = this.#oldest; one !== undefined; one = one.next) all.push(one.ended);
    return all;
  }

  #drop(name: string): void {
    const known = this.#ended.get(name);
    if (known === undefined) return;
    this.#ended.delete(name);
    if (this.#oldest === known) this.#oldest = known.next;
    if (this.#newest === known) this.#newest = known.previous;
    unlink(known);
  }
}

interface Remembered extends Linked<Remembered> {
  readonly ended: EndedLease;
  /** Under which it is found. */
  readonly name: string;
}

/** Keys have no control characters. */
function nameOf(key: string, { ownerDigest, identity }: LeaseOwner): string {
  return `${key}\n${identity.number}\n${ownerDigest}`;
}
