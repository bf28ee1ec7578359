/**
 * No lost wake-up: after the faults are over and every lease of a dead client has run out (noted as
 * `settled`), a request that still waits for a lock that cannot be held was forgotten. The check
 * compares the requests that waited when the faults ended, and have been granted since or wait to
 * the end.
 */

import { nameOf, quote } from "../event-text.js";
import { NEMESIS } from "../operations.js";
import { type Finding, FindingBuilder, keysOf } from "./finding.js";
import type { Item, LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

/** The error of a request whose caller has aborted it. */
const LEFT = "AbortError";

export function checkWakeUps(history: LockHistory): Finding {
  const builder = new FindingBuilder("wake-ups");
  const settled = history.paired.notes.findLast(
    ({ event }) => event.process === NEMESIS && event.f === "settled",
  );
  if (settled === undefined) return builder.finding();
  const healed = history.paired.notes.find(
    ({ event }) => event.process === NEMESIS && event.f === "healed",
  );
  const ended = endedTokens(history);
  const crashed = new Set(
    history.paired.notes
      .filter(({ event }) => event.f === "crash")
      .map(({ event }) => event.session ?? event.process),
  );
  const possible = possibleHolders(history, ended, crashed);
  const calmFrom = healed?.at ?? settled.at;
  for (const call of history.calls) {
    const { invokedAt, returnedAt, outcome, completion } = call.operation;
    if (call.f !== "acquire" || invokedAt > calmFrom) continue;
    if (completion !== undefined) {
      if (outcome === "ok" && returnedAt > calmFrom) builder.compared += 1;
      continue;
    }
    // A client that died does not wait any more.
    if (crashed.has(call.session)) continue;
    builder.compared += 1;
    const isBlocked = call.items.some((item) =>
      (possible.get(item.key) ?? []).some((holder) => blocks(holder, item, call)),
    );
    if (isBlocked) continue;
    const { invocation } = call.operation;
    const keys = keysOf(call);
    builder.violation(
      "lost wake-up",
      `${nameOf(invocation)} still waits for ${keys.map(quote).join(" and ")}, ` +
        "which no client can hold any more",
      { keys, events: [invocation, healed?.event, settled.event] },
    );
  }
  return builder.finding();
}

interface PossibleHolder {
  readonly call: LockCall;
  readonly item: Item;
}

function blocks(holder: PossibleHolder, item: Item, call: LockCall): boolean {
  if (holder.call === call) return false;
  return holder.item.mode !== "shared" || item.mode !== "shared";
}

/** Released, lost, or held by a session that was closed. */
function endedTokens(history: LockHistory): ReadonlySet<number> {
  const gone = new Set(history.lostAt.keys());
  const exchanged = new Set<number>();
  const closed = new Set<string>();
  for (const call of history.calls) {
    if (call.operation.outcome !== "ok") continue;
    if (call.f === "close") closed.add(call.session);
    if (call.token === undefined) continue;
    if (call.f === "release") gone.add(call.token);
    if (call.f === "upgrade" || call.f === "claim") exchanged.add(call.token);
  }
  for (const grant of history.grants.values()) {
    if (closed.has(grant.session)) gone.add(grant.token);
    // The hold ends under any of the tokens it had; after a claim the old token is invalid.
    const isUpgrade = grant.call.f === "upgrade" && grant.replaces !== undefined;
    if (isUpgrade && gone.has(grant.replaces.token)) gone.add(grant.token);
  }
  return new Set([...gone, ...exchanged]);
}

/** Holds that may still exist, and requests that may have been granted without an answer. */
function possibleHolders(
  history: LockHistory,
  ended: ReadonlySet<number>,
  crashed: ReadonlySet<string>,
): Map<string, PossibleHolder[]> {
  const possible = new Map<string, PossibleHolder[]>();
  const add = (call: LockCall, items: readonly Item[]) => {
    for (const item of items) {
      const holders = possible.get(item.key) ?? [];
      possible.set(item.key, holders);
      holders.push({ call, item });
    }
  };
  for (const grant of history.grants.values()) {
    if (ended.has(grant.token) || crashed.has(grant.session)) continue;
    add(grant.call, grant.items);
  }
  for (const call of history.calls) {
    const { outcome, completion } = call.operation;
    if (call.f !== "acquire" || outcome !== "info") continue;
    // A request that is still waiting holds nothing, and its client gives back what a caller left.
    if (completion === undefined || completion.error === LEFT) continue;
    if (!crashed.has(call.session)) add(call, call.items);
  }
  return possible;
}
