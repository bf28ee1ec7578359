/**
 * Watch streams: in each, revisions rise without repetitions; streams of the same key that ran at
 * the same time saw the same transitions; and a grant that a client received while a stream ran is
 * in it.
 */
import { quote } from "../event-text.js";
import { type Finding, FindingBuilder, linesOf } from "./finding.js";
import type { Grant } from "./grant.js";
import type { LockHistory } from "./lock-history.js";
import { compareRevisions, readChanges, type WatchChange } from "./watch-changes.js";

export function checkWatches(history: LockHistory): Finding {
  const builder = new FindingBuilder("watches");
  const streams = new Map<string, WatchChange[]>();
  for (const change of readChanges(history.paired)) {
    const stream = streams.get(change.watch);
    if (stream === undefined) streams.set(change.watch, [change]);
    else stream.push(change);
  }
  const eventOf = (change: WatchChange) => history.paired.events[change.at];
  const byKey = new Map<string, WatchChange[][]>();
  for (const [watch, changes] of streams) {
    for (const [position, change] of changes.entries()) {
      const before = changes[position - 1];
      if (before === undefined) continue;
      builder.compared += 1;
      const difference = compareRevisions(before.revision, change.revision);
      if (difference < 0) continue;
      const how = difference === 0 ? "twice" : `after revision ${before.revision.join(".")}`;
      builder.violation(
        "watch out of order",
        `watch ${watch} reported revision ${change.revision.join(".")} of ${quote(change.key)} ${how}`,
        { keys: [change.key], events: [eventOf(before), eventOf(change)] },
      );
    }
    for (const [key, own] of groupByKey(changes)) {
      const lists = byKey.get(key);
      if (lists === undefined) byKey.set(key, [own]);
      else lists.push(own);
    }
  }
  const grants = acquiresByKey(history);
  for (const [key, lists] of byKey) {
    checkSame(key, lists, history, builder);
    for (const list of lists) checkGrantsSeen(key, list, grants.get(key) ?? [], builder);
  }
  return builder.finding();
}

function groupByKey(changes: readonly WatchChange[]): Map<string, WatchChange[]> {
  const groups = new Map<string, WatchChange[]>();
  for (const change of changes) {
    const group = groups.get(change.key);
    if (group === undefined) groups.set(change.key, [change]);
    else group.push(change);
  }
  return groups;
}

/** Each stream against the union of all, between its own first and last revision. */
function checkSame(
  key: string,
  lists: readonly (readonly WatchChange[])[],
  history: LockHistory,
  builder: FindingBuilder,
): void {
  if (lists.length < 2) return;
  const all = new Map<string, WatchChange>();
  for (const change of lists.flat()) all.set(change.revision.join("."), change);
  const union = [...all.values()].sort((a, b) => compareRevisions(a.revision, b.revision));
  for (const list of lists) {
    const seen = new Set(list.map((change) => change.revision.join(".")));
    const first = list[0] as WatchChange;
    const last = list.at(-1) as WatchChange;
    for (const change of union) {
      if (compareRevisions(change.revision, first.revision) < 0) continue;
      if (compareRevisions(change.revision, last.revision) > 0) break;
      builder.compared += 1;
      if (seen.has(change.revision.join("."))) continue;
      const { events } = history.paired;
      builder.violation(
        "watch missed a change",
        `watch ${first.watch} left out revision ${change.revision.join(".")} of ${quote(key)} ` +
          `(${change.kind}), which watch ${change.watch} reported`,
        { keys: [key], events: [events[first.at], events[change.at], events[last.at]] },
      );
    }
  }
}

function acquiresByKey(history: LockHistory): Map<string, Grant[]> {
  const byKey = new Map<string, Grant[]>();
  for (const grant of history.grants.values()) {
    if (grant.call.f !== "acquire") continue;
    for (const { key } of grant.items) {
      const grants = byKey.get(key);
      if (grants === undefined) byKey.set(key, [grant]);
      else grants.push(grant);
    }
  }
  return byKey;
}

/** Tokens rise with revisions, so a grant between the first and last seen must have been seen. */
function checkGrantsSeen(
  key: string,
  list: readonly WatchChange[],
  grants: readonly Grant[],
  builder: FindingBuilder,
): void {
  const tokens = new Set<number>();
  let smallest = Number.POSITIVE_INFINITY;
  let largest = Number.NEGATIVE_INFINITY;
  for (const { kind, token } of list) {
    if (kind !== "granted" || token === undefined) continue;
    tokens.add(token);
    smallest = Math.min(smallest, token);
    largest = Math.max(largest, token);
  }
  for (const grant of grants) {
    if (grant.token < smallest || grant.token > largest) continue;
    builder.compared += 1;
    if (tokens.has(grant.token)) continue;
    builder.violation(
      "watch missed a change",
      `watch ${list[0]?.watch} reported grants of ${quote(key)} before and after token ` +
        `${grant.token}, but not that one`,
      { keys: [key], events: linesOf(grant.call) },
    );
  }
}
