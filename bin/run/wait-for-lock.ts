/**
 * The wait of `holdfast run` for its lock: with its limit, its exit codes, and on a terminal a line
 * that says what it waits for.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors.js";
import type { Blocker, Client, KeyView, Lock } from "../../src/index.js";
import { keyText, printable } from "../../src/safe-text.js";
import { askOutage, type OutageOptions } from "../cluster/cluster-outage.js";
import type { ClusterAccess } from "../config/command-options.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import { formatDuration } from "../text/durations.js";
import { isAnonymous, withIdentity } from "../text/session-names.js";
import type { RunPlan } from "./run-plan.js";

const NOTICE_AFTER_MS = 1_000;
/** How long after the deadline the cluster's own answer is awaited. */
const ANSWER_MS_MAX = 2_000;
/** How long a cluster may take to answer with `-n`: an election ends within that. */
const NO_WAIT_MS = 10_000;
/** The longest time a timer of the platform can take. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What messages about a wait need to know of it. */
type Waiting = Pick<RunPlan, "name" | "waitMs">;

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
    const isUnavailable = error instanceof HoldfastError && error.code === "UNAVAILABLE";
    const { waitMs = 0 } = plan;
    if (!isUnavailable || waitMs === 0 || waitMs >= access.connectTimeoutMs) throw error;
    const outage = await askOutage(access);
    throw outage === undefined ? timedOut(plan) : error;
  }
}

/**
 * `sinceMs`: when the command began to look for a node, which is when `--wait` begins.
 *
 * Fails with the conflict code, 124 or the code of the SDK's error. If a place in the queue is lost
 * because the cluster did not hear from this process for longer than the lease, it waits again at
 * the end of the queue: nothing was held, and the user still wants the lock. It does not if an
 * operator ended the wait.
 */
export async function waitForLock(
  client: Client,
  plan: RunPlan,
  signal: AbortSignal,
  sinceMs: number,
): Promise<Lock> {
  const over = new AbortController();
  const around = Number(process.env["HOLDFAST_SESSION"] ?? 0);
  const isWorthATurn = process.stderr.isTTY || around > 0;
  if (!plan.isQuiet && isWorthATurn) void announce(client, plan, around, over.signal);
  // The cluster counts the wait. If it does not answer at all, this process does.
  const deadline = new AbortController();
  const latestMs = latestEndMs(plan) - (performance.now() - sinceMs);
  const timer = latestMs > TIMER_MS_MAX ? undefined : setTimeout(() => deadline.abort(), latestMs);
  const ended = AbortSignal.any([signal, deadline.signal]);
  try {
    for (;;) {
      const waitMs = remainingWaitMs(plan, performance.now() - sinceMs);
      try {
        return await client.acquireAll(plan.items, {
          ...plan.options,
          signal: ended,
          ...(waitMs === undefined ? {} : { waitMs }),
        });
      } catch (error) {
        if (deadline.signal.aborted) throw plan.waitMs === 0 ? unanswered(plan) : timedOut(plan);
        if (!hasLostItsPlace(error)) throw waitFailure(error, plan) ?? error;
      }
      if (!plan.isQuiet) note(lostPlaceText(plan));
    }
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** When the wait is ended here. */
function latestEndMs({ waitMs }: RunPlan): number {
  return waitMs === 0 ? NO_WAIT_MS : (waitMs ?? Number.POSITIVE_INFINITY) + ANSWER_MS_MAX;
}

/** The rest of `--wait` after `waitedMs`, at least a moment; `undefined`: for ever. */
export function remainingWaitMs({ waitMs }: Waiting, waitedMs: number): number | undefined {
  if (waitMs === undefined || waitMs === 0) return waitMs;
  return Math.max(1, Math.ceil(waitMs - waitedMs));
}

/** And not because an operator ended the session. */
export function hasLostItsPlace(error: unknown): boolean {
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

/** What the outcome of a wait means to its user; `undefined`: what the SDK says. */
export function waitFailure(
  error: unknown,
  plan: Waiting & Pick<RunPlan, "conflictExitCode">,
): Failure | undefined {
  if (!(error instanceof HoldfastError)) return undefined;
  if (error.code === "LOCK_HELD") {
    const text = whoBlocks(error, plan);
    return new Failure(plan.conflictExitCode, text, { cause: error });
  }
  if (error.code === "LOCK_TIMEOUT") return timedOut(plan);
  if (error.code !== "SESSION_EXPIRED") return undefined;
  const text = `an operator ended the wait for ${plan.name}`;
  return new Failure(EXIT.refused, text, { cause: error });
}

/** With the key and the names of the sessions, if they have names. */
function whoBlocks({ details }: HoldfastError, plan: Waiting): string {
  const {
    blockedBy,
    blockers = [],
    isSameOwner,
  } = details as {
    readonly blockedBy?: string;
    readonly blockers?: readonly Blocker[];
    readonly isSameOwner?: boolean;
  };
  if (isSameOwner === true) {
    return `${plan.name}: this owner has a lease there, or waits for one, by another request`;
  }
  const names = blockers.filter(isNamed).map(({ sessionName, identity }) => {
    return withIdentity(sessionName === "" ? "an unnamed client" : sessionName, identity);
  });
  const keys = new Set(blockers.map(({ key }) => key));
  const key = keys.size === 0 ? plan.name : [...keys].map(keyText).join(", ");
  const who = names.length === 0 ? "another" : printable([...new Set(names)].join(", "));
  return `${key} is ${blockedBy === "waiters" ? "waited for" : "held"} by ${who}`;
}

function isNamed(blocker: Blocker): boolean {
  return blocker.sessionName !== "" || (blocker.identity !== "" && !isAnonymous(blocker));
}

function unanswered({ name }: RunPlan): Failure {
  const text = `the cluster did not answer for ${name} within ${formatDuration(NO_WAIT_MS)}`;
  return new Failure(EXIT.noCluster, text);
}

function timedOut(plan: Waiting): Failure {
  const waited = formatDuration(plan.waitMs ?? 0);
  return new Failure(EXIT.timedOut, `${plan.name} was not granted within ${waited}`);
}

/**
 * Says what is waited for, on a terminal; and everywhere that it is held by the run around this
 * one, whose session is `around`: the outer run usually waits for this one, which would never end.
 */
async function announce(
  client: Client,
  plan: RunPlan,
  around: number,
  over: AbortSignal,
): Promise<void> {
  try {
    await delay(NOTICE_AFTER_MS, undefined, { signal: over });
    const views = await Promise.all(
      plan.items.map(({ key }) => client.inspect(key, { signal: over })),
    );
    const own = views.find(({ holds }) => holds.some(({ session }) => session === around));
    if (own !== undefined) {
      note(
        `waiting for ${keyText(own.key)}, which the run around this one holds until its command ends`,
      );
    } else if (process.stderr.isTTY) {
      note(`waiting for ${plan.name}${holdersOf(views)}`);
    }
  } catch (error) {
    // Granted meanwhile, or no answer: then there is nothing to say, and the wait itself goes on.
    if (!over.aborted && !(error instanceof HoldfastError)) throw error;
  }
}

function holdersOf(views: readonly KeyView[]): string {
  const holds = views.flatMap((view) => view.holds);
  const names = holds.map(({ sessionName, session, identity }) => {
    return withIdentity(sessionName || `session ${session}`, identity);
  });
  return names.length === 0 ? "" : `, held by ${printable([...new Set(names)].join(", "))}`;
}
