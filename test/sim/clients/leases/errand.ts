/**
 * One errand of an owner: a request for a lease, which may be repeated at any door, what it brought, and
 * what was asked about it. It decides what of the answers is believed, and until when.
 */
import type { AcquireTerms, ExtendedLease, Item } from "../../../../src/protocol/index.js";
import type { BeliefClaim } from "../belief.js";
import { LeaseBelief, type Owner, trustedUntil } from "./lease-belief.js";
import type { ExtendWish, TakeWish } from "./lease-door.js";

/** What somebody who asked at `sentMs` heard of a lease. */
export interface Told {
  readonly sentMs: number;
  /** From the entry that queued or executed it until the end; `Infinity`: without end. */
  readonly spanMs: number;
}

/** An extension that may make leases shorter. */
interface Shortening {
  readonly keys: readonly string[];
  readonly deadlineMs: number;
  /** When its answer came; what was asked for before may be older than it. */
  answeredMs: number;
}

export interface ErrandPlan {
  /** 32 hex digits each. */
  readonly owner: string;
  readonly request: string;
  readonly name: string;
  readonly items: readonly Item[];
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly isSplit: boolean;
  readonly options: AcquireTerms | undefined;
}

export class Errand {
  readonly plan: ErrandPlan;
  /** What it brought, by what is believed. */
  beliefs: LeaseBelief[] = [];
  /** It is over as soon as somebody says that nothing is left. */
  isReturning = false;
  addsLeft = 2;
  /** It was asked for before. */
  isRepeat = false;
  /** Asked for and not answered yet. */
  openCount = 0;
  readonly #owner: Owner;
  /** What was left to the owner, until it hears of the token of that. */
  #left: readonly BeliefClaim[];
  readonly #shortenings: Shortening[] = [];

  constructor(owner: Owner, plan: ErrandPlan, left: readonly BeliefClaim[] = []) {
    this.#owner = owner;
    this.plan = plan;
    this.#left = left;
  }

  get keys(): string[] {
    return this.plan.items.map(({ key }) => key);
  }

  get held(): LeaseBelief[] {
    return this.beliefs.filter(({ givenUp }) => givenUp === undefined);
  }

  /** `change`: in what a repeat may differ from the first take. */
  take(op: TakeWish["op"], change?: Partial<Pick<ErrandPlan, "items" | "ttlMs">>): TakeWish {
    return { op, ...this.plan, ...change };
  }

  /** From now on nothing of it is counted on, nor what is heard of it later. */
  giveUp(how: "released" | "lapsed"): void {
    this.isReturning = true;
    for (const belief of this.beliefs) belief.givenUp ??= how;
  }

  /** The keys are given back: each lease as a whole. */
  release(keys: readonly string[]): void {
    for (const belief of this.beliefs) {
      if (belief.claims.some(({ key }) => keys.includes(key))) belief.givenUp ??= "released";
    }
  }

  /** A take of it was granted, of the items in that order. Returns what is believed of that now. */
  onLeased(
    tokens: readonly number[],
    slots: readonly (readonly number[])[],
    told: Told,
    items: readonly Item[],
  ): LeaseBelief[] {
    if (this.isReturning) return [];
    this.#left = [];
    const { isSplit } = this.plan;
    let semaphores = 0;
    const claims = items.map(({ key, mode }): BeliefClaim => {
      if (mode !== "permits") return { key, mode, slots: [] };
      semaphores += 1;
      return { key, mode, slots: slots[semaphores - 1] ?? [] };
    });
    const parts = isSplit ? claims.map((claim) => [claim]) : [claims];
    return parts.flatMap((part, at) => this.#learn(tokens[at] ?? 0, part, told));
  }

  #learn(token: number, claims: readonly BeliefClaim[], told: Told): LeaseBelief[] {
    const names = claims.map(({ key }) => key);
    const others = this.beliefs.filter((belief) => names.some((key) => belief.claimOf(key)));
    // An answer to an earlier take, of which there is something newer.
    if (others.some((other) => other.token > token)) return [];
    for (const other of others) if (other.token < token) other.givenUp ??= "lapsed";
    const deadlineMs = this.#deadlineOf(names, told);
    const known = others.find((other) => other.token === token);
    if (known !== undefined) {
      known.deadlineMs = Math.max(known.deadlineMs, deadlineMs);
      return [known];
    }
    const belief = new LeaseBelief(this.#owner, token, claims, deadlineMs);
    this.beliefs = [...this.held, belief];
    return [belief];
  }

  /** It is about to be said. */
  onExtending({ mode, keys, ttlMs }: ExtendWish, sentMs: number): () => void {
    if (mode !== "exactly") return () => {};
    const deadlineMs = trustedUntil(sentMs, ttlMs);
    const shortening = { keys, deadlineMs, answeredMs: Number.POSITIVE_INFINITY };
    this.#shortenings.push(shortening);
    for (const belief of this.beliefs) {
      if (!keys.some((key) => belief.claimOf(key))) continue;
      belief.deadlineMs = Math.min(belief.deadlineMs, deadlineMs);
    }
    return () => {
      shortening.answeredMs = this.#owner.nowMs;
    };
  }

  /** Returns what is believed of that now. */
  onExtended(
    keys: readonly string[],
    leases: readonly ExtendedLease[],
    sentMs: number,
    stamp: number,
  ): LeaseBelief[] {
    return leases.flatMap(({ token, endsAt }, at) => {
      const key = keys[at] ?? "";
      const spanMs = endsAt === 0 ? Number.POSITIVE_INFINITY : endsAt - stamp;
      if (this.#left.length > 0 && !this.isReturning) {
        const claims = this.#left.map((claim) => ({ ...claim }));
        this.#left = [];
        return this.#learn(token, claims, { sentMs, spanMs });
      }
      const belief = this.held.find((one) => one.token === token && one.claimOf(key));
      if (belief === undefined) return [];
      const deadlineMs = this.#deadlineOf([key], { sentMs, spanMs });
      belief.deadlineMs = Math.max(belief.deadlineMs, deadlineMs);
      return [belief];
    });
  }

  /** What may have been made shorter since is not counted on for longer than that. */
  #deadlineOf(names: readonly string[], { sentMs, spanMs }: Told): number {
    let deadlineMs = spanMs === Number.POSITIVE_INFINITY ? spanMs : trustedUntil(sentMs, spanMs);
    for (const shortening of this.#shortenings) {
      if (sentMs >= shortening.answeredMs) continue;
      if (!shortening.keys.some((key) => this.#isTogether(key, names))) continue;
      deadlineMs = Math.min(deadlineMs, shortening.deadlineMs);
    }
    return deadlineMs;
  }

  /** Whether the key is of a lease that has one of these. */
  #isTogether(key: string, names: readonly string[]): boolean {
    return this.plan.isSplit ? names.includes(key) : this.keys.includes(key);
  }
}
