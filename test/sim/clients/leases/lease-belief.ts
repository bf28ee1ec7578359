/**
 * A lease that its owner counts on, by the owner's own clock: from before it asked until what the answer
 * says, less the margin of the rules.
 */
import { marginMs } from "../../../../src/client/session-lease/session-lease.js";
import type { BeliefClaim, HeldBelief } from "../belief.js";

export interface Owner {
  readonly host: number;
  /** By its own clock. */
  readonly nowMs: number;
}

export class LeaseBelief implements HeldBelief {
  readonly client: Owner;
  /** A lease is of none. */
  readonly session = 0;
  readonly token: number;
  readonly claims: readonly BeliefClaim[];
  deadlineMs: number;
  givenUp: "released" | "lapsed" | undefined = undefined;

  constructor(owner: Owner, token: number, claims: readonly BeliefClaim[], deadlineMs: number) {
    this.client = owner;
    this.token = token;
    this.claims = claims;
    this.deadlineMs = deadlineMs;
  }

  get isTrusted(): boolean {
    return this.givenUp === undefined && this.client.nowMs < this.deadlineMs;
  }

  claimOf(wanted: string): BeliefClaim | undefined {
    return this.claims.find(({ key }) => key === wanted);
  }
}

/** How long something is counted on that was asked for at `sentMs` and lasts for `spanMs` of the cluster. */
export function trustedUntil(sentMs: number, spanMs: number): number {
  return sentMs + spanMs - marginMs(spanMs);
}
