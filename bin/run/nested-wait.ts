/**
 * A wait inside of a `holdfast run`. A request for a key that a run around it holds is refused before
 * it waits, because that wait cannot end. While it waits, the cluster is asked now and then whether it
 * waits for such a hold through others. That may last forever, but one of the others may also give up,
 * so the user learns of it, and the wait must never be refused for it.
 */
import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../../src/errors/index.js";
import type { Client, WaitGraphView } from "../../src/index.js";
import { keyText } from "../../src/text/index.js";
import { EXIT } from "../exit/exit-codes.js";
import { Failure } from "../exit/failure.js";
import { note } from "../output/terminal.js";
import {
  type EnclosingHold,
  enclosingHolds,
  holdsAround,
  holdsOfCluster,
  keyHeldAround,
  sessionsAround,
} from "./enclosing-holds.js";
import type { RequestPlan } from "./run-plan.js";
import { type Detour, detourTo, type Nesting } from "./wait-detour.js";
import { viewsOf } from "./wait-notices.js";

const CHECKS_MS = [1_000, 9_000];
const LATER_CHECKS_MS = 60_000;
/** How long the cluster has to show who waits for whom. Nothing waits for that. */
const ANSWER_MS_MAX = 10_000;
/** The largest page of sessions. */
const PAGE_SESSIONS = 200;

type Wanted = Pick<RequestPlan, "items" | "waitMs"> & { readonly conflictExitCode: number };

/** Runs the wait; fails before it if it could not end, and says while it waits that it may not. */
export async function unlessEndless<T>(
  client: Client,
  wanted: Wanted,
  signal: AbortSignal,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const enclosing = holdsOfCluster(enclosingHolds(process.env), client.clusterId);
  if (enclosing.length === 0) return wait(signal);
  await refuseEndless(client, wanted, enclosing);
  const over = new AbortController();
  void watch(client, enclosing, over.signal);
  try {
    return await wait(signal);
  } finally {
    over.abort();
  }
}

/** Says once that the wait may never end; resolves then, or when it is over. */
async function watch(
  client: Client,
  enclosing: readonly EnclosingHold[],
  over: AbortSignal,
): Promise<void> {
  for (let at = 0; ; at += 1) {
    try {
      await delay(CHECKS_MS[at] ?? LATER_CHECKS_MS, undefined, { signal: over, ref: false });
    } catch {
      // The wait is over.
      return;
    }
    const doubt = await doubtOf(client, enclosing);
    if (over.aborted) return;
    if (doubt === undefined) continue;
    note(doubt);
    return;
  }
}

/** Fails if it asks for a key that is held around it. */
async function refuseEndless(
  client: Client,
  { items, waitMs, conflictExitCode }: Wanted,
  enclosing: readonly EnclosingHold[],
): Promise<void> {
  const shared = items.filter((item) => enclosing.some(({ key }) => key === item.key));
  if (shared.length === 0) return;
  const key = keyHeldAround(await viewsOf(client, { items: shared }), enclosing, shared);
  if (key === undefined) return;
  const held = `${keyText(key)} is held by the run around this one until its command ends`;
  if (waitMs === 0) throw new Failure(conflictExitCode, held);
  throw new Failure(EXIT.refused, `${held}: waiting would never end (DEADLOCK)`);
}

/**
 * Whether it waits for somebody who waits for a key that is held around it, in words. Two nested runs
 * may wait for each other in this way.
 */
async function doubtOf(
  client: Client,
  enclosing: readonly EnclosingHold[],
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(ANSWER_MS_MAX);
  try {
    const views = await viewsOf(client, { items: enclosing });
    const holds = views.flatMap((view) => holdsAround(view, enclosing));
    const around = new Set(holds.map(({ session }) => session).filter((session) => session !== 0));
    if (around.size === 0) return undefined;
    const detour = await detourIn(client, { session: client.session, around }, signal);
    if (detour === undefined) return undefined;
    const [from, to] = [keyText(detour.from), keyText(detour.to)];
    return (
      `this wait may never end: those ahead for ${from} wait for ${to}, which the run around this ` +
      "one holds until its command ends"
    );
  } catch (error) {
    if (signal.aborted || error instanceof HoldfastError || error instanceof Failure) {
      return undefined;
    }
    throw error;
  }
}

async function detourIn(
  client: Client,
  own: Nesting,
  signal: AbortSignal,
): Promise<Detour | undefined> {
  const graph = await client.waitGraph({ signal });
  const others = await nestedWaiters(client, graph, signal);
  const detour = detourTo(graph, own, others);
  const ofPermits = graph.edges.filter(({ mode }) => mode === "permits");
  if (detour === undefined || ofPermits.length === 0) return detour;
  const keys = [...new Set(ofPermits.map(({ key }) => key))];
  const views = await Promise.all(keys.map((key) => client.inspect(key, { signal })));
  return detourTo(graph, own, others, views);
}

/** The nested ones among the sessions that wait; empty for an identity that may not see sessions. */
export async function nestedWaiters(
  client: Pick<Client, "session" | "clusterId" | "sessionsPage">,
  { tasks, edges }: Pick<WaitGraphView, "tasks" | "edges">,
  signal: AbortSignal,
): Promise<readonly Nesting[]> {
  const waiting = new Set(edges.map(({ from }) => from));
  const numbers = new Set(tasks.flatMap(({ id, session }) => (waiting.has(id) ? [session] : [])));
  numbers.delete(client.session);
  const left = [...numbers].sort((one, other) => other - one);
  const found: Nesting[] = [];
  try {
    for (let next = left.pop(); next !== undefined; ) {
      const page = await client.sessionsPage({ after: next - 1, limit: PAGE_SESSIONS, signal });
      for (const { session, metadata } of page.sessions) {
        const around = new Set(sessionsAround(metadata, client.clusterId));
        if (numbers.has(session) && around.size > 0) found.push({ session, around });
      }
      const last = page.sessions.at(-1)?.session ?? next;
      do next = page.next === null ? undefined : left.pop();
      while (next !== undefined && next <= last);
    }
    return found;
  } catch (error) {
    if (error instanceof HoldfastError && error.code === "FORBIDDEN") return [];
    throw error;
  }
}
