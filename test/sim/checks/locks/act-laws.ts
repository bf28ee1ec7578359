/**
 * The law of compare and act (docs/internals/semantics.md, 8.10), held against what was said in the order of
 * the log: an act that is done found each key as it said, and does all that it said in the order of its
 * steps; an act that is not done has missed in one key at least, and changes nothing. What it changed is
 * found by what is said afterwards: each lease has the value, the end and the token that acts gave it.
 */
import {
  type ActCommand,
  type ActStep,
  type Result,
  STATUS,
} from "../../../../src/protocol/index.js";
import type { LawHolds } from "./law-holds.js";
import type { LawLease } from "./law-leases.js";
import type { LawOwner, LawWait } from "./law-records.js";
import type { LawWaits } from "./law-waits.js";

export interface ActSurroundings {
  readonly holds: LawHolds;
  readonly waits: LawWaits;
  readonly stamp: number;
  /** Returns what is wrong with the token of a new grant. */
  readonly newToken: (token: number) => string | undefined;
  readonly mayLast: (ttlMs: number) => boolean;
}

/** Returns what is wrong with the answer, of which it notes what it says. */
export function problemOfAct(
  world: ActSurroundings,
  person: number | undefined,
  { steps }: ActCommand,
  result: Result,
): string | undefined {
  if (result.status !== STATUS.acted) return undefined;
  const { tokens } = result;
  const all = steps.map((step) => new Step(world, step, person));
  if (tokens.length === 0) {
    return all.every((each) => each.isSurelySo)
      ? "finds all as it says, and is not done"
      : undefined;
  }
  if (tokens.length !== steps.length) return `${tokens.length} tokens of ${steps.length} steps`;
  for (const each of all) {
    const problem = each.problemOfBefore;
    if (problem !== undefined) return problem;
  }
  for (const [at, each] of all.entries()) {
    const problem = each.become(tokens[at] ?? 0);
    if (problem !== undefined) return problem;
  }
  for (const each of all) each.end();
  return undefined;
}

class Step {
  readonly #world: ActSurroundings;
  readonly #step: ActStep;
  readonly #owner: LawOwner;
  /** What the owner has in the key. */
  readonly #lease: LawLease | undefined;

  constructor(world: ActSurroundings, step: ActStep, person: number | undefined) {
    this.#world = world;
    this.#step = step;
    this.#owner = { owner: step.owner, person };
    this.#lease = world.holds.leases.of(this.#owner, step.key);
  }

  /** What keeps a key from being free words do not always say; whose it is they do. */
  get isSurelySo(): boolean {
    const lease = this.#lease;
    if (this.#step.before === undefined || lease === undefined) return false;
    const isThere = this.#world.holds.leases.isThere(lease) === "surely";
    return isThere && lease.value !== undefined && this.problemOfBefore === undefined;
  }

  /** What is wrong with an act that found the key as the step says. */
  get problemOfBefore(): string | undefined {
    const { key, before } = this.#step;
    const lease = this.#lease;
    if (before === undefined) return this.#problemOfFree();
    if (lease === undefined) return `finds a value in ${key}, where its owner has nothing`;
    const [claim, ...more] = lease.claims;
    if (more.length > 0 || claim?.mode !== "exclusive") {
      return `finds ${lease.token} in ${key} alone, and it is not`;
    }
    const isValue = (lease.value ?? before) === before;
    return isValue ? undefined : `finds "${before}" in ${key}, which has "${lease.value}"`;
  }

  #problemOfFree(): string | undefined {
    const { key, after } = this.#step;
    const { holds, waits } = this.#world;
    const problem = holds.problemOfGrant([claimOf(key)], undefined);
    if (problem !== undefined) return `finds ${key} free: ${problem}`;
    return after === undefined ? undefined : waits.problemOfOrder(this.#wait);
  }

  /** In the place of a request that comes now, after all others. */
  get #wait(): LawWait {
    const number = Number.POSITIVE_INFINITY;
    return {
      ...{ session: 0, sequence: 0, task: 0, deadline: 0, headStartMs: 0, number },
      ...{ detects: false, upgrades: undefined, lease: undefined },
      items: [{ key: this.#step.key, mode: "exclusive" }],
      enqueuedAt: this.#world.stamp,
    };
  }

  /** The key is as the step wants it, apart from what ends. Returns what is wrong. */
  become(token: number): string | undefined {
    const { key, before, after, ttlMs } = this.#step;
    const { newToken, mayLast, holds } = this.#world;
    if (after === undefined) return token === 0 ? undefined : `${key} is left with ${token}`;
    if (ttlMs !== undefined && !mayLast(ttlMs)) return `${key} is to last ${ttlMs} ms`;
    const lease = this.#lease;
    if (before === undefined || lease === undefined) {
      const problem = newToken(token);
      holds.leases.add(this.#taken(token, after));
      return problem;
    }
    lease.value = after;
    if (ttlMs !== undefined) lease.endsAt = holds.leases.endAfter(ttlMs);
    return token === lease.token ? undefined : `${key} is ${lease.token}'s, not ${token}'s`;
  }

  #taken(token: number, value: string): LawLease {
    const { holds, stamp } = this.#world;
    const { key, ttlMs = 0 } = this.#step;
    return {
      ...this.#owner,
      ...{ token, value, request: "", takenAs: "" },
      claims: [claimOf(key)],
      grantedAt: stamp,
      ...{ maxHoldMs: 0, minHoldMs: 0, lockDelayMs: 0 },
      orderedAt: Number.POSITIVE_INFINITY,
      endsAt: holds.leases.endAfter(ttlMs),
      revokedAt: [],
      mayBeGone: false,
    };
  }

  /** It is given back, if it ends: a late copy of its take gets nothing. */
  end(): void {
    const { key, owner, after } = this.#step;
    const lease = this.#lease;
    if (lease === undefined || after !== undefined) return;
    const { holds } = this.#world;
    holds.giveBack(lease);
    const { request } = lease;
    if (request === "" || request === owner) return;
    holds.leases.giveBackRequest(this.#owner, [key], request, "surely");
  }
}

function claimOf(key: string) {
  return { key, mode: "exclusive" as const, permits: 0, slots: [] };
}
