/**
 * What a client makes of grants: holds that it counts on from when it hears of them. A grant that
 * an earlier connection should have reported is not believed as it was: the cluster is asked how
 * the hold stands now, and says everything about it.
 */
import { OP, type RecalledHold, type Result, type STATUS } from "../../../../src/protocol/index.js";
import { Belief, type BeliefClaim, type Believer } from "../belief.js";
import type { ClientWatch } from "../client-watch.js";
import { SIGHTINGS } from "../sightings.js";
import type { Call } from "./call.js";
import type { ClientCalls } from "./client-calls.js";
import type { ClientHolds } from "./client-holds.js";
import type { Evidence } from "./evidence.js";
import { claimsGranted } from "./grant.js";

type ResultOf<S extends number> = Extract<Result, { readonly status: S }>;

interface Grant {
  readonly sequence: number;
  readonly task: number;
  readonly token: number;
  readonly claims: readonly BeliefClaim[];
  /** Cluster time; 0: with the session. */
  readonly endsAt: number;
}

export class ClientGrants {
  /** How many it began to count on. */
  count = 0;
  readonly #client: Believer;
  readonly #holds: ClientHolds;
  readonly #evidence: Evidence;
  readonly #watch: ClientWatch;

  constructor(client: Believer, holds: ClientHolds, evidence: Evidence, watch: ClientWatch) {
    this.#client = client;
    this.#holds = holds;
    this.#evidence = evidence;
    this.#watch = watch;
  }

  /** It is not held any more. */
  forget(sequence: number): void {
    this.#holds.forget(sequence);
  }

  onGranted(
    { wish, sequence, isLeft }: Call,
    result: ResultOf<typeof STATUS.granted>,
    stamp: number,
  ): void {
    if (wish.op !== OP.acquire) return;
    const { task, options } = wish;
    const maxHoldMs = options?.maxHoldMs ?? 0;
    const endsAt = maxHoldMs === 0 ? 0 : stamp + maxHoldMs;
    if (result.slots !== undefined) this.#watch.onSeen(SIGHTINGS.slots);
    const claims = claimsGranted(wish, result);
    this.#take(
      { sequence, task, token: result.token, claims, endsAt },
      isLeft ? "released" : undefined,
    );
  }

  onAdopted({ wish, sequence, isLeft }: Call, result: ResultOf<typeof STATUS.adopted>): void {
    if (wish.op !== OP.adopt) return;
    const { token, items, endsAt } = result;
    const claims = items.map(({ key, mode, slots }) => ({ key, mode, slots }));
    this.#take(
      { sequence, task: wish.task, token, claims, endsAt },
      isLeft ? "released" : undefined,
    );
  }

  onUpgraded({ wish }: Call, token: number, calls: ClientCalls): void {
    if (wish.op !== OP.upgrade) return;
    const belief = this.#holds.of(wish.target);
    if (belief === undefined) return;
    belief.token = token;
    const claim = belief.claimOf(wish.key);
    if (claim === undefined || isLowering(calls, wish.target, wish.key)) return;
    claim.mode = "exclusive";
    if (belief.isTrusted) this.#watch.onBelief(belief);
  }

  /** How a hold stands. `call`: the one that brought it, if that was not answered. */
  onHeld(held: RecalledHold, call: Call | undefined, calls: ClientCalls): void {
    const { sequence, token, items, endsAt } = held;
    const claims = items.map(({ key, mode, slots }): BeliefClaim => {
      const isLowered = mode === "exclusive" && isLowering(calls, sequence, key);
      return { key, mode: isLowered ? "shared" : mode, slots };
    });
    const known = this.#holds.of(sequence);
    if (known !== undefined) {
      this.#update(known, claims, token);
      if (endsAt > 0) known.endBy(this.#evidence.localMs(endsAt));
      return;
    }
    const grant = { sequence, task: taskOf(call), token, claims, endsAt };
    this.#take(grant, call?.isLeft ? "released" : undefined);
  }

  #update(belief: Belief, claims: readonly BeliefClaim[], token: number): void {
    belief.token = token;
    let isStronger = false;
    for (const { key, mode } of claims) {
      const known = belief.claimOf(key);
      if (known === undefined || known.mode === mode) continue;
      known.mode = mode;
      isStronger ||= mode === "exclusive";
    }
    if (isStronger && belief.isTrusted) this.#watch.onBelief(belief);
  }

  #take({ sequence, task, token, claims, endsAt }: Grant, givenUp: Belief["givenUp"]): void {
    const { session } = this.#client;
    const belief = new Belief(this.#client, { session, sequence, task }, token, claims);
    belief.givenUp = givenUp;
    if (endsAt > 0) belief.endBy(this.#evidence.localMs(endsAt));
    this.#holds.add(belief);
    if (belief.givenUp === undefined) this.count += 1;
    this.#watch.onBelief(belief);
  }
}

/** Whether a key is being made shared, which the table may not have done yet. */
function isLowering(calls: ClientCalls, target: number, key: string): boolean {
  return calls.all.some(({ wish }) => {
    if (wish.op !== OP.downgrade || wish.target !== target) return false;
    return wish.key === undefined || wish.key === key;
  });
}

function taskOf(call: Call | undefined): number {
  const wish = call?.wish;
  return wish?.op === OP.acquire || wish?.op === OP.adopt ? wish.task : 0;
}
