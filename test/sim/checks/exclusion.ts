/**
 * Mutual exclusion as clients live it, in true time: whoever believes in a hold, by a lease that has
 * not ended by its own clock, shares it with nobody who conflicts. Clients that forgot to look at
 * their deadline are counted apart: under a pause they must overlap, or the harness cannot see.
 */
import type { LockItem } from "../../../src/protocol/index.js";
import type { Belief } from "../clients/client-watch.js";
import type { Fail } from "./violation.js";

export class Exclusion {
  readonly #fail: Fail;
  readonly #beliefs = new Map<string, Belief[]>();
  /** Overlaps with somebody who did not look at the deadline. */
  overlapsWithoutDeadline = 0;

  constructor(fail: Fail) {
    this.#fail = fail;
  }

  add(belief: Belief): void {
    for (const item of belief.items) {
      const others = (this.#beliefs.get(item.key) ?? []).filter(
        ({ givenUp }) => givenUp === undefined,
      );
      if (belief.givenUp === undefined) {
        for (const other of others) this.#compare(item, belief, other);
      }
      others.push(belief);
      this.#beliefs.set(item.key, others);
    }
  }

  #compare(item: LockItem, belief: Belief, other: Belief): void {
    const theirs = other.items.find(({ key }) => key === item.key);
    if (item.mode === "shared" && theirs?.mode === "shared") return;
    if (!other.client.trustsLease) {
      this.overlapsWithoutDeadline += 1;
      return;
    }
    const [one, two] = [belief, other].map(({ client, token }) => `${client.host} by ${token}`);
    this.#fail("exclusion", `${item.key} is held by client ${one} and client ${two}`);
  }
}
