/**
 * Locks of sessions and leases of named owners on the same keys: each round takes the lock by a
 * session, by the SDK's leases, or by plain HTTP, and holds it for a good part of its lease. Leases
 * are repeated, extended, given back, and left to end by themselves. To the model a lease is a hold
 * of a session of its own, which nothing but its release and its deadline ends.
 */
import { HoldfastError } from "../sdk.js";
import {
  type GrantedLease,
  httpRoad,
  type LeaseRoad,
  type LeaseWish,
  sdkRoad,
} from "./lease-roads.js";
import { LeasedLock } from "./leased-lock.js";
import { acquire, grantOf, hold, noteLoss, noteRenewal, release } from "./lock-operations.js";
import type { PlainTask, Task, Workload } from "./workload.js";

export const leases: Workload = {
  name: "leases",
  about: "sessions, leases of the SDK and leases by HTTP on the same keys, held for long",
  model: "lock",
  compares: ["exactly-once"],
  async step(task) {
    const kind = task.random.pick(["session", "sdk", "http", "http"] as const);
    if (kind === "session") await plainRound(task);
    else await leaseRound(task, kind === "sdk" ? sdkRoad(task.client) : httpRoad(task));
  },
  plainStep: plainRound,
};

const WAITS_MS = [0, 500, 2_000] as const;
const MOMENT_MS = 20;
/** Tries of one request, each of which finds what an earlier one has done. */
const TRIES_MAX = 3;
/** Apart from the sessions of clients, whose numbers are places in the log. */
const LEASE_SESSIONS = 1e12;

/** With a lock of the client itself. */
async function plainRound(task: PlainTask): Promise<void> {
  const { locks, random } = task;
  const key = random.pick(task.keys);
  const wish = { waitMs: random.pick(WAITS_MS) };
  const lock = await acquire(task, key, wish, () => locks.acquire(key, wish));
  if (lock === undefined) return;
  await hold(task, lock, holdMs(task));
  await release(task, lock, key);
}

async function leaseRound(task: Task, road: LeaseRoad): Promise<void> {
  const { random, ttlMs } = task;
  const key = random.pick(task.keys);
  const number = task.unique();
  const owner = `jepsen-${number}`;
  const waitMs = random.pick(WAITS_MS);
  const wish = { owner, request: `${owner}-take`, ttlMs, waitMs };
  const session = LEASE_SESSIONS + number;
  const taken = await task.record(
    { f: "acquire", key, value: { waitMs, ttlMs }, session },
    () => repeated(() => taking(key, road, wish)),
    (lock) => grantOf(task, lock),
  );
  if (taken === undefined) return;
  noteLoss(task, taken, key);
  const first = { task, road, key, owner, lock: taken, session };
  const lease = random.chance(0.2) ? await takenAgain(first, wish) : first;
  await hold(task, lease.lock, holdMs(task) / 2);
  if (random.chance(0.4)) await extend(lease);
  await hold(task, lease.lock, holdMs(task) / 2);
  // Left alone, as by an owner that is gone.
  if (random.chance(0.1)) return;
  await giveBack(lease);
}

interface OwnLease {
  readonly task: Task;
  readonly road: LeaseRoad;
  readonly key: string;
  readonly owner: string;
  readonly lock: LeasedLock;
  readonly session: number;
}

/** Often for a moment, so that much is granted, and often for most of the lease. */
function holdMs({ random, ttlMs }: PlainTask): number {
  return random.integer(0, random.chance(0.5) ? MOMENT_MS : Math.floor(0.7 * ttlMs));
}

async function taking(key: string, road: LeaseRoad, wish: LeaseWish): Promise<LeasedLock> {
  const { lease, untilMs } = await timed(() => road.take(key, wish));
  const giveBack = async () => {
    const reason = await road.giveBack(key, wish.owner);
    return reason === undefined
      ? ({ released: true } as const)
      : ({ released: false, reason: "unknown" } as const);
  };
  return new LeasedLock({ token: lease.token, untilMs, giveBack });
}

/**
 * Repeating the request finds the same lease while it lasts. After that it gets another one, which is
 * then the owner's; the checker decides whether the first had ended.
 */
async function takenAgain(first: OwnLease, wish: LeaseWish): Promise<OwnLease> {
  const { task, road, key, lock } = first;
  const again = await taking(key, road, wish).catch(ignoreFailure);
  if (again === undefined) return first;
  if (again.token === lock.token) {
    lock.extend(performance.now() + again.remainingMs);
    noteRenewal(task, lock);
    return first;
  }
  const session = first.session + LEASE_SESSIONS;
  const value = { waitMs: wish.waitMs, ttlMs: wish.ttlMs };
  const operation = { f: "acquire", key, value, session };
  await task.record(
    operation,
    async () => again,
    (granted) => grantOf(task, granted),
  );
  noteLoss(task, again, key);
  return { ...first, lock: again, session };
}

/** Its answer says whether the token is current, and is recorded as that. */
async function extend({ task, road, key, owner, lock, session }: OwnLease): Promise<void> {
  const { token } = lock;
  const extending = async () => {
    try {
      const { lease, untilMs } = await timed(() => road.extend(key, owner, task.ttlMs));
      lock.extend(untilMs);
      return { current: lease.token === token };
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "NOT_HELD") return { current: false };
      throw error;
    }
  };
  const answer = await task.record({ f: "verify", key, value: { token }, session }, extending);
  if (answer?.current === true) noteRenewal(task, lock);
}

async function giveBack({ task, key, lock, session }: OwnLease): Promise<void> {
  const { token } = lock;
  const giving = async () => {
    const result = await lock.release();
    if (result.released) return result;
    // An earlier end, by time or by a request without an answer: either is possible.
    const details = { indeterminate: true };
    throw new HoldfastError("UNAVAILABLE", "there was nothing to give back", { details });
  };
  await task.record({ f: "release", key, value: { token }, session }, giving);
}

/** What its owner may rely on counts from before the request was sent. */
async function timed(
  ask: () => Promise<GrantedLease>,
): Promise<{ readonly lease: GrantedLease; readonly untilMs: number }> {
  const askedMs = performance.now();
  const lease = await ask();
  return { lease, untilMs: askedMs + lease.trustMs };
}

/** Repeats what has an unknown outcome: that is what a repeat is for. */
async function repeated<T>(act: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await act();
    } catch (error) {
      const isUnknown = error instanceof HoldfastError && error.details["indeterminate"] === true;
      if (!isUnknown || tries >= TRIES_MAX) throw error;
    }
  }
}

/** The lease is there or not; the rounds after this show which. */
function ignoreFailure(error: unknown): undefined {
  if (!(error instanceof HoldfastError)) throw error;
}
