/**
 * The order of grants against the order of arrival. A request has certainly arrived when its
 * `queued` note is in the history, and certainly not before its `invoke`. Two requests that exclude
 * each other must be granted in order of arrival, except for the head start of a priority: 1 s per
 * step. Cluster time may stand still but never run ahead, so a head start is judged only where that
 * cannot change the verdict.
 */
import { excludeEachOther } from "../../../lab/laws/exclusion.js";
import { leadOf, type Place, PRIORITY_STEP_MS } from "../../../lab/laws/order.js";
import { namesOf, quote } from "../event-text.js";
import { type Finding, FindingBuilder, linesOf } from "./finding.js";
import type { Item, LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

interface Request {
  readonly call: LockCall;
  readonly item: Item;
  readonly token: number;
  readonly invokedAt: number;
  readonly invokedNs: number | undefined;
  readonly queuedAt: number;
  readonly queuedNs: number | undefined;
}

const HEAD_START_NS = PRIORITY_STEP_MS * 1_000_000;
/** Arrival is stamped with the batch it came in. */
const STAMP_SLACK_NS = 100_000_000;
/** Pairs examined per key for head starts. */
const PAIRS_MAX = 2_000_000;

export function checkOrder(history: LockHistory): Finding {
  const builder = new FindingBuilder("order");
  for (const requests of requestsByKey(history).values()) {
    checkArrivals(requests, history, builder);
    checkHeadStarts(requests, history, builder);
  }
  return builder.finding();
}

function requestsByKey(history: LockHistory): Map<string, Request[]> {
  const byKey = new Map<string, Request[]>();
  for (const call of history.calls) {
    if (call.f !== "acquire" || call.granted === undefined || call.isSteal) continue;
    const isFirst = history.grants.get(call.granted)?.call === call;
    if (!isFirst) continue;
    const note = history.queuedAt.get(call);
    for (const item of call.items) {
      const request: Request = {
        call,
        item,
        token: call.granted,
        invokedAt: call.operation.invokedAt,
        invokedNs: call.operation.invocation.timeNs,
        queuedAt: note?.at ?? Number.POSITIVE_INFINITY,
        queuedNs: note?.event.timeNs,
      };
      const requests = byKey.get(item.key);
      if (requests === undefined) byKey.set(item.key, [request]);
      else requests.push(request);
    }
  }
  return byKey;
}

/** Compares with the request granted last among the ones that had arrived, by priority and mode. */
function checkArrivals(
  requests: readonly Request[],
  history: LockHistory,
  builder: FindingBuilder,
): void {
  const queued = requests.filter((request) => Number.isFinite(request.queuedAt));
  queued.sort((a, b) => a.queuedAt - b.queuedAt);
  const latest = new Map<string, Request>();
  let arrived = 0;
  for (const request of requests) {
    for (;;) {
      const earlier = queued[arrived];
      if (earlier === undefined || earlier.queuedAt > request.invokedAt) break;
      const group = `${earlier.call.priority} ${earlier.item.mode}`;
      const known = latest.get(group);
      if (known === undefined || known.token < earlier.token) latest.set(group, earlier);
      arrived += 1;
    }
    for (const earlier of latest.values()) {
      if (earlier.call.priority < request.call.priority) continue;
      if (!excludeEachOther(earlier.item.mode, request.item.mode)) continue;
      builder.compared += 1;
      if (earlier.token > request.token)
        reportOvertaken(history, builder, earlier, request, "arrived later");
    }
  }
}

/** A later request with a higher priority that arrived within its head start goes first. */
function checkHeadStarts(
  requests: readonly Request[],
  history: LockHistory,
  builder: FindingBuilder,
): void {
  const priorities = new Set(requests.map((request) => request.call.priority));
  if (priorities.size < 2) return;
  const spreadNs = (Math.max(...priorities) - Math.min(...priorities)) * HEAD_START_NS;
  const blockedUntil = certainlyBlockedUntil(requests, history);
  let pairs = 0;
  for (const [position, slow] of requests.entries()) {
    const slowNs = slow.invokedNs;
    if (slowNs === undefined || slow.call.items.length > 1 || slow.call.hasNamedTask) continue;
    for (let later = position + 1; later < requests.length && pairs < PAIRS_MAX; later += 1) {
      const urgent = requests[later] as Request;
      if ((urgent.invokedNs ?? slowNs) > slowNs + spreadNs) break;
      pairs += 1;
      const steps = urgent.call.priority - slow.call.priority;
      const isSimple = urgent.call.items.length === 1 && !urgent.call.hasNamedTask;
      if (steps <= 0 || !isSimple || urgent.queuedNs === undefined) continue;
      if (!excludeEachOther(slow.item.mode, urgent.item.mode)) continue;
      const isAhead = leadOf(placeOf(urgent, urgent.queuedNs), placeOf(slow, slowNs)) > 0;
      // It was queued while the slow one certainly still waited.
      if (!isAhead || urgent.queuedAt > (blockedUntil.get(slow) ?? 0)) continue;
      builder.compared += 1;
      if (slow.token < urgent.token) {
        reportOvertaken(history, builder, urgent, slow, `has a priority ${steps} lower`);
      }
    }
  }
}

/** In nanoseconds. What is judged for its head start has a task of its own, and gives none of it up. */
function placeOf({ call }: Request, arrivedNs: number): Place {
  const headStart = call.priority * HEAD_START_NS;
  return {
    arrived: { earliest: arrivedNs, latest: arrivedNs + STAMP_SLACK_NS },
    headStart: { least: headStart, most: headStart },
  };
}

/** Until when the hold granted before a request was certain, if it excludes the request. */
function certainlyBlockedUntil(
  requests: readonly Request[],
  history: LockHistory,
): Map<Request, number> {
  const until = new Map<Request, number>();
  const releasedAt = new Map<number, number>();
  for (const call of history.calls) {
    if (call.f !== "release" || call.token === undefined) continue;
    const known = releasedAt.get(call.token);
    const at = call.operation.invokedAt;
    if (known === undefined || at < known) releasedAt.set(call.token, at);
  }
  const byToken = [...requests].sort((a, b) => a.token - b.token);
  for (const [position, request] of byToken.entries()) {
    const before = byToken[position - 1];
    // Shared holds and permits may coexist; only exclusive ones certainly block.
    if (before?.item.mode !== "exclusive") continue;
    const end = Math.min(
      releasedAt.get(before.token) ?? 0,
      history.mayEndAt.get(before.token) ?? Number.POSITIVE_INFINITY,
    );
    until.set(request, end);
  }
  return until;
}

function reportOvertaken(
  history: LockHistory,
  builder: FindingBuilder,
  first: Request,
  second: Request,
  why: string,
): void {
  const { key } = first.item;
  const [, one, other] = namesOf(first.call.operation.invocation, second.call.operation.invocation);
  builder.violation(
    "granted out of order",
    `${quote(key)} was granted to ${other} (token ${second.token}) before ${one} ` +
      `(token ${first.token}), whose request was ahead: the request of ${other} ${why}`,
    {
      keys: [key],
      events: [...linesOf(first.call, second.call), history.queuedAt.get(first.call)?.event],
    },
  );
}
