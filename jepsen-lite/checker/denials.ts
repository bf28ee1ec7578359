/**
 * What calls say of themselves when they fail. A `fail` says that the operation certainly did not
 * happen; this decides by the rest of the history whether that can be. An operation whose effect was
 * seen nevertheless is an anomaly of its own kind, and counts for all other checks as one of unknown
 * outcome, so that nothing else follows from what was said of it.
 *
 * There are two kinds of evidence. Others saw the effect itself: a hold with the mark of the request,
 * or the loss of a hold for which nothing else can be the reason. Or nothing explains the answers
 * except that one of the operations happened which only their own clients deny (`denied`).
 */
import { nameOf, operationText } from "./event-text.js";
import type { HistoryEvent } from "./input/history-event.js";
import { type Finding, FindingBuilder } from "./lock/finding.js";
import { fieldsOf } from "./lock/lock-calls.js";
import { readLockHistory } from "./lock/lock-history.js";
import { endersIn, endsAskedFor, lossesIn } from "./lock/losses.js";
import { asUnknown, type Operation, type PairedHistory } from "./operations.js";
import type { Violation } from "./violation.js";

const KIND = "denied command took effect";
/** How many of the operations that may be meant are shown with a violation, the newest. */
const SUSPECTS_MAX = 3;

/** An operation that was said not to have happened, and the line that shows its effect. */
export interface Disproof {
  readonly operation: Operation;
  readonly seen: HistoryEvent;
}

/** Operations of a lock history whose effect others saw although they were said not to have happened. */
export function disprovedIn(history: PairedHistory): readonly Disproof[] {
  return [...disprovedGrants(history), ...disprovedEnds(history)];
}

/** Each of these counts as one of unknown outcome. */
export function withUnknown(
  history: PairedHistory,
  unknown: ReadonlySet<Operation>,
): PairedHistory {
  if (unknown.size === 0) return history;
  const changed = new Map<Operation, Operation>();
  for (const operation of unknown) changed.set(operation, asUnknown(operation));
  const now = (operation: Operation) => changed.get(operation) ?? operation;
  return {
    ...history,
    operations: history.operations.map(now),
    notes: history.notes.map((note) => {
      return note.during === undefined ? note : { ...note, during: now(note.during) };
    }),
  };
}

/** Those that only their own client denies: the service has not answered. */
export function deniedIn({ operations }: PairedHistory): readonly Operation[] {
  return operations.filter(({ completion }) => completion?.denied === true);
}

/** `vanished`: what nothing explains if all is believed that clients deny, and something does if not. */
export function denialsFinding(
  history: PairedHistory,
  disproofs: readonly Disproof[],
  vanished: readonly Violation[],
): Finding {
  const builder = new FindingBuilder("denials");
  builder.compared = comparableDenials(history);
  for (const { operation, seen } of disproofs) {
    const { invocation, completion } = operation;
    const text = `${toldOf(operation)}, but its effect was seen`;
    builder.violation(KIND, text, {
      keys: keysOf(operation),
      events: [invocation, completion, seen],
    });
  }
  const denied = deniedIn(history);
  for (const violation of vanished) {
    const suspects = suspectsFor(violation, denied);
    const shown = suspects.slice(-SUSPECTS_MAX);
    const [first] = suspects;
    const who =
      first !== undefined && suspects.length === 1
        ? toldOf(first)
        : `${suspects.length} clients were told that what they asked for was not carried out`;
    const lines = new Set(violation.lines);
    builder.violation(
      KIND,
      `${who}; if that is believed, nothing explains that ${violation.text}`,
      {
        keys: violation.keys,
        events: [
          ...shown.flatMap(({ invocation, completion }) => [invocation, completion]),
          ...history.events.filter(({ line }) => lines.has(line)),
        ],
        fromNs: violation.fromNs,
        toNs: violation.toNs,
      },
    );
  }
  return builder.finding();
}

