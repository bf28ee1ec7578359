/**
 * A wait inside of a `holdfast run`. Before it begins, and now and then, the cluster is asked whether
 * it waits for a hold of a run around it, directly or through others. Such a wait would never end: it
 * is refused, as the cluster refuses a deadlock that it knows of itself.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Client, WaitGraphView } from "../../src/index.js";
import { keyText } from "../../src/text/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import {
  type EnclosingHold,
  enclosingHolds,
  holdsAround,
  keyHeldAround,
  sessionsAround,
} from "./enclosing-holds.js";
import type { RequestPlan } from "./run-plan.js";
import { detourTo, type Nesting } from "./wait-detour.js";
import { viewsOf } from "./wait-notices.js";

const CHECKS_MS = [1_000, 9_000];
const LATER_CHECKS_MS = 60_000;
const ANSWER_MS_MAX = 1_000;
/** Sessions that are asked whether they are nested. */
const NESTED_MAX = 100;

type Wanted = Pick<RequestPlan, "items" | "waitMs"> & { readonly conflictExitCode: number };

/** Runs the wait; fails before it, or ends it, once it is clear that it would never end. */
export async function unlessEndless<T>(
  client: Client,
  wanted: Wanted,
  signal: AbortSignal,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const enclosing = enclosingHolds(process.env);
  if (enclosing.length === 0) return wait(signal);
  const refusal = await directRefusal(client, wanted, enclosing);
  if (refusal !== undefined) throw refusal;
  const over = new AbortController();
  const endless = new AbortController();
  const end = (reason: unknown): void => endless.abort(reason);
  void watch(client, wanted, enclosing, over.signal).then(end, end);
  try {
    return await wait(AbortSignal.any([signal, endless.signal]));
  } finally {
    over.abort();
  }
}

/** Resolves with the refusal of a wait that would never end, or never. */
async function watch(
  client: Client,
  wanted: Wanted,
  enclosing: readonly EnclosingHold[],
  over: AbortSignal,
): Promise<Failure> {
  for (let at = 0; ; at += 1) {
    try {
      await delay(CHECKS_MS[at] ?? LATER_CHECKS_MS, undefined, { signal: over, ref: false });
    } catch {
      // The wait is over.
      return new Promise(() => undefined);
    }
    const found =
      (await directRefusal(client, wanted, enclosing)) ??
      (await indirectRefusal(client, enclosing, at === 0));
    if (found !== undefined) return found;
  }
}

/** It asks for a key that is held around it. */
async function directRefusal(
  client: Client,
  { items, waitMs, conflictExitCode }: Wanted,
  enclosing: readonly EnclosingHold[],
): Promise<Failure | undefined> {
  const shared = items.filter((item) => enclosing.some(({ key }) => key === item.key));
  if (shared.length === 0) return undefined;
  const views = await viewsOf(client, { items: shared });
  const key = keyHeldAround(views, enclosing, { items: shared, session: client.session });
  if (key === undefined) return undefined;
  const held = `${keyText(key)} is held by the run around this one until its command ends`;
  if (waitMs === 0) return new Failure(conflictExitCode, held);
  return endless(held);
}

/**
 * It waits for somebody who waits for a key that is held around it. Two nested runs may wait for each
 * other so. At its first check the older one leaves it to the other to give up.
 */
async function indirectRefusal(
  client: Client,
  enclosing: readonly EnclosingHold[],
  isFirst: boolean,
): Promise<Failure | undefined> {
  const views = await viewsOf(client, { items: enclosing });
  const holds = views.flatMap((view) => holdsAround(view, enclosing));
  const around = new Set(holds.map(({ session }) => session).filter((session) => session !== 0));
  if (around.size === 0) return undefined;
  const { session } = client;
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const graph = await client.waitGraph({ signal });
    const others = await nestedWaiters(client, graph, signal);
    const detour = detourTo(graph, { session, around }, others);
    if (detour === undefined || (isFirst && detour.nested > session)) return undefined;
    const [from, to] = [keyText(detour.from), keyText(detour.to)];
    return endless(
      `those ahead for ${from} wait for ${to}, which the run around this one holds until its ` +
        "command ends",
    );
  } catch (error) {
    if (signal.aborted || error instanceof HoldfastError) return undefined;
    throw error;
  }
}

/** The nested ones among the sessions that wait; empty for an identity that may not see sessions. */
async function nestedWaiters(
  client: Client,
  { owners, edges }: WaitGraphView,
  signal: AbortSignal,
): Promise<readonly Nesting[]> {
  const waiting = new Set(edges.map(({ from }) => from));
  const numbers = new Set(owners.flatMap(({ id, session }) => (waiting.has(id) ? [session] : [])));
  numbers.delete(client.session);
  try {
    const pages = await Promise.all(
      [...numbers].slice(0, NESTED_MAX).map((number) => {
        return client.sessionsPage({ after: number - 1, limit: 1, signal });
      }),
    );
    return pages.flatMap(({ sessions }) =>
      sessions.map(({ session, metadata }) => {
        return { session, around: new Set(sessionsAround(metadata)) };
      }),
    );
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "FORBIDDEN") return [];
    throw error;
  }
}

function endless(why: string): Failure {
  return new Failure(EXIT.refused, `${why}: waiting would never end (DEADLOCK)`);
}
