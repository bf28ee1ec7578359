/**
 * Mutual exclusion as clients experience it, in true time: while a client relies on a hold,
 * whose lease, cap or revoke has not ended by its own clock, no conflicting client does; no two
 * use one slot of a semaphore. Clients that forgot to check their deadline are counted
 * separately: during a pause they must overlap, or the harness is blind.
 *
 * A hold that was stolen or revoked at once ends without its holder's knowledge. Exclusion is not
 * promised then, and such overlaps are counted separately too: fencing covers them
 * (`fenced-resource.ts`). Who hands a hold over, to others or to its next process, has given it up before.
 */
import { type Claim, conflictOf } from "../../../../lab/laws/exclusion.js";
import type { BeliefClaim, HeldBelief } from "../../clients/belief.js";
import type { Fail } from "../violation.js";

export class Exclusion {
  readonly #fail: Fail;
  readonly #beliefs = new Map<string, HeldBelief[]>();
  /** Tokens of holds that were taken from those who counted on them. */
  readonly #torn: (belief: HeldBelief) => boolean;
  /** Overlaps with somebody who did not look at the deadline. */
  overlapsWithoutDeadline = 0;
  /** Overlaps with somebody from whom a hold was taken untold. */
  overlapsWithoutFence = 0;

  /** `isTorn`: whether the hold was taken from who believes in it, as the log says by now. */
  constructor(fail: Fail, isTorn: (belief: HeldBelief) => boolean) {
    this.#fail = fail;
    this.#torn = isTorn;
  }

  /** A hold that begins to be counted on, or became stronger. */
  add(belief: HeldBelief): void {
    for (const claim of belief.claims) {
      const others = (this.#beliefs.get(claim.key) ?? []).filter((other) => {
        return other.givenUp === undefined && other !== belief;
      });
      if (belief.isTrusted) {
        for (const other of others) this.#compare(claim, belief, other);
      }
      others.push(belief);
      this.#beliefs.set(claim.key, others);
    }
  }

  #compare(claim: BeliefClaim, belief: HeldBelief, other: HeldBelief): void {
    const theirs = other.claimOf(claim.key);
    if (theirs === undefined) return;
    if (conflictOf(factOf(claim), [[other, factOf(theirs)]]) === undefined) return;
    if (this.#torn(belief) || this.#torn(other)) {
      if (other.isTrusted) this.overlapsWithoutFence += 1;
      return;
    }
    if (!other.isTrusted) {
      this.overlapsWithoutDeadline += 1;
      return;
    }
    const [one, two] = [belief, other].map(({ client, token }) => `${client.host} by ${token}`);
    this.#fail("exclusion", `${claim.key} is held by client ${one} and client ${two}`);
  }
}

function factOf({ key, mode, slots }: BeliefClaim): Claim {
  return { key, mode, permits: slots.length, slots };
}
