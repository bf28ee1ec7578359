/**
 * The wait of a command for its lock or lease: with its limit and its exit codes. What is said about
 * it is in `wait-words.ts`, and when, in `wait-notices.ts`.
 */
import { HoldfastError } from "../../src/errors/index.js";
import type { Client, KeyView, Lock } from "../../src/index.js";
import { askService, type OutageOptions } from "../cluster/cluster-outage.js";
import type { ClusterAccess } from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import { formatDuration } from "../text/durations.js";
import { unlessEndless } from "./nested-wait.js";
import type { RunPlan } from "./run-plan.js";
import { obstacleOf, tellWaits, viewsOf, type WaitContext, type WaitPlan } from "./wait-notices.js";
import { refusedText } from "./wait-words.js";

/** How long after the deadline the cluster's own answer is awaited. */
const ANSWER_MS_MAX = 2_000;
/** How long a cluster may take to answer with `-n`: an election ends within that. */
const NO_WAIT_MS = 10_000;
/** The longest time a timer of the platform can take. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Codes of a search that ended without a session, and may succeed later. */
const FOR_NOW: ReadonlySet<string> = new Set(["UNAVAILABLE", "DISK_FULL", "BUSY"]);

/** What messages about a wait need to know of it. */
type Waiting = Pick<WaitPlan, "name" | "waitMs">;

/** `access` with a search for a node that takes no longer than the whole may take. */
export function accessWithin(
  { waitMs }: Pick<RunPlan, "waitMs">,
  access: ClusterAccess,
): ClusterAccess {
  const wholeMs = waitMs === 0 ? NO_WAIT_MS : (waitMs ?? Number.POSITIVE_INFINITY);
  return { ...access, connectTimeoutMs: Math.min(access.connectTimeoutMs, wholeMs) };
}

/**
 * With `-n` the search for a node ends, by the signal, as soon as it is clear that there is none.
 */
export class NodeSearch {
  readonly #nobody = new AbortController();
  readonly signal: AbortSignal;
  readonly outage: OutageOptions;

  constructor({ waitMs, isQuiet }: Pick<RunPlan, "waitMs" | "isQuiet">, signal: AbortSignal) {
    this.signal = AbortSignal.any([signal, this.#nobody.signal]);
    const end = (outage: string): void => {
      this.#nobody.abort(new Failure(EXIT.noCluster, outage));
    };
    this.outage = { isQuiet, onAllRefused: waitMs === 0 ? end : undefined };
  }
}

/**
 * Waits for `work`, which connects first. If `--wait` ended the search although the cluster serves,
 * the lock was not granted in time; if no node serves, that is the reason.
 */
export async function connectedWithin<T>(
  work: Promise<T>,
  plan: Waiting,
  access: ClusterAccess,
): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const { waitMs = 0 } = plan;
    const isOver = waitMs > 0 && waitMs < access.connectTimeoutMs;
    if (!(error instanceof HoldfastError) || !FOR_NOW.has(error.code) || !isOver) throw error;
    const { outage, refusal } = await askService(access);
    throw outage === undefined ? timedOut(plan, refusal) : error;
  }
}

/** `sinceMs`: when the command began to look for a node, which is when `--wait` begins. */
export function waitForLock(
  client: Client,
  plan: RunPlan,
  access: ClusterAccess,
  signal: AbortSignal,
  sinceMs: number,
): Promise<Lock> {
  const ask = (waitMs: number | undefined, until: AbortSignal): Promise<Lock> => {
    const limit = waitMs === undefined ? {} : { waitMs };
    return client.acquireAll(plan.items, { ...plan.options, signal: until, ...limit });
  };
  return waitFor(
    { client, access, plan },
    { ask, lostPlace: lostPlaceText(plan) },
    signal,
    sinceMs,
  );
}

export interface Asking<T> {
  /** Asks once. `waitMs`: for how long at most; `undefined`: forever. */
  readonly ask: (waitMs: number | undefined, signal: AbortSignal) => Promise<T>;
  /** What is said when its place in the queue was lost. */
  readonly lostPlace: string;
}

/**
 * Fails with the conflict code, 124 or the code of the SDK's error. If a place in the queue is lost
 * because the cluster did not hear from this process for longer than the lease, it waits again at
 * the end of the queue: nothing was held, and the user still wants the lock. It does not if an
 * operator ended the wait.
 */
export function waitFor<T>(
  context: WaitContext,
  asking: Asking<T>,
  signal: AbortSignal,
  sinceMs: number,
): Promise<T> {
  const { client, plan } = context;
  return unlessEndless(client, plan, signal, (until) => waitUntil(context, asking, until, sinceMs));
}

