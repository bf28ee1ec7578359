/**
 * The take of `holdfast lease take`. If the session of the wait is lost, the same request is asked
 * again: it finds what it may have got meanwhile, or waits at the end of the queue. It resolves to a
 * lease that lasts for a while from now, however long the wait was.
 */
import { HoldfastError } from "../../src/errors/index.js";
import type { Client, Lease, TakeLeaseOptions } from "../../src/index.js";
import { note } from "../output/terminal.js";
import { unlessEndless } from "../run/nested-wait.js";
import type { RequestPlan } from "../run/run-plan.js";
import { hasLostItsPlace, remainingWaitMs, waitFailure } from "../run/wait-for-lock.js";

export interface TakePlan extends RequestPlan {
  readonly keys: readonly string[];
  readonly owner: string;
  readonly request: string;
  readonly holder: string;
  /** 0: without end. */
  readonly ttlMs: number;
  readonly conflictExitCode: number;
}

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
  signal: AbortSignal,
  sinceMs: number,
): Promise<TakenLease> {
  return unlessEndless(client, plan, signal, (until) => takeUntil(client, plan, until, sinceMs));
}

async function takeUntil(
  client: Client,
  plan: TakePlan,
  signal: AbortSignal,
  sinceMs: number,
): Promise<TakenLease> {
  const { owner, request, holder: name, ttlMs, keys } = plan;
  for (;;) {
    const begunMs = performance.now();
    const waitMs = remainingWaitMs(plan, begunMs - sinceMs);
    const wish: TakeLeaseOptions = { ...plan.options, owner, request, name, ttlMs, signal, waitMs };
    try {
      const { token, slots, trustMs } = await client.leases.take(plan.items, wish);
      const restMs = trustMs - (performance.now() - begunMs);
      if (restMs >= ttlMs * SHORT) return { token, slots, trustMs: restMs };
      return { token, slots, trustMs: await renewed(client, { owner, keys, ttlMs }) };
    } catch (error) {
      if (!hasLostItsPlace(error)) throw waitFailure(error, plan) ?? error;
      if (!(error instanceof HoldfastError)) throw error;
      note(`${error.message}: asking again`);
    }
  }
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
