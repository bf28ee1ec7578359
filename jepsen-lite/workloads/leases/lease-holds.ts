/**
 * Leases as holds of a history. To the model a lease is a hold of a session of its own, which nothing
 * but its release and its deadline ends; its token and the deadline that its owner learned are like
 * a lock's.
 */
import { HoldfastError, type ReleaseResult } from "../../sdk.js";
import { noteRenewal } from "../lock-operations.js";
import type { PlainWorker } from "../workload.js";
import type { GrantedLease, LeaseRoad, LeaseWish } from "./lease-roads.js";
import { LeasedLock } from "./leased-lock.js";

/** Apart from the sessions of clients, whose numbers are places in the log. */
const LEASE_SESSIONS = 1e12;

export function leaseSession(worker: PlainWorker): number {
  return LEASE_SESSIONS + worker.unique();
}

/** A lease in the history. */
export interface OwnLease {
  readonly key: string;
  readonly owner: string;
  readonly session: number;
  readonly lock: LeasedLock;
}

export async function taking(key: string, road: LeaseRoad, wish: LeaseWish): Promise<LeasedLock> {
  const { lease, untilMs } = await timed(() => road.take(key, wish));
  return leasedLock(lease.token, untilMs, () => road.giveBack(key, wish.owner));
}

/** `giveBack`: resolves to why there was nothing to give back, if so. */
export function leasedLock(
  token: number,
  untilMs: number,
  giveBack: () => Promise<string | undefined>,
): LeasedLock {
  const giving = async (): Promise<ReleaseResult> =>
    (await giveBack()) === undefined ? { released: true } : { released: false, reason: "unknown" };
  return new LeasedLock({ token, untilMs, giveBack: giving });
}

/** Its answer says whether the token is current, and is recorded as that. */
export async function extend(
  worker: PlainWorker,
  road: LeaseRoad,
  { key, owner, lock, session }: OwnLease,
  ttlMs: number,
): Promise<void> {
  const { token } = lock;
  const extending = async () => {
    try {
      const { lease, untilMs } = await timed(() => road.extend(key, owner, ttlMs));
      lock.extend(untilMs);
      return { current: lease.token === token };
    } catch (error) {
      if (error instanceof HoldfastError && error.code === "NOT_HELD") return { current: false };
      throw error;
    }
  };
  const answer = await worker.record({ f: "verify", key, value: { token }, session }, extending);
  if (answer?.current === true) noteRenewal(worker, lock);
}

/** Resolves to whether it was certainly given back. */
export async function giveBack(
  worker: PlainWorker,
  { key, lock, session }: Omit<OwnLease, "owner">,
): Promise<boolean> {
  const { token, remainingMs } = lock;
  const untilMs = performance.now() + remainingMs;
  const giving = async () => {
    const result = await lock.release();
    // The answer names no token: later it may be about another lease of this owner.
    if (result.released && performance.now() < untilMs) return result;
    // An earlier end, by time or by a request without an answer: either is possible.
    const details = { indeterminate: true };
    throw new HoldfastError("UNAVAILABLE", "not known to be given back", { details });
  };
  const operation = { f: "release", key, value: { token }, session };
  return (await worker.record(operation, giving)) !== undefined;
}

/** What its owner may rely on counts from before the request was sent. */
async function timed(
  ask: () => Promise<GrantedLease>,
): Promise<{ readonly lease: GrantedLease; readonly untilMs: number }> {
  const askedMs = performance.now();
  const lease = await ask();
  return { lease, untilMs: askedMs + lease.trustMs };
}

/** The error of a request of which an earlier copy may still be carried out. */
export function unknownAfter({ code, message, details }: HoldfastError): HoldfastError {
  return new HoldfastError(code, message, { details: { ...details, indeterminate: true } });
}
