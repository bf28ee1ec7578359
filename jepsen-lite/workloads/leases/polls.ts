/**
 * Long polls by plain HTTP. A take waits in the queue for longer than one poll lasts, and its caller
 * sends it again at another node: at once, late within the grace, with another TTL, twice at the same
 * time as by a proxy that hedges, or not at all. What a caller has left is granted to nobody.
 *
 * A copy of a request that is still on its way may take again what was given up by its end. So a lease
 * whose request was answered less often than it was sent is given back, after which the cluster refuses
 * such copies. Where that has no answer either, the history has one more request that may be granted.
 */
import { HoldfastError } from "../../sdk.js";
import { grantOf, hold, noteLoss, noteRenewal } from "../lock-operations.js";
import { inspect } from "../watching.js";
import type { Worker, Workload } from "../workload.js";
import {
  extend,
  giveBack,
  leasedLock,
  leaseSession,
  type OwnLease,
  unknownAfter,
} from "./lease-holds.js";
import { type GrantedLease, httpRoad, type LeaseWish, takeBy } from "./lease-roads.js";

const KEYS_MAX = 2;
const POLL_MS = 1_000;
/** Shorter than the grace in which a wait keeps its place without its caller. */
const PAUSE_MS_MAX = 1_500;
const WAITS_MS = [500, 2_500, 5_000] as const;
/** Relative to the lease of the run: repeats with another one. */
const TTL_SHARES = [1, 1, 0.6, 1.5] as const;
const TRIES_MAX = 8;

export const polls: Workload = {
  name: "polls",
  about: "long polls by HTTP, repeated at other nodes, with other TTLs, twice, or never",
  model: "lock",
  compares: ["exactly-once", "denials"],
  workersMax: 2,
  async step(worker) {
    const { random } = worker;
    const key = random.pick(worker.keys.slice(0, KEYS_MAX));
    const session = leaseSession(worker);
    const name = `m${session}`;
    const waitMs = random.pick(WAITS_MS);
    const wish = { owner: name, request: `${name}-take`, name, ttlMs: worker.ttlMs, waitMs };
    const round = new PollRound(worker, key, wish);
    const lock = await worker.record(
      { f: "acquire", key, value: { waitMs, ttlMs: ttlMsMax(worker), mark: name }, session },
      () => round.take(),
      (granted) => grantOf(worker, granted),
    );
    if (lock === undefined) {
      if (random.chance(0.3)) await inspect(worker, key);
      return;
    }
    noteLoss(worker, lock, key);
    await use(worker, round, { key, owner: name, session, lock });
  },
};

async function use(worker: Worker, round: PollRound, first: OwnLease): Promise<void> {
  const { random } = worker;
  await hold(worker, first.lock, random.integer(0, 300));
  const lease = random.chance(0.4) ? await round.takeAgain(first) : first;
  if (random.chance(0.3)) await extend(worker, httpRoad(worker), lease, someTtlMs(worker));
  await hold(worker, lease.lock, random.integer(0, 300));
  // Left alone, as by an owner that is gone.
  if (!round.isDoubtful && random.chance(0.1)) return;
  const isGivenBack = await giveBack(worker, lease);
  if (isGivenBack || !round.isDoubtful) return;
  const { key } = lease;
  const value = { waitMs: 0, ttlMs: ttlMsMax(worker) };
  const copy = { f: "acquire", key, value, session: leaseSession(worker) };
  await worker.record(copy, () => Promise.reject(stillOnItsWay()));
}

class PollRound {
  readonly #worker: Worker;
  readonly #key: string;
  readonly #wish: LeaseWish;
  readonly #endMs: number;
  /** Whether a copy of the request may still be on its way. */
  isDoubtful = false;
  /** Between two polls it may have been granted, and given back when its grace was over. */
  #wasQueued = false;

  constructor(worker: Worker, key: string, wish: LeaseWish) {
    this.#worker = worker;
    this.#key = key;
    this.#wish = wish;
    this.#endMs = performance.now() + wish.waitMs;
  }

