/**
 * The roads by which a lease of a named owner is taken, extended and given back: the SDK, and plain
 * HTTP at any node. Both fail with the errors of the SDK, so that outcomes are judged alike.
 */
import { type Client, type ErrorCode, HoldfastError } from "../../sdk.js";
import type { Worker } from "../workload.js";

export interface LeaseWish {
  readonly owner: string;
  readonly request: string;
  readonly ttlMs: number;
  readonly waitMs: number;
  /** What others see in place of the owner. */
  readonly name?: string;
  /** Aborted when the caller leaves. */
  readonly signal?: AbortSignal;
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
export function httpRoad(worker: Worker): LeaseRoad {
  const endpoint = worker.random.pick(worker.endpoints);
  return {
    async take(key, wish) {
      const answer = await takeBy(worker, endpoint, key, wish);
      // It waits in the queue for a grace, and nobody repeats the request: what it gets is given back.
      if (answer === "queued") throw unanswered("still in the queue");
      return answer;
    },
    async extend(key, owner, ttlMs) {
      const query = new URLSearchParams({ key, ttl: `${ttlMs}ms` });
      const path = `/v1/lock/extend?${query}`;
      return successIn(await ask(worker, endpoint, "POST", path, { owner }));
    },
    async giveBack(key, owner) {
      const path = `/v1/lock?${new URLSearchParams({ key })}`;
      const answer = await ask(worker, endpoint, "DELETE", path, { owner });
      const { released, reason } = successIn<{ released: boolean; reason: string | null }>(answer);
      return released ? undefined : (reason ?? "unknown");
    },
  };
}

/** `queued`: the poll is over, and the request keeps its place for a moment if it is repeated. */
export async function takeBy(
  worker: Worker,
  endpoint: string,
  key: string,
  wish: LeaseWish,
  pollMs?: number,
): Promise<GrantedLease | "queued"> {
  const query = new URLSearchParams({ key, ttl: `${wish.ttlMs}ms`, wait: `${wish.waitMs}ms` });
  if (pollMs !== undefined) query.set("poll", `${pollMs}ms`);
  const answer = await ask(worker, endpoint, "PUT", `/v1/lock?${query}`, wish);
  return answer.status === QUEUED ? "queued" : successIn<GrantedLease>(answer);
}

type AskWish = Pick<LeaseWish, "owner"> & Partial<LeaseWish>;

interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

interface ProblemBody {
  readonly code: ErrorCode;
  readonly detail: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

async function ask(
  { accessToken }: Worker,
  endpoint: string,
  method: string,
  path: string,
  { owner, request, name, waitMs = 0, signal }: AskWish,
): Promise<JsonAnswer> {
  const headers = {
    "Holdfast-Owner": owner,
    ...(request === undefined ? {} : { "Idempotency-Key": request }),
    ...(name === undefined ? {} : { "Holdfast-Name": name }),
    ...(accessToken === undefined ? {} : { Authorization: `Bearer ${accessToken}` }),
  };
  const late = AbortSignal.timeout(waitMs + ANSWER_MS_MAX);
  const ending = signal === undefined ? late : AbortSignal.any([late, signal]);
  try {
    const response = await fetch(`http://${endpoint}${path}`, { method, headers, signal: ending });
    return { status: response.status, body: await response.json() };
  } catch (error) {
    throw unanswered(error);
  }
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
