/**
 * The take of `holdfast lease take`. If the session of the wait is lost, the same request is asked
 * again: it finds what it may have got meanwhile, or waits at the end of the queue. It resolves to a
 * lease that lasts for a while from now, however long the wait was.
 */
import type { Client, Lease, TakeLeaseOptions } from "../../src/index.js";
import type { NodeAccess } from "../config/command-options.js";
import { waitFor } from "../run/wait-for-lock.js";
import type { WaitPlan } from "../run/wait-notices.js";

export type TakePlan = WaitPlan & {
  readonly keys: readonly string[];
  readonly owner: string;
  readonly request: string;
  readonly holder: string;
  /** 0: without end. */
  readonly ttlMs: number;
};

export interface TakenLease extends Pick<Lease, "token" | "slots"> {
  /** For how long from now it can be relied on. */
  readonly trustMs: number;
}

/** Less than this part of a lease is renewed before it is handed out. */
const SHORT = 0.5;

/** `sinceMs`: when the command began to look for a node, which is when `--wait` begins. */
export function takeLease(
  client: Client,
  plan: TakePlan,
  access: NodeAccess,
  signal: AbortSignal,
  sinceMs: number,
): Promise<TakenLease> {
  const { owner, request, holder: name, ttlMs, keys } = plan;
  const ask = async (waitMs: number | undefined, until: AbortSignal): Promise<TakenLease> => {
    const begunMs = performance.now();
    const names = { owner, request, name, ttlMs };
    const wish: TakeLeaseOptions = { ...plan.options, ...names, signal: until, waitMs };
    const { token, slots, trustMs } = await client.leases.take(plan.items, wish);
    const restMs = trustMs - (performance.now() - begunMs);
    if (restMs >= ttlMs * SHORT) return { token, slots, trustMs: restMs };
    return { token, slots, trustMs: await renewed(client, { owner, keys, ttlMs }) };
  };
  const lostPlace =
    `the cluster heard nothing from here for too long: the place in the queue of ${plan.name} may be ` +
    "lost, asking again";
  return waitFor({ client, access, plan }, { ask, lostPlace }, signal, sinceMs);
}

/** After a long wait, little may be left of what can be trusted. */
async function renewed(
  client: Client,
  { owner, keys, ttlMs }: Pick<TakePlan, "owner" | "keys" | "ttlMs">,
): Promise<number> {
  const begunMs = performance.now();
  const extended = await client.leases.extend(keys, { owner, ttlMs });
  const trustMs = Math.min(...extended.map((each) => each.trustMs));
  return trustMs - (performance.now() - begunMs);
}
