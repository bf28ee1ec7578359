/**
 * Exactly once: a request that was sent again is granted once and released once. A token is
 * released as often as it was granted, and watchers see no grant that no request can have asked
 * for.
 */
import { type Finding, FindingBuilder, keysOf, linesOf, ofKeys } from "./finding.js";
import type { Grant } from "./grant.js";
import type { LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";
import { readChanges } from "./watch-changes.js";

/** Refusals that the table decides: nothing was granted, not even for a moment. */
const REFUSED_BY_TABLE: ReadonlySet<string> = new Set([
  "LOCK_HELD",
  "LOCK_TIMEOUT",
  "DEADLOCK",
  "QUEUE_FULL",
  "WRONG_KIND",
  "LIMIT_MISMATCH",
  "INVALID_ARGUMENT",
  "FORBIDDEN",
]);

export function checkExactlyOnce(history: LockHistory): Finding {
  const builder = new FindingBuilder("exactly-once");
  checkReleases(history, builder);
  checkUnaskedGrants(history, builder);
  return builder.finding();
}

function checkReleases(history: LockHistory, builder: FindingBuilder): void {
  const granted = new Map<Grant, number>();
  const released = new Map<Grant, LockCall[]>();
  for (const call of history.calls) {
    const isGrant = call.f === "acquire" || call.f === "adopt";
    const token = isGrant ? call.granted : call.token;
    const grant = token === undefined ? undefined : originOf(history.grants.get(token));
    if (grant === undefined || call.operation.outcome !== "ok") continue;
    if (isGrant) granted.set(grant, (granted.get(grant) ?? 0) + 1);
    else if (call.f === "release" && call.answer) {
      released.set(grant, [...(released.get(grant) ?? []), call]);
    }
  }
  for (const [grant, releases] of released) {
    builder.compared += 1;
    const times = granted.get(grant) ?? 0;
    if (releases.length <= times) continue;
    const keys = keysOf(grant);
    const releasedTimes = timesText(releases.length);
    builder.violation(
      "released twice",
      `token ${grant.token}${ofKeys(keys)} was granted ${timesText(times)} and released ${releasedTimes}`,
      { keys, events: linesOf(grant.call, ...releases) },
    );
  }
}

function timesText(times: number): string {
  return times === 1 ? "once" : `${times} times`;
}

/** Through upgrades, which keep the hold; an adopt begins a new one. */
function originOf(grant: Grant | undefined): Grant | undefined {
  let origin = grant;
  while (origin?.call.f === "upgrade" && origin.replaces !== undefined) origin = origin.replaces;
  return origin;
}

function checkUnaskedGrants(history: LockHistory, builder: FindingBuilder): void {
  const unasked = new Map<string, Map<number, number>>();
  for (const change of readChanges(history.paired)) {
    if (change.kind !== "granted" || change.token === undefined) continue;
    builder.compared += 1;
    if (history.grants.has(change.token)) continue;
    const tokens = unasked.get(change.key) ?? new Map<number, number>();
    unasked.set(change.key, tokens.set(change.token, change.at));
  }
  if (unasked.size === 0) return;
  const possible = possibleUnseenGrants(history);
  for (const [key, tokens] of unasked) {
    const allowed = (possible.get(key) ?? 0) + (possible.get("") ?? 0);
    if (tokens.size <= allowed) continue;
    const [[token, at] = [0, 0]] = tokens;
    const grants = tokens.size === 1 ? "a grant" : `${tokens.size} grants`;
    const requests = `${allowed === 0 ? "no" : `only ${allowed}`} request${allowed === 1 ? "" : "s"}`;
    builder.violation(
      "phantom grant",
      `watchers saw ${grants}${ofKeys([key])} that no client knows of (token ${token}), ` +
        `and ${requests} without an answer can have asked for it`,
      { keys: [key], events: [history.paired.events[at]] },
    );
  }
}

/** By key, and under `""` those whose keys are not known. */
function possibleUnseenGrants(history: LockHistory): Map<string, number> {
  const possible = new Map<string, number>();
  const count = (key: string) => possible.set(key, (possible.get(key) ?? 0) + 1);
  for (const call of history.calls) {
    const { outcome, completion } = call.operation;
    if (outcome === "ok") continue;
    if (outcome === "fail" && REFUSED_BY_TABLE.has(completion?.error ?? "")) continue;
    if (call.f === "acquire") for (const { key } of call.items) count(key);
    if (call.f === "upgrade" || call.f === "adopt") count("");
  }
  return possible;
}