  /** Sends the request until it has an outcome, or its caller leaves. */
  async take() {
    const { random } = this.#worker;
    for (let tries = 1; ; tries += 1) {
      const begunMs = performance.now();
      const answer = await this.#poll().catch((error: unknown) => this.#failed(error, tries));
      if (typeof answer === "object") return this.#lockOf(answer, begunMs);
      // Never repeated: its grace ends, and what it got by then is given back.
      if (random.chance(0.1)) throw stillOnItsWay();
      if (answer !== "queued") continue;
      this.#wasQueued = true;
      await this.#worker.sleep(random.pick([0, 0, PAUSE_MS_MAX]));
    }
  }

  /** The same request finds the same lease while it lasts, whatever TTL it names; else another one. */
  async takeAgain(first: OwnLease): Promise<OwnLease> {
    const begunMs = performance.now();
    const wish = { ...this.#wish, ttlMs: someTtlMs(this.#worker), waitMs: 0 };
    const taking = takeBy(this.#worker, this.#someNode(), this.#key, wish);
    const again = await taking.catch((error: unknown) => this.#unanswered(error));
    if (again === undefined || again === "queued") return first;
    if (again.token === first.lock.token) {
      first.lock.extend(begunMs + again.trustMs);
      noteRenewal(this.#worker, first.lock);
      return first;
    }
    const { key } = first;
    const lock = this.#lockOf(again, begunMs);
    const session = leaseSession(this.#worker);
    const value = { waitMs: 0, ttlMs: ttlMsMax(this.#worker), mark: this.#wish.name };
    await this.#worker.record(
      { f: "acquire", key, value, session },
      async () => lock,
      (granted) => grantOf(this.#worker, granted),
    );
    noteLoss(this.#worker, lock, key);
    return { ...first, session, lock };
  }

  #unanswered(error: unknown): undefined {
    if (!(error instanceof HoldfastError)) throw error;
    if (error.details["indeterminate"] === true) this.isDoubtful = true;
  }

  /** Now and then two copies at once, of which the later one gets the place of the earlier one. */
  async #poll(): Promise<GrantedLease | "queued"> {
    const { random } = this.#worker;
    const restMs = Math.max(0, Math.round(this.#endMs - performance.now()));
    const wish = { ...this.#wish, ttlMs: someTtlMs(this.#worker), waitMs: restMs };
    const one = () => takeBy(this.#worker, this.#someNode(), this.#key, wish, POLL_MS);
    if (random.chance(0.8)) return one();
    const [first, second] = await Promise.allSettled([one(), one()]);
    const isAnswered = [first, second].every((each) => !isUnknown(each));
    if (!isAnswered) this.isDoubtful = true;
    for (const each of [first, second]) {
      if (each.status === "fulfilled" && each.value !== "queued") return each.value;
    }
    for (const each of [first, second]) if (each.status === "fulfilled") return each.value;
    throw (second as PromiseRejectedResult).reason;
  }

  /** What comes again: the place that a copy has taken, and what has no answer. */
  #failed(error: unknown, tries: number): "again" {
    if (!(error instanceof HoldfastError)) throw error;
    const isCopy = error.code === "CANCELLED";
    const isUnanswered = error.details["indeterminate"] === true || error.code === "INTERNAL";
    if (isCopy || isUnanswered) this.isDoubtful = true;
    const isOver = this.#worker.signal.aborted || tries >= TRIES_MAX;
    if ((isCopy || isUnanswered) && !isOver) return "again";
    throw this.isDoubtful || this.#wasQueued ? unknownAfter(error) : error;
  }

  #lockOf({ token, trustMs }: GrantedLease, begunMs: number) {
    const { owner } = this.#wish;
    const giving = () => httpRoad(this.#worker).giveBack(this.#key, owner);
    return leasedLock(token, begunMs + trustMs, giving);
  }

  #someNode(): string {
    return this.#worker.random.pick(this.#worker.endpoints);
  }
}

function isUnknown(result: PromiseSettledResult<unknown>): boolean {
  if (result.status === "fulfilled") return false;
  const { reason } = result;
  return !(reason instanceof HoldfastError) || reason.details["indeterminate"] === true;
}

function someTtlMs(worker: Worker): number {
  return Math.round(worker.ttlMs * worker.random.pick(TTL_SHARES));
}

function ttlMsMax({ ttlMs }: Worker): number {
  return Math.round(ttlMs * Math.max(...TTL_SHARES));
}

function stillOnItsWay(): HoldfastError {
  return new HoldfastError("UNAVAILABLE", "a copy may still be on its way", {
    details: { indeterminate: true },
  });
}
