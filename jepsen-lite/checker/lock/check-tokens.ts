/**
 * Fencing tokens: no token is granted twice (except to the same task again, if it asked
 * reentrantly); a grant that can only have come after another was known has the larger token, over
 * all keys (or among the tokens of one key, or not at all, for services that promise no more); and
 * no client is told that a token that was never granted is valid.
 */
import { nameOf, namesOf } from "../event-text.js";
import { answerOf, type Finding, FindingBuilder, keysOf, linesOf, ofKeys } from "./finding.js";
import type { Grant } from "./grant.js";
import type { LockCall } from "./lock-calls.js";
import { isReentry, type LockHistory } from "./lock-history.js";

export type TokensRise = "over-all-keys" | "by-key" | "not-at-all";

export function checkTokens(history: LockHistory, tokensRise: TokensRise): Finding {
  const builder = new FindingBuilder("tokens");
  const granting = history.calls.filter((call) => call.granted !== undefined);
  checkUnique(history, granting, builder);
  const fresh = granting.filter((call) => !call.isReentrant);
  if (tokensRise === "over-all-keys") checkRising(history, fresh, builder);
  else if (tokensRise === "by-key") {
    for (const calls of byKey(fresh).values()) checkRising(history, calls, builder);
  }
  checkKnown(history, builder);
  return builder.finding();
}

function byKey(calls: readonly LockCall[]): Map<string, LockCall[]> {
  const lists = new Map<string, LockCall[]>();
  for (const call of calls) {
    for (const { key } of call.items) {
      const list = lists.get(key);
      if (list === undefined) lists.set(key, [call]);
      else list.push(call);
    }
  }
  return lists;
}

function checkUnique(
  history: LockHistory,
  granting: readonly LockCall[],
  builder: FindingBuilder,
): void {
  for (const call of granting) {
    builder.compared += 1;
    const first = history.grants.get(call.granted as number)?.call;
    if (first === undefined || first === call) continue;
    if (isReentry(first, call)) continue;
    const [, one, other] = namesOf(answerOf(first), answerOf(call));
    const keys = [...new Set([...keysOf(first), ...keysOf(call)])];
    builder.violation(
      "token granted twice",
      `token ${call.granted}${ofKeys(keys)} was granted twice: to ${one} and to ${other}`,
      { keys, events: linesOf(first, call) },
    );
  }
}

/**
 * Sweeps the earliest and latest possible positions of all grants: a grant that certainly came
 * before another one must have the smaller token.
 */
function checkRising(
  history: LockHistory,
  fresh: readonly LockCall[],
  builder: FindingBuilder,
): void {
  const earliest = earliestGrants(history);
  const used = firstSuccessfulUses(history);
  const latestOf = (call: LockCall) =>
    Math.min(call.operation.returnedAt, used.get(call.granted as number) ?? Number.MAX_VALUE);
  // If a grant comes before its earliest position, exclusion is violated, which other checks
  // report.
  const earliestOf = (call: LockCall) =>
    Math.max(
      call.operation.invokedAt,
      Math.min(earliest.get(call.granted as number) ?? 0, latestOf(call)),
    );
  const byAnswer = [...fresh].sort((a, b) => latestOf(a) - latestOf(b));
  let answered = 0;
  let largest: LockCall | undefined;
  for (const call of [...fresh].sort((a, b) => earliestOf(a) - earliestOf(b))) {
    for (;;) {
      const before = byAnswer[answered];
      if (before === undefined || latestOf(before) >= earliestOf(call)) break;
      if ((before.granted as number) > (largest?.granted ?? -1)) largest = before;
      answered += 1;
    }
    if (largest === undefined || (call.granted as number) > (largest.granted as number)) continue;
    const keys = keysOf(call);
    builder.violation(
      "token not larger",
      `${nameOf(answerOf(call))} was granted token ${call.granted}${ofKeys(keys)} although ` +
        `the larger token ${largest.granted} was known before: tokens must rise`,
      {
        keys,
        events: [...linesOf(largest, call), history.paired.events[Math.ceil(earliestOf(call))]],
      },
    );
  }
}

/** By token: where it was first reported valid, which is only possible after it was granted. */
function firstSuccessfulUses(history: LockHistory): Map<number, number> {
  const used = new Map<number, number>();
  for (const call of history.calls) {
    if (call.token === undefined || call.operation.outcome !== "ok") continue;
    const isDenied = (call.f === "release" || call.f === "verify") && !call.answer;
    const known = used.get(call.token) ?? Number.MAX_VALUE;
    if (!isDenied) used.set(call.token, Math.min(known, call.operation.returnedAt));
  }
  return used;
}

/** By token: the earliest end of the holds that it had to wait for. */
function earliestGrants(history: LockHistory): Map<number, number> {
  const earliest = new Map<number, number>();
  for (const grants of plainGrantsByKey(history).values()) {
    grants.sort((a, b) => a.token - b.token);
    let endOfAll = 0;
    let endOfExclusive = 0;
    for (const grant of grants) {
      const isExclusive = grant.items[0]?.mode === "exclusive";
      const from = isExclusive ? endOfAll : endOfExclusive;
      earliest.set(grant.token, Math.max(from, earliest.get(grant.token) ?? 0));
      const end = history.endsFrom(grant);
      // A hold without an end forbids every later one; the search reports that better.
      if (!Number.isFinite(end)) continue;
      endOfAll = Math.max(endOfAll, end);
      if (isExclusive) endOfExclusive = Math.max(endOfExclusive, end);
    }
  }
  return earliest;
}

/** Keys that are only acquired and released: no permits, exchanges of tokens, or thefts. */
function plainGrantsByKey(history: LockHistory): Map<string, Grant[]> {
  const byKey = new Map<string, Grant[]>();
  const others = new Set<string>();
  for (const grant of history.grants.values()) {
    for (const { key, mode } of grant.items) {
      if (mode === "permits" || grant.call.f !== "acquire" || grant.items.length > 1) {
        others.add(key);
      }
      const grants = byKey.get(key);
      if (grants === undefined) byKey.set(key, [grant]);
      else grants.push(grant);
    }
  }
  for (const call of history.calls) {
    const isOther = call.isSteal || call.f === "downgrade" || call.f === "hand-over";
    const items = history.grants.get(call.token ?? -1)?.items ?? call.items;
    if (isOther) for (const { key } of items) others.add(key);
  }
  for (const key of others) byKey.delete(key);
  return byKey;
}

function checkKnown(history: LockHistory, builder: FindingBuilder): void {
  const isAnyUnknown =
    history.unknownAcquireAt.size > 0 || Number.isFinite(history.unknownExchangeAt);
  for (const call of history.calls) {
    if (call.token === undefined || call.operation.outcome !== "ok") continue;
    const saysGood = call.f === "release" || call.f === "verify" ? call.answer : true;
    if (!saysGood || history.grants.has(call.token)) continue;
    // A client may have got it without an answer; then nothing follows.
    if (isAnyUnknown) continue;
    builder.violation(
      "unknown token accepted",
      `${nameOf(answerOf(call))} was told that its ${call.f} of token ${call.token} ` +
        "succeeded, but that token was never granted",
      { keys: call.operation.key === undefined ? [] : [call.operation.key], events: linesOf(call) },
    );
  }
}
