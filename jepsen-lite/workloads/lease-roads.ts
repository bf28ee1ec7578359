/**
 * The roads by which a lease of a named owner is taken, extended and given back: the SDK, and plain
 * HTTP at any node. Both fail with the errors of the SDK, so that outcomes are judged alike.
 */
import { type Client, type ErrorCode, HoldfastError } from "../sdk.js";
import type { Task } from "./workload.js";

export interface LeaseWish {
  readonly owner: string;
  readonly request: string;
  readonly ttlMs: number;
  readonly waitMs: number;
}

export interface GrantedLease {
  readonly token: number;
  /** Since the beginning of the call: as long as its owner may rely on it. */
  readonly trustMs: number;
}

export interface LeaseRoad {
  take(key: string, wish: LeaseWish): Promise<GrantedLease>;
  extend(key: string, owner: string, ttlMs: number): Promise<GrantedLease>;
  /** `undefined`: given back; else why there was nothing to give back. */
  giveBack(key: string, owner: string): Promise<string | undefined>;
}

export function sdkRoad({ leases }: Client): LeaseRoad {
  return {
    take: (key, wish) => leases.take(key, wish),
    async extend(key, owner, ttlMs) {
      const [lease] = await leases.extend(key, { owner, ttlMs });
      if (lease === undefined) throw new RangeError("an extend without a lease");
      return lease;
    },
    async giveBack(key, owner) {
      const { count, reason } = await leases.giveBack(key, { owner });
      return count > 0 ? undefined : (reason ?? "unknown");
    },
  };
}

/** Longer than an election, and short enough for a run to end. */
const ANSWER_MS_MAX = 3_000;
const QUEUED = 202;
const OUTCOME_UNKNOWN = 504;

/** At one node, which any of them may be: they all serve. */
export function httpRoad(task: Task): LeaseRoad {
  const endpoint = task.random.pick(task.endpoints);
  const ask = async (method: string, path: string, wish: AskWish): Promise<JsonAnswer> => {
    const { owner, request, waitMs = 0 } = wish;
    const { accessToken } = task;
    const headers = {
      "Holdfast-Owner": owner,
      ...(request === undefined ? {} : { "Idempotency-Key": request }),
      ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
    };
    const signal = AbortSignal.timeout(waitMs + ANSWER_MS_MAX);
    try {
      const response = await fetch(`http://${endpoint}${path}`, { method, headers, signal });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      throw unanswered(error);
    }
  };
  return {
    async take(key, wish) {
      const query = new URLSearchParams({ key, ttl: `${wish.ttlMs}ms`, wait: `${wish.waitMs}ms` });
      return leaseIn(await ask("PUT", `/v1/lock?${query}`, wish));
    },
    async extend(key, owner, ttlMs) {
      const query = new URLSearchParams({ key, ttl: `${ttlMs}ms` });
      return leaseIn(await ask("POST", `/v1/lock/extend?${query}`, { owner }));
    },
    async giveBack(key, owner) {
      const answer = await ask("DELETE", `/v1/lock?${new URLSearchParams({ key })}`, { owner });
      const { released, reason } = successIn<{ released: boolean; reason: string | null }>(answer);
      return released ? undefined : (reason ?? "unknown");
    },
  };
}

interface AskWish extends Partial<Pick<LeaseWish, "request" | "waitMs">> {
  readonly owner: string;
}

interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface ProblemBody {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function leaseIn(answer: JsonAnswer): GrantedLease {
  // It waits in the queue for a grace, and nobody repeats the request: what it gets is given back.
  if (answer.status === QUEUED) throw unanswered("still in the queue");
  return successIn<GrantedLease>(answer);
}

function successIn<T>({ status, body }: JsonAnswer): T {
  if (status === 200) return body as T;
  const { code, detail, details = {} } = body as ProblemBody;
  const unknown = status === OUTCOME_UNKNOWN ? { indeterminate: true } : {};
  throw new HoldfastError(code, detail, { details: { ...details, ...unknown } });
}

/** The request may have been carried out, or may still be. */
function unanswered(cause: unknown): HoldfastError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new HoldfastError("UNAVAILABLE", why, { details: { indeterminate: true }, cause });
}