/** How many operations are compared: what clients deny, and requests that others would have seen. */
function comparableDenials(history: PairedHistory): number {
  const { operations, notes } = history;
  const seen = new Set(operations.filter(({ f }) => f === "inspect").map(({ key }) => key));
  for (const { event } of notes) if (event.f === "change") seen.add(event.key);
  const isSeen = (operation: Operation) =>
    markOf(operation) !== undefined && keysOf(operation).some((key) => seen.has(key));
  return operations.filter((operation) => {
    return operation.outcome === "fail" && (operation.completion?.denied || isSeen(operation));
  }).length;
}

function disprovedGrants({ operations, notes }: PairedHistory): Disproof[] {
  const failed = new Map<string, Operation>();
  for (const operation of operations) {
    const mark = operation.outcome === "fail" ? markOf(operation) : undefined;
    if (mark !== undefined) failed.set(mark, operation);
  }
  const found = new Map<Operation, HistoryEvent>();
  const see = (mark: unknown, event: HistoryEvent | undefined) => {
    const operation = typeof mark === "string" ? failed.get(mark) : undefined;
    if (operation !== undefined && event !== undefined && !found.has(operation)) {
      found.set(operation, event);
    }
  };
  for (const { event } of notes) {
    if (event.f !== "change") continue;
    const { kind, mark } = fieldsOf(event.value);
    if (kind === "granted") see(mark, event);
  }
  for (const { f, outcome, completion } of operations) {
    if (f !== "inspect" || outcome !== "ok") continue;
    const { holds } = fieldsOf(completion?.value);
    for (const hold of Array.isArray(holds) ? holds : []) see(fieldsOf(hold)["mark"], completion);
  }
  return [...found].map(([operation, seen]) => ({ operation, seen }));
}

/** Holds that others ended, where everybody who may have asked for it was told that it did not happen. */
function disprovedEnds(history: PairedHistory): Disproof[] {
  const found = new Map<Operation, HistoryEvent>();
  if (!history.operations.some(isDeniedEnd)) return [];
  const locks = readLockHistory(history);
  const enders = endersIn(locks);
  for (const loss of lossesIn(locks)) {
    const asked = endsAskedFor(loss, enders);
    const denied = asked.filter(({ outcome }) => outcome === "fail");
    const last = denied.at(-1);
    if (last === undefined || denied.length < asked.length) continue;
    if (!found.has(last)) found.set(last, loss.note.event);
  }
  return [...found].map(([operation, seen]) => ({ operation, seen }));
}

/** Somebody asked for the end of what others hold, and was told that nothing has ended. */
function isDeniedEnd({ f, outcome, argument }: Operation): boolean {
  if (outcome !== "fail") return false;
  return f === "revoke" || f === "end-session" || fieldsOf(argument)["steal"] === true;
}

/** Denied operations on the keys of a violation, invoked before its last line. */
function suspectsFor({ keys, lines }: Violation, denied: readonly Operation[]): Operation[] {
  const end = lines.at(-1) ?? Number.POSITIVE_INFINITY;
  const before = denied.filter(({ invocation }) => invocation.line < end);
  const close = before.filter((operation) => {
    const own = keysOf(operation);
    return own.length === 0 || own.some((key) => keys.includes(key));
  });
  return close.length > 0 ? close : before;
}

function toldOf({ invocation, completion }: Operation): string {
  const error = completion?.error;
  const why = error === undefined ? "" : ` (${error})`;
  return (
    `${nameOf(invocation)} was told that its ${operationText(invocation)} ` +
    `was not carried out${why}`
  );
}

function markOf({ f, argument }: Operation): string | undefined {
  const { mark } = fieldsOf(argument);
  return f === "acquire" && typeof mark === "string" ? mark : undefined;
}

function keysOf({ key, argument }: Operation): string[] {
  if (key !== undefined) return [key];
  const { items } = fieldsOf(argument);
  return Array.isArray(items) ? items.map((item) => String(fieldsOf(item)["key"])) : [];
}
