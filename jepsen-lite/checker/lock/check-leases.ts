/**
 * The upper bound of leases: the locks of a client that dies are freed in time. Cluster time stands
 * still while there is no leader, so only deaths after `healed` (or in a history without faults)
 * are judged: the next request that was already waiting must be granted within the lease, the time
 * for which the key stays closed, and a slack for the election of a leader and the delivery. The
 * lower bound is exclusion.
 */

import { nameOf, quote } from "../event-text.js";
import { NEMESIS, type Note } from "../operations.js";
import { type Finding, FindingBuilder, linesOf } from "./finding.js";
import type { Grant } from "./grant.js";
import { fieldsOf, numberIn } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

const SLACK_MS = 10_000;
const MS_IN_NS = 1_000_000;

export function checkLeases(history: LockHistory): Finding {
  const builder = new FindingBuilder("leases");
  const calmFrom = calmPosition(history.paired.notes);
  const crashes = new Map<string, Note>();
  for (const note of history.paired.notes) {
    if (note.event.f !== "crash") continue;
    const session = note.event.session ?? note.event.process;
    if (!crashes.has(session)) crashes.set(session, note);
  }
  if (crashes.size === 0) return builder.finding();
  const byKey = exclusiveGrantsByKey(history);
  for (const [key, grants] of byKey) {
    for (const [position, grant] of grants.entries()) {
      const crash = crashes.get(grant.session);
      const next = grants[position + 1];
      if (crash === undefined || next === undefined || crash.at < calmFrom) continue;
      checkInheritance(history, builder, key, grant, next, crash);
    }
  }
  return builder.finding();
}

function checkInheritance(
  history: LockHistory,
  builder: FindingBuilder,
  key: string,
  grant: Grant,
  next: Grant,
  crash: Note,
): void {
  const { cooldownMs } = grant.call;
  const ttlMs = grant.call.ttlMs ?? numberIn(fieldsOf(crash.event.value), "ttlMs");
  const diedNs = crash.event.timeNs;
  const queuedNs = history.queuedAt.get(next.call)?.event.timeNs;
  const grantedNs = next.call.operation.completion?.timeNs;
  if (ttlMs === undefined || diedNs === undefined || grantedNs === undefined) return;
  const wasHeld = grant.call.operation.returnedAt < crash.at && !wasEnded(history, grant, crash.at);
  if (!wasHeld || queuedNs === undefined) return;
  builder.compared += 1;
  const startNs = Math.max(diedNs, queuedNs);
  const boundNs = startNs + (ttlMs + cooldownMs + SLACK_MS) * MS_IN_NS;
  if (grantedNs <= boundNs) return;
  const afterMs = Math.round((grantedNs - startNs) / MS_IN_NS);
  builder.violation(
    "lease ended late",
    `${nameOf(crash.event)} died with ${quote(key)} (token ${grant.token}) under a lease of ` +
      `${ttlMs} ms, and the request that waited for it was granted ${afterMs} ms later ` +
      `(${SLACK_MS} ms are allowed)`,
    {
      keys: [key],
      events: [...linesOf(grant.call, next.call), crash.event],
      fromNs: diedNs,
      toNs: grantedNs,
    },
  );
}

/** From here on no fault is active; 0 in a history without faults. */
function calmPosition(notes: readonly Note[]): number {
  let calmFrom = 0;
  for (const { event, at } of notes) {
    if (event.process !== NEMESIS || event.f === "settled") continue;
    calmFrom = event.f === "healed" ? at : Number.POSITIVE_INFINITY;
  }
  return calmFrom;
}

function wasEnded(history: LockHistory, grant: Grant, at: number): boolean {
  return history.calls.some(
    (call) => call.f === "release" && call.token === grant.token && call.operation.invokedAt < at,
  );
}

/** Grants of keys that are only ever acquired exclusively, in the order of their tokens. */
function exclusiveGrantsByKey(history: LockHistory): Map<string, Grant[]> {
  const byKey = new Map<string, Grant[]>();
  const mixed = new Set<string>();
  for (const grant of history.grants.values()) {
    for (const item of grant.items) {
      if (item.mode !== "exclusive" || grant.items.length > 1) mixed.add(item.key);
      const grants = byKey.get(item.key);
      if (grants === undefined) byKey.set(item.key, [grant]);
      else grants.push(grant);
    }
  }
  for (const key of mixed) byKey.delete(key);
  for (const grants of byKey.values()) grants.sort((a, b) => a.token - b.token);
  return byKey;
}
