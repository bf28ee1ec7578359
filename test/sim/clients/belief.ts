/**
 * A hold that a client counts on, from the grant it heard to what it gave up or lost. What it
 * knows of the hold is what a client of the SDK would know; when it trusts it is a matter of its clock.
 */
import type { ClaimMode } from "../../../src/protocol/index.js";

/** A client that counts on holds. */
export interface Believer {
  readonly host: number;
  /** The number of its session; 0 while it has none. */
  readonly session: number;
  /** By its own clock. */
  readonly nowMs: number;
  /** Whether it counts on its lease at this moment. */
  readonly trustsLease: boolean;
}

export interface BeliefClaim {
  readonly key: string;
  /** What the client acts by: weaker at the latest when it asks for that, stronger when it hears of it. */
  mode: ClaimMode;
  /** The slots of a semaphore. */
  readonly slots: readonly number[];
}

/** A hold as the one who counts on it believes it to be, for those who compare beliefs. */
export interface HeldBelief {
  readonly client: { readonly host: number };
  readonly session: number;
  /** The newest one. */
  readonly token: number;
  readonly claims: readonly BeliefClaim[];
  /** Why it is not counted on any more, and never will be again. */
  readonly givenUp: "released" | "lapsed" | undefined;
  /** Whether the client, looking at its clock now, counts on it. */
  readonly isTrusted: boolean;
  claimOf(key: string): BeliefClaim | undefined;
}

export class Belief implements HeldBelief {
  readonly client: Believer;
  readonly session: number;
  /** The sequence of the acquire or adopt that brought it: what it is known by in its session. */
  readonly sequence: number;
  readonly task: number;
  readonly claims: readonly BeliefClaim[];
  token: number;
  /** By the client's clock, when it ends by a cap or a revoke, if nothing ends it before. */
  deadlineMs = Number.POSITIVE_INFINITY;
  /** Why the client itself does not count on it any more. */
  givenUp: "released" | "lapsed" | undefined = undefined;

  constructor(
    client: Believer,
    identity: { readonly session: number; readonly sequence: number; readonly task: number },
    token: number,
    claims: readonly BeliefClaim[],
  ) {
    this.client = client;
    this.session = identity.session;
    this.sequence = identity.sequence;
    this.task = identity.task;
    this.token = token;
    this.claims = claims;
  }

  /** Whether the client, looking at its clock now, counts on it. */
  get isTrusted(): boolean {
    if (this.givenUp !== undefined) return false;
    return this.client.trustsLease && this.client.nowMs < this.deadlineMs;
  }

  claimOf(key: string): BeliefClaim | undefined {
    return this.claims.find((claim) => claim.key === key);
  }

  /** What may have been taken back is used as shared. */
  weaken(keys: readonly string[]): void {
    for (const claim of this.claims) {
      if (claim.mode === "exclusive" && keys.includes(claim.key)) claim.mode = "shared";
    }
  }

  /** It ends no later than this. */
  endBy(deadlineMs: number): void {
    this.deadlineMs = Math.min(this.deadlineMs, deadlineMs);
  }

  lapse(): void {
    this.givenUp ??= "lapsed";
  }
}
