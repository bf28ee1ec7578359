/**
 * No lost wake-up: after the faults are over and every lease of a dead client has run out (noted as
 * `settled`), a request that still waits for a lock that cannot be held was forgotten. The check
 * compares the requests that waited when the faults ended, or at `settled`, and have been granted since
 * or wait to the end. What had no answer when the faults ended has been settled since: a client repeats a release
 * until it is answered, and gives back what it was granted and nobody waits for.
 */

import { excludeEachOther } from "../../../lab/laws/exclusion.js";
import { nameOf, quote } from "../event-text.js";
import { NEMESIS, type Note } from "../operations.js";
import { type Finding, FindingBuilder, keysOf } from "./finding.js";
import type { Item, LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

/** The errors of a request whose caller has left, by its signal or at the end of its wait. */
const LEFT: ReadonlySet<string> = new Set(["AbortError", "LOCK_TIMEOUT"]);

export function checkWakeUps(history: LockHistory): Finding {
  const builder = new FindingBuilder("wake-ups");
  const settled = history.paired.notes.findLast(
    ({ event }) => event.process === NEMESIS && event.f === "settled",
  );
  if (settled === undefined) return builder.finding();
  const healed = history.paired.notes.find(
    ({ event }) => event.process === NEMESIS && event.f === "healed",
  );
  const calm = healed ?? settled;
  const calmFrom = calm.at;
  const ended = endedTokens(history, calmFrom);
  const isDead = deadIn(history);
  const unseen = unseenGrants(history.calls, calm, settled);
  const possible = possibleHolders(history, unseen, ended, isDead);
  for (const call of history.calls) {
    const { invokedAt, returnedAt, outcome, completion } = call.operation;
    if (call.f !== "acquire" || invokedAt > settled.at) continue;
    if (completion !== undefined) {
      const waitedSince = invokedAt > calmFrom ? settled.at : calmFrom;
      if (outcome === "ok" && returnedAt > waitedSince) builder.compared += 1;
      continue;
    }
    // A client that died does not wait any more.
    if (isDead(call)) continue;
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

/** Whether the client of a call has died, whatever session it had when it asked. */
function deadIn({ paired }: LockHistory): (call: LockCall) => boolean {
  const crashes = paired.notes.filter(({ event }) => event.f === "crash");
  const processes = new Set(crashes.map(({ event }) => event.process));
  const sessions = new Set(crashes.map(({ event }) => event.session));
  return ({ session, operation }) => processes.has(operation.process) || sessions.has(session);
}

interface PossibleHolder {
  readonly call: LockCall;
  readonly item: Item;
}

function blocks(holder: PossibleHolder, item: Item, call: LockCall): boolean {
  if (holder.call === call) return false;
  return excludeEachOther(holder.item.mode, item.mode);
}

/** Released, lost, or held by a session that was closed. */
function endedTokens(history: LockHistory, calmFrom: number): ReadonlySet<number> {
  const gone = new Set(history.lostAt.keys());
  const exchanged = new Set<number>();
  const closed = new Set<string>();
  /** By process: what it has upgraded, perhaps, and holds under a token that nobody has seen. */
  const upgradedUnseen = new Map<string, number>();
  for (const call of history.calls) {
    const { outcome, invokedAt, process } = call.operation;
    const { f, token } = call;
    if (f === "upgrade" && outcome === "info") upgradedUnseen.set(process, token as number);
    const isRepeated = f === "release" && outcome === "info" && invokedAt < calmFrom;
    if (outcome !== "ok" && !isRepeated) continue;
    if (f === "close") closed.add(call.session);
    if (token === undefined) continue;
    if (f === "release")
      gone.add(history.grants.has(token) ? token : (upgradedUnseen.get(process) ?? token));
    if (f === "upgrade" || f === "adopt") exchanged.add(token);
  }
  for (const grant of history.grants.values()) {
    if (closed.has(grant.session)) gone.add(grant.token);
    // The hold ends under any of the tokens it had; after an adopt the old token is invalid.
    const isUpgrade = grant.call.f === "upgrade" && grant.replaces !== undefined;
    if (isUpgrade && gone.has(grant.replaces.token)) gone.add(grant.token);
  }
  return new Set([...gone, ...exchanged]);
}

/** Requests without an answer that may hold at the end what they were granted. */
function unseenGrants(calls: readonly LockCall[], calm: Note, settled: Note): readonly LockCall[] {
  return calls.filter(({ f, operation: { outcome, completion } }) => {
    if (f !== "acquire" || outcome !== "info" || completion === undefined) return false;
    // One that waits holds nothing yet.
    const { line, error = "" } = completion;
    return line > calm.event.line && line < settled.event.line && !LEFT.has(error);
  });
}

/** Holds that may still exist. */
function possibleHolders(
  history: LockHistory,
  unseen: readonly LockCall[],
  ended: ReadonlySet<number>,
  isDead: (call: LockCall) => boolean,
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
    if (ended.has(grant.token) || isDead(grant.call)) continue;
    add(grant.call, grant.items);
  }
  for (const call of unseen) if (!isDead(call)) add(call, call.items);
  return possible;
}