async function waitUntil<T>(
  context: WaitContext,
  { ask, lostPlace }: Asking<T>,
  signal: AbortSignal,
  sinceMs: number,
): Promise<T> {
  const { plan } = context;
  const over = new AbortController();
  if (!plan.isQuiet) void tellWaits(context, over.signal);
  // The cluster counts the wait. If it does not answer at all, this process does.
  const deadline = new AbortController();
  const latestMs = latestEndMs(plan) - (performance.now() - sinceMs);
  const timer = latestMs > TIMER_MS_MAX ? undefined : setTimeout(() => deadline.abort(), latestMs);
  const ended = AbortSignal.any([signal, deadline.signal]);
  try {
    for (;;) {
      try {
        return await ask(remainingWaitMs(plan, performance.now() - sinceMs), ended);
      } catch (error) {
        if (deadline.signal.aborted || !hasLostItsPlace(error)) {
          over.abort();
          throw await explained(error, context, deadline.signal.aborted);
        }
      }
      if (!plan.isQuiet) note(lostPlace);
    }
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** The failure with what is in the way, which the cluster is asked for unless nobody reads it. */
async function explained(
  error: unknown,
  context: WaitContext,
  isUnanswered: boolean,
): Promise<unknown> {
  const { client, plan } = context;
  if (isUnanswered && plan.waitMs === 0) return unanswered(plan);
  const isTimeout = error instanceof HoldfastError && error.code === "LOCK_TIMEOUT";
  if (isTimeout || isUnanswered) {
    return timedOut(plan, plan.isQuiet ? "" : await obstacleOf(context));
  }
  if (!(error instanceof HoldfastError) || plan.isQuiet) return waitFailure(error, plan) ?? error;
  const isClosed = error.code === "LOCK_HELD" && error.details["blockedBy"] === "cooldown";
  return waitFailure(error, plan, isClosed ? await viewsOf(client, plan) : []) ?? error;
}

/** When the wait is ended here. */
function latestEndMs({ waitMs }: Waiting): number {
  return waitMs === 0 ? NO_WAIT_MS : (waitMs ?? Number.POSITIVE_INFINITY) + ANSWER_MS_MAX;
}

/** The rest of `--wait` after `waitedMs`, at least a moment; `undefined`: forever. */
function remainingWaitMs({ waitMs }: Waiting, waitedMs: number): number | undefined {
  if (waitMs === undefined || waitMs === 0) return waitMs;
  return Math.max(1, Math.ceil(waitMs - waitedMs));
}

/** And not because an operator ended the session. */
function hasLostItsPlace(error: unknown): boolean {
  if (!(error instanceof HoldfastError) || error.code !== "SESSION_EXPIRED") return false;
  return error.details["reason"] !== "revoked";
}

function lostPlaceText({ name, ttlMs }: RunPlan): string {
  const lease = formatDuration(ttlMs);
  return (
    `the cluster heard nothing from here for longer than --ttl ${lease}: ` +
    `the place in the queue of ${name} is lost, waiting at the end of the queue`
  );
}

/**
 * What the outcome of a wait means to its user; `undefined`: what the SDK says. `views`: of its keys, if
 * they were read.
 */
function waitFailure(
  error: unknown,
  plan: WaitPlan,
  views: readonly KeyView[] = [],
): Failure | undefined {
  if (!(error instanceof HoldfastError)) return undefined;
  if (error.code === "LOCK_HELD") {
    const text = refusedText(plan.name, error.details, views);
    return new Failure(plan.conflictExitCode, text, { cause: error });
  }
  if (error.code === "LOCK_TIMEOUT") return timedOut(plan);
  if (error.code !== "SESSION_EXPIRED") return undefined;
  const text = `an operator ended the wait for ${plan.name}`;
  return new Failure(EXIT.refused, text, { cause: error });
}

function unanswered({ name }: Waiting): Failure {
  const text = `the cluster did not answer for ${name} within ${formatDuration(NO_WAIT_MS)}`;
  return new Failure(EXIT.noCluster, text);
}

/** `why`: what was in the way; "" if that is not known. */
function timedOut(plan: Waiting, why = ""): Failure {
  const waited = formatDuration(plan.waitMs ?? 0);
  const reason = why === "" ? "" : `: ${why}`;
  return new Failure(EXIT.timedOut, `${plan.name} was not granted within ${waited}${reason}`);
}
