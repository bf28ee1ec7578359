/**
 * Real-time exclusion, in one pass for each key: from the moment a client knows that it holds until
 * it gives the hold up, learns of its loss, or its own deadline passes, no other client may hold in
 * conflict. The same count without the deadline shows the effect of the deadline; those overlaps
 * are not violations, and a run with pauses but without such overlaps has not tested anything.
 */
import { type Claim, conflictOf } from "../../../lab/laws/exclusion.js";
import { namesOf, quote, spanText } from "../event-text.js";
import { answerOf, type Finding, FindingBuilder, linesOf } from "./finding.js";
import type { Grant } from "./grant.js";
import type { Item, LockCall } from "./lock-calls.js";
import type { LockHistory } from "./lock-history.js";

interface CertainHold {
  readonly grant: Grant;
  readonly item: Item;
  readonly from: number;
  readonly to: number;
}

export function checkExclusion(history: LockHistory): Finding {
  const builder = new FindingBuilder("exclusion");
  const givenUpAt = readGivenUp(history);
  const exchangedAt = readExchanged(history);
  const certain = new Map<string, CertainHold[]>();
  const believed = new Map<string, CertainHold[]>();
  // A token that was granted twice is two holds.
  for (const grant of [...history.grants.values(), ...history.grantedAgain]) {
    const from = grant.call.operation.returnedAt;
    const to = Math.min(
      givenUpAt.get(grant.token) ?? Number.POSITIVE_INFINITY,
      exchangedAt.get(grant.token) ?? Number.POSITIVE_INFINITY,
    );
    const end = Math.min(to, history.lapsedAt.get(grant.token) ?? to);
    for (const item of grant.items) {
      if (end > from) append(certain, { grant, item, from, to: end });
      if (to > from) append(believed, { grant, item, from, to });
    }
  }
  for (const holds of certain.values()) {
    builder.compared += holds.length;
    sweep(holds, (earlier, later) => report(history, builder, earlier, later));
  }
  let overlaps = 0;
  for (const holds of believed.values()) {
    sweep(holds, () => {
      overlaps += 1;
    });
  }
  return builder.finding({ overlapsWithoutDeadline: overlaps });
}

/** After an upgrade, the new token represents the hold. */
function readExchanged(history: LockHistory): Map<number, number> {
  const exchangedAt = new Map<number, number>();
  for (const { f, token, operation } of history.calls) {
    if (f !== "upgrade" || token === undefined || operation.outcome === "fail") continue;
    if (!exchangedAt.has(token)) exchangedAt.set(token, operation.invokedAt);
  }
  return exchangedAt;
}

/** When each hold stopped being certain for reasons other than its deadline. */
function readGivenUp(history: LockHistory): Map<number, number> {
  const givenUpAt = new Map<number, number>();
  const giveUp = (token: number | undefined, at: number) => {
    if (token === undefined) return;
    const known = givenUpAt.get(token);
    if (known === undefined || at < known) givenUpAt.set(token, at);
  };
  for (const [token, at] of history.mayEndAt) {
    // A deadline that passed is counted separately.
    if (at !== history.lapsedAt.get(token)) giveUp(token, at);
  }
  const bySession = new Map<string, Grant[]>();
  for (const grant of history.grants.values()) {
    const grants = bySession.get(grant.session);
    if (grants === undefined) bySession.set(grant.session, [grant]);
    else grants.push(grant);
  }
  for (const call of history.calls) {
    const { invokedAt, outcome } = call.operation;
    if (outcome === "fail" && call.f !== "release") continue;
    const isEnd = call.f === "release" || call.f === "downgrade" || call.f === "adopt";
    if (isEnd) giveUp(call.token, invokedAt);
    if (call.f === "close") {
      for (const grant of bySession.get(call.session) ?? []) giveUp(grant.token, invokedAt);
    }
  }
  giveUpStolen(history, giveUp);
  return givenUpAt;
}

/** The promise does not cover stealing: only fencing protects against it. */
function giveUpStolen(history: LockHistory, giveUp: (token: number, at: number) => void): void {
  const steals = new Map<string, LockCall[]>();
  for (const call of history.calls) {
    if (!call.isSteal || call.operation.outcome === "fail") continue;
    for (const { key } of call.items) steals.set(key, [...(steals.get(key) ?? []), call]);
  }
  if (steals.size === 0) return;
  for (const grant of history.grants.values()) {
    const { invokedAt } = grant.call.operation;
    for (const { key } of grant.items) {
      const isLater = (steal: LockCall) =>
        steal !== grant.call && steal.operation.returnedAt > invokedAt;
      const first = steals.get(key)?.find(isLater);
      if (first !== undefined) giveUp(grant.token, first.operation.invokedAt);
    }
  }
}

function append(lists: Map<string, CertainHold[]>, hold: CertainHold): void {
  const list = lists.get(hold.item.key);
  if (list === undefined) lists.set(hold.item.key, [hold]);
  else list.push(hold);
}

/** Calls `onConflict` once for each hold that begins while another one in conflict is certain. */
function sweep(
  holds: CertainHold[],
  onConflict: (earlier: CertainHold, later: CertainHold) => void,
): void {
  holds.sort((a, b) => a.from - b.from);
  let active: CertainHold[] = [];
  for (const hold of holds) {
    active = active.filter((other) => other.to > hold.from);
    const conflicting = conflictWith(active, hold);
    if (conflicting !== undefined) onConflict(conflicting, hold);
    active.push(hold);
  }
}

function conflictWith(active: readonly CertainHold[], hold: CertainHold): CertainHold | undefined {
  const others = active.filter(({ grant }) => grant !== hold.grant);
  return conflictOf(
    claimOf(hold),
    others.map((other) => [other, claimOf(other)]),
  )?.holder;
}

function claimOf({ item, grant }: CertainHold): Claim {
  return { ...item, slots: grant.call.slots.get(item.key) };
}

function report(
  history: LockHistory,
  builder: FindingBuilder,
  earlier: CertainHold,
  later: CertainHold,
): void {
  const { events } = history.paired;
  const { key } = later.item;
  const [both, one, other] = namesOf(answerOf(earlier.grant.call), answerOf(later.grant.call));
  // An end between two lines was seen by the later one.
  const end = events[Math.ceil(Math.min(earlier.to, later.to))];
  const fromNs = answerOf(later.grant.call).timeNs;
  const toNs = (end ?? events.at(-1))?.timeNs;
  const span = spanText(fromNs, toNs) || " at the same time";
  const isPermits = earlier.item.mode === "permits" && later.item.mode === "permits";
  builder.violation(
    isPermits ? "too many permits" : "two holders",
    `${both} held ${isPermits ? "too many permits of " : ""}${quote(key)}${span}: ` +
      `${one}${howOf(earlier)} by token ${earlier.grant.token}, ` +
      `${other}${howOf(later)} by token ${later.grant.token}`,
    { keys: [key], events: [...linesOf(earlier.grant.call, later.grant.call), end], fromNs, toNs },
  );
}

/** Adds the mode unless it is exclusive. */
function howOf({ item, grant }: CertainHold): string {
  if (item.mode === "exclusive") return "";
  if (item.mode === "shared") return " shared";
  const slots = grant.call.slots.get(item.key);
  const which = slots === undefined ? "" : ` (slots ${slots.join()})`;
  return ` ${item.permits} of ${item.limit ?? "?"}${which}`;
}
