/**
 * What a client makes of grants: holds that it counts on from when it hears of them. A grant that is
 * told late, by a stored reply or a recall, may be over or about to be ended: such a hold is counted on
 * only when the cluster was asked about its token. So is what another process had before.
 */
import { OP, type RecalledToken, type Result, STATUS } from "../../../src/protocol/index.js";
import { Belief } from "./belief.js";
import type { Call } from "./client-calls.js";
import type { ClientHolds } from "./client-holds.js";
import type { ClientWatch } from "./client-watch.js";
import type { Evidence } from "./evidence.js";
import { claimsGranted, type Grant } from "./grant.js";
import { SEEN } from "./seen.js";
import type { SimClient } from "./sim-client.js";

type ResultOf<S extends number> = Extract<Result, { readonly status: S }>;

export class ClientGrants {
  /** How many it began to count on. */
  count = 0;
  readonly #client: SimClient;
  readonly #holds: ClientHolds;
  readonly #evidence: Evidence;
  readonly #watch: ClientWatch;
  /** Of which it must be asked whether they are held, by token. */
  readonly #doubts = new Map<number, Grant>();
  #hasNewDoubts = false;

  constructor(client: SimClient, holds: ClientHolds, evidence: Evidence, watch: ClientWatch) {
    this.#client = client;
    this.#holds = holds;
    this.#evidence = evidence;
    this.#watch = watch;
  }

  get doubtful(): number[] {
    return [...this.#doubts.keys()];
  }

  /** What is to be asked about now, each time that there is something new. */
  takeQuestions(): number[] {
    const isAsked = this.#hasNewDoubts;
    this.#hasNewDoubts = false;
    return isAsked ? this.doubtful : [];
  }

  /** What is held belongs to another process, which has to learn under which tokens. */
  handOver(): void {
    for (const belief of this.#holds.export()) {
      const { token, owner, claims, count, givenUp } = belief;
      const former = [...belief.former, token];
      const isCancelled = givenUp !== undefined;
      this.#doubts.set(token, { token, owner, claims, count, isCancelled, former });
      belief.lapse();
    }
  }

  startAnew(): void {
    this.#doubts.clear();
    this.#hasNewDoubts = false;
  }

  /** It is not held any more. */
  forget(token: number): void {
    this.#doubts.delete(token);
    this.#holds.forget(token);
  }

  /** The outcome of a call. `isLive`: it was asked and answered on this connection. */
  hear(call: Call, result: Result, stamp: number, isLive: boolean): void {
    if (result.status === STATUS.granted) this.#onGranted(call, result, stamp, isLive);
    else if (result.status === STATUS.claimed) this.#onClaimed(call, result, isLive);
    else if (result.status === STATUS.upgraded) this.#onUpgraded(call, result.token, isLive);
  }

  /** What the cluster knows of a token that was asked about. */
  hearOf(recalled: RecalledToken): void {
    const { token } = recalled;
    const doubt = this.#doubts.get(token);
    this.#doubts.delete(token);
    if (!recalled.held) {
      this.#holds.forget(token);
      return;
    }
    const { current, count, endsAt } = recalled;
    const known = this.#holds.of(token);
    if (known !== undefined) {
      if (current > known.token) known.rename(current);
      known.count = count;
      if (endsAt > 0) known.endBy(this.#evidence.localMs(endsAt));
    } else if (doubt !== undefined) {
      if (doubt.former.length > 0 && current !== token) this.#watch.onSeen(SEEN.takenOver);
      this.#take({ ...doubt, token: current, count }, endsAt, true);
    }
  }

  #onGranted(
    { command, isCancelled }: Call,
    result: ResultOf<typeof STATUS.granted>,
    stamp: number,
    isLive: boolean,
  ): void {
    if (command.op !== OP.acquire) return;
    const { token, count = 1 } = result;
    if (result.slots !== undefined) this.#watch.onSeen(SEEN.slots);
    if (count > 1) this.#watch.onSeen(SEEN.countedUp);
    const known = this.#holds.of(token);
    if (known !== undefined) {
      if (isLive) known.count = count;
      if (isCancelled) known.lapse();
      return;
    }
    const { owner, options } = command;
    if (isCancelled) this.#holds.lapseOf(owner);
    const maxHoldMs = options?.maxHoldMs ?? 0;
    const endsAt = maxHoldMs === 0 ? 0 : stamp + maxHoldMs;
    const claims = claimsGranted(command, result);
    this.#take({ token, owner, claims, count, isCancelled, former: [] }, endsAt, isLive);
  }

  #onClaimed({ command }: Call, result: ResultOf<typeof STATUS.claimed>, isLive: boolean): void {
    if (command.op !== OP.claim) return;
    const { token, items, endsAt } = result;
    const claims = items.map(({ key, mode, slots }) => ({ key, mode, slots }));
    const { owner } = command;
    this.#take({ token, owner, claims, count: 1, isCancelled: false, former: [] }, endsAt, isLive);
  }

  #onUpgraded(call: Call, token: number, isLive: boolean): void {
    const { command, isCancelled, isLowered } = call;
    if (command.op !== OP.upgrade) return;
    const belief = this.#holds.of(command.token);
    if (belief === undefined) {
      this.#renewDoubt(command.token, token);
      return;
    }
    belief.rename(token);
    const claim = belief.claimOf(command.key);
    // Told late it may have been taken back; shared is right in any case.
    if (claim === undefined || isCancelled || isLowered || !isLive) return;
    claim.mode = "exclusive";
    if (belief.isTrusted) this.#watch.onBelief(belief);
  }

  /** The call is acknowledged now, and behind that nobody may know the older token any more. */
  #renewDoubt(older: number, token: number): void {
    for (const doubt of this.#doubts.values()) {
      if (doubt.token !== older && !doubt.former.includes(older)) continue;
      if (token <= doubt.token) continue;
      this.#doubts.delete(doubt.token);
      this.#doubts.set(token, { ...doubt, token });
      this.#hasNewDoubts = true;
      return;
    }
  }

  #take(grant: Grant, endsAt: number, isLive: boolean): void {
    const { token, owner, count } = grant;
    // What the process before had is its own under that token, whoever tells of it.
    const former = [...(this.#doubts.get(token)?.former ?? []), ...grant.former];
    if (!isLive) {
      this.#doubts.set(token, { ...grant, former });
      this.#hasNewDoubts = true;
      return;
    }
    const { session } = this.#client;
    const claims = grant.claims.map((claim) => ({ ...claim }));
    const belief = new Belief(this.#client, session, owner, token, claims, count);
    belief.former.push(...former);
    if (endsAt > 0) belief.endBy(this.#evidence.localMs(endsAt));
    this.#holds.add(belief, grant.isCancelled || former.includes(token));
    if (belief.givenUp === undefined) this.count += 1;
    this.#watch.onBelief(belief);
  }
}
