/**
 * When the clients' own deadlines passed. A grant says until when its holder is certain of it;
 * `renewed` notes move that, for one token or for all holds of a session. From the first line of
 * the history that is later, the hold may have ended unnoticed.
 */
import type { PairedHistory } from "../operations.js";
import type { Grant } from "./grant.js";
import { fieldsOf, type LockCall, numberIn } from "./lock-calls.js";

interface Renewal {
  readonly at: number;
  readonly untilNs: number;
}

/**
 * By token, for holds that lapsed: where the deadline passed, which is half a position before the
 * first line that is later, so that the answer in that line may already depend on it.
 */
export function lapses(
  history: PairedHistory,
  calls: readonly LockCall[],
  grants: ReadonlyMap<number, Grant>,
): Map<number, number> {
  const lapsed = new Map<number, number>();
  const limited = [...grants.values()].filter(({ call }) => call.untilNs !== undefined);
  if (limited.length === 0) return lapsed;
  const latestNs = latestTimes(history);
  const { byToken, bySession } = readRenewals(history);
  const givenUpAt = firstUses(calls);
  for (const { token, session, call } of limited) {
    const renewals = [byToken.get(token) ?? [], bySession.get(session) ?? []];
    // A client that was stopped may receive an answer about a hold whose lease is over by then.
    const from = call.operation.invokedAt;
    const end = givenUpAt.get(token) ?? Number.POSITIVE_INFINITY;
    const at = lapseOf(latestNs, { from, end, untilNs: call.untilNs ?? 0 }, renewals);
    if (at !== undefined) lapsed.set(token, at);
  }
  return lapsed;
}

/** A hold from its grant to the first use of its token that ends it. */
interface Span {
  readonly from: number;
  readonly end: number;
  readonly untilNs: number;
}

function lapseOf(
  latestNs: Float64Array,
  { from, end, untilNs }: Span,
  renewals: readonly (readonly Renewal[])[],
): number | undefined {
  const cursors = renewals.map((list) => firstAfter(list, from));
  let certainNs = untilNs;
  for (;;) {
    const lapse = firstLater(latestNs, certainNs, from);
    if (lapse === undefined || lapse >= end) return undefined;
    const before = certainNs;
    for (const [which, list] of renewals.entries()) {
      let cursor = cursors[which] as number;
      for (let next = list[cursor]; next !== undefined && next.at < lapse; next = list[cursor]) {
        certainNs = Math.max(certainNs, next.untilNs);
        cursor += 1;
      }
      cursors[which] = cursor;
    }
    if (certainNs === before) return lapse - 0.5;
  }
}

function readRenewals(history: PairedHistory): {
  byToken: Map<number, Renewal[]>;
  bySession: Map<string, Renewal[]>;
} {
  const byToken = new Map<number, Renewal[]>();
  const bySession = new Map<string, Renewal[]>();
  for (const { event, at } of history.notes) {
    if (event.f !== "renewed") continue;
    const value = fieldsOf(event.value);
    const untilNs = numberIn(value, "untilNs");
    if (untilNs === undefined) continue;
    const token = numberIn(value, "token");
    if (token === undefined) append(bySession, event.session ?? event.process, { at, untilNs });
    else append(byToken, token, { at, untilNs });
  }
  return { byToken, bySession };
}

/** When a client first gave a hold up, or asked to exchange its token and was not refused. */
function firstUses(calls: readonly LockCall[]): Map<number, number> {
  const first = new Map<number, number>();
  for (const { f, token, operation } of calls) {
    if (token === undefined || first.has(token)) continue;
    const isExchange = (f === "upgrade" || f === "adopt") && operation.outcome !== "fail";
    if (f === "release" || isExchange) first.set(token, operation.invokedAt);
  }
  return first;
}

/** The largest time up to each position: monotone even if lines are slightly out of order. */
function latestTimes(history: PairedHistory): Float64Array {
  const latest = new Float64Array(history.events.length);
  let largest = Number.NEGATIVE_INFINITY;
  for (const [at, event] of history.events.entries()) {
    if (event.timeNs !== undefined && event.timeNs > largest) largest = event.timeNs;
    latest[at] = largest;
  }
  return latest;
}

function firstLater(latestNs: Float64Array, timeNs: number, from: number): number | undefined {
  let low = from;
  let high = latestNs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((latestNs[middle] as number) <= timeNs) low = middle + 1;
    else high = middle;
  }
  return low < latestNs.length ? low : undefined;
}

function firstAfter(list: readonly Renewal[], at: number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((list[middle]?.at as number) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

function append<K>(lists: Map<K, Renewal[]>, key: K, renewal: Renewal): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [renewal]);
  else list.push(renewal);
}
