/**
 * Locks of sessions and leases of named owners on the same keys: each round takes the lock by a
 * session, by the SDK's leases, or by plain HTTP, and holds it for a good part of its lease. Leases
 * are repeated, extended, given back, and left to end by themselves.
 */
import { HoldfastError } from "../../sdk.js";
import { acquire, grantOf, hold, noteLoss, noteRenewal, release } from "../lock-operations.js";
import type { PlainWorker, Worker, Workload } from "../workload.js";
import {
  extend,
  giveBack,
  leaseSession,
  type OwnLease,
  taking,
  unknownAfter,
} from "./lease-holds.js";
import { httpRoad, type LeaseRoad, type LeaseWish, sdkRoad } from "./lease-roads.js";

export const leases: Workload = {
  name: "leases",
  about: "sessions, leases of the SDK and leases by HTTP on the same keys, held for long",
  model: "lock",
  compares: ["exactly-once"],
  async step(worker) {
    const kind = worker.random.pick(["session", "sdk", "http", "http"] as const);
    if (kind === "session") await plainRound(worker);
    else await leaseRound(worker, kind === "sdk" ? sdkRoad(worker.client) : httpRoad(worker));
  },
  plainStep: plainRound,
};

const WAITS_MS = [0, 500, 2_000] as const;
const MOMENT_MS = 20;
/** Tries of one request, each of which finds what an earlier one has done. */
const TRIES_MAX = 3;

/** With a lock of the client itself. */
async function plainRound(worker: PlainWorker): Promise<void> {
  const { locks, random } = worker;
  const key = random.pick(worker.keys);
  const wish = { waitMs: random.pick(WAITS_MS) };
  const lock = await acquire(worker, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await hold(worker, lock, holdMs(worker));
  await release(worker, lock, key);
}

async function leaseRound(worker: Worker, road: LeaseRoad): Promise<void> {
  const { random, ttlMs } = worker;
  const key = random.pick(worker.keys);
  const session = leaseSession(worker);
  const owner = `jepsen-${session}`;
  const waitMs = random.pick(WAITS_MS);
  const wish = { owner, request: `${owner}-take`, ttlMs, waitMs };
  const taken = await worker.record(
    { f: "acquire", key, value: { waitMs, ttlMs }, session },
    () => repeated(() => taking(key, road, wish)),
    (lock) => grantOf(worker, lock),
  );
  if (taken === undefined) return;
  noteLoss(worker, taken, key);
  const first = { key, owner, session, lock: taken };
  const lease = random.chance(0.2) ? await takenAgain(worker, road, first, wish) : first;
  await hold(worker, lease.lock, holdMs(worker) / 2);
  if (random.chance(0.4)) await extend(worker, road, lease, ttlMs);
  await hold(worker, lease.lock, holdMs(worker) / 2);
  // Left alone, as by an owner that is gone.
  if (random.chance(0.1)) return;
  await giveBack(worker, lease);
}

/** Often for a moment, so that much is granted, and often for most of the lease. */
function holdMs({ random, ttlMs }: PlainWorker): number {
  return random.integer(0, random.chance(0.5) ? MOMENT_MS : Math.floor(0.7 * ttlMs));
}

/**
 * Repeating the request finds the same lease while it lasts. After that it gets another one, which is
 * then the owner's; the checker decides whether the first had ended.
 */
async function takenAgain(
  worker: Worker,
  road: LeaseRoad,
  first: OwnLease,
  wish: LeaseWish,
): Promise<OwnLease> {
  const { key, lock } = first;
  const again = await taking(key, road, wish).catch(ignoreFailure);
  if (again === undefined) return first;
  if (again.token === lock.token) {
    lock.extend(performance.now() + again.remainingMs);
    noteRenewal(worker, lock);
    return first;
  }
  const session = leaseSession(worker);
  const value = { waitMs: wish.waitMs, ttlMs: wish.ttlMs };
  const operation = { f: "acquire", key, value, session };
  await worker.record(
    operation,
    async () => again,
    (granted) => grantOf(worker, granted),
  );
  noteLoss(worker, again, key);
  return { ...first, lock: again, session };
}

/**
 * Repeats what has an unknown outcome: that is what a repeat is for. A refusal of the repeat says
 * nothing of a copy that is still on its way.
 */
async function repeated<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      if (error.details["indeterminate"] === true && tries < TRIES_MAX) continue;
      throw tries === 1 ? error : unknownAfter(error);
    }
  }
}

/** The lease is there or not; the rounds after this show which. */
function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof HoldfastError)) throw error;
}
