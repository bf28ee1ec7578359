/**
 * Reads the operations of a lock history into calls with typed arguments and results. Every lock
 * check starts from here; docs/internals/checker.md lists the possible contents of `value`.
 */
import type { Claim } from "../../../lab/laws/exclusion.js";
import { badArgument, badResult } from "../models/model.js";
import { asUnknown, type Operation, type PairedHistory } from "../operations.js";

/** Which slots it has is an answer. */
export type Item = Omit<Claim, "slots">;

export const LOCK_FUNCTIONS = [
  "acquire",
  "release",
  "upgrade",
  "downgrade",
  "update",
  "verify",
  "hand-over",
  "adopt",
  "revoke",
  "end-session",
  "close",
  "inspect",
] as const;

export type LockFunction = (typeof LOCK_FUNCTIONS)[number];

const NAMES: ReadonlySet<string> = new Set(LOCK_FUNCTIONS);

export interface LockCall {
  readonly operation: Operation;
  readonly f: LockFunction;
  readonly session: string;
  /** Unnamed tasks are all different. */
  readonly task: string;
  readonly hasNamedTask: boolean;
  /** For an acquire: what it asks for. */
  readonly items: readonly Item[];
  /** The token it was called with. */
  readonly token: number | undefined;
  /** The token it was granted, if its outcome is `ok` and it grants one. */
  readonly granted: number | undefined;
  readonly slots: ReadonlyMap<string, readonly number[]>;
  readonly untilNs: number | undefined;
  readonly isReentrant: boolean;
  readonly isSteal: boolean;
  readonly priority: number;
  /**
   * Lease, lock delay and minimum hold time, if the history has them: how long the key may stay
   * closed.
   */
  readonly ttlMs: number | undefined;
  readonly cooldownMs: number;
  /** The longest time for which it may be held. */
  readonly maxHoldMs: number | undefined;
  /** For an end of a session by somebody else: which one, if the history says it. */
  readonly target: string | undefined;
  /**
   * For a revoke or an end of a session: with a grace its holder hears of it in time, and without one
   * it is over when it is answered, if `now` is given.
   */
  readonly hasGrace: boolean;
  readonly isAtOnce: boolean;
  /** For a release: whether it ended something. For a verify: whether the token is current. */
  readonly answer: boolean;
  /** For an inspect: the tokens of the holds. */
  readonly holds: readonly number[];
}

const GRANTING: ReadonlySet<LockFunction> = new Set(["acquire", "upgrade", "adopt"]);
/** These may name several tokens, of holds that go from one client to another as a whole. */
const OF_SEVERAL: ReadonlySet<LockFunction> = new Set(["hand-over", "adopt"]);
const NEEDS_TOKEN: ReadonlySet<LockFunction> = new Set([
  "release",
  "upgrade",
  "downgrade",
  "update",
  "verify",
  "hand-over",
  "adopt",
]);

export type Fields = Readonly<Record<string, unknown>>;

/** @throws BadHistoryError for a value that is not documented. */
export function readLockCalls(history: PairedHistory): LockCall[] {
  const isLockCall = ({ f }: Operation) => NAMES.has(f);
  return history.operations.filter(isLockCall).flatMap(readCalls);
}

/** One, or one for each token that it names. What became of a token without a grant is not known. */
function readCalls(operation: Operation): LockCall[] {
  const argument = fieldsOf(operation.argument);
  const result = operation.outcome === "ok" ? fieldsOf(operation.completion?.value) : {};
  const { tokens } = argument;
  if (tokens === undefined) return [readCall(operation, argument, result)];
  if (!OF_SEVERAL.has(operation.f as LockFunction) || !Array.isArray(tokens)) {
    throw badArgument(operation, '"tokens" is not a list of what can be several');
  }
  const { grants = [] } = result;
  if (!Array.isArray(grants)) throw badResult(operation, '"grants" is not a list');
  return tokens.map((token: unknown, position) => {
    const grant: unknown = grants[position];
    const isWithout = operation.f === "adopt" && operation.outcome === "ok" && grant == null;
    const own = isWithout ? asUnknown(operation) : operation;
    return readCall(own, { ...argument, token }, fieldsOf(grant));
  });
}

function readCall(operation: Operation, argument: Fields, result: Fields): LockCall {
  const f = operation.f as LockFunction;
  const { invocation, completion } = operation;
  const isOk = operation.outcome === "ok";
  const token = numberIn(argument, "token");
  if (NEEDS_TOKEN.has(f) && token === undefined) throw badArgument(operation, 'it has no "token"');
  const granted = isOk && GRANTING.has(f) ? numberIn(result, "token") : undefined;
  if (isOk && GRANTING.has(f) && granted === undefined) {
    throw badResult(operation, "an ok without a token");
  }
  const items = f === "acquire" ? readItems(operation, argument) : [];
  const session = completion?.session ?? invocation.session ?? operation.process;
  const task = invocation.task;
  return {
    operation,
    f,
    session,
    task: task === undefined ? `line ${invocation.line}` : `${session}/${task}`,
    hasNamedTask: task !== undefined,
    items,
    token,
    granted,
    slots: readSlots(operation, result["slots"], items),
    untilNs: numberIn(result, "untilNs"),
    isReentrant: argument["reentrant"] === true,
    isSteal: argument["steal"] === true,
    priority: numberIn(argument, "priority") ?? 0,
    ttlMs: numberIn(argument, "ttlMs"),
    cooldownMs: Math.max(
      numberIn(argument, "lockDelayMs") ?? 0,
      numberIn(argument, "minHoldMs") ?? 0,
    ),
    maxHoldMs: numberIn(argument, "maxHoldMs"),
    target: textIn(argument, "session"),
    hasGrace: numberIn(argument, "graceMs") !== undefined,
    isAtOnce: argument["now"] === true,
    answer: (f === "verify" ? result["current"] : result["released"]) !== false,
    holds: f === "inspect" && isOk ? readHolds(operation, result["holds"]) : [],
  };
}

export function fieldsOf(value: unknown): Fields {
  const isRecord = typeof value === "object" && value !== null && !Array.isArray(value);
  return isRecord ? (value as Fields) : {};
}

export function numberIn(fields: Fields, field: string): number | undefined {
  const value = fields[field];
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

function textIn(fields: Fields, field: string): string | undefined {
  const value = fields[field];
  return typeof value === "number" || typeof value === "string" ? String(value) : undefined;
}

function readItems(operation: Operation, argument: Fields): Item[] {
  const listed = argument["items"];
  if (listed === undefined) {
    if (operation.key === undefined) throw badArgument(operation, 'neither "key" nor "items"');
    return [readItem(operation, argument, operation.key)];
  }
  if (!Array.isArray(listed) || listed.length === 0) {
    throw badArgument(operation, '"items" is not a list of items');
  }
  return listed.map((item) => {
    const fields = fieldsOf(item);
    const key = fields["key"];
    if (typeof key !== "string" && typeof key !== "number") {
      throw badArgument(operation, 'an item has no "key"');
    }
    return readItem(operation, fields, String(key));
  });
}

function readItem(operation: Operation, fields: Fields, key: string): Item {
  const permits = numberIn(fields, "permits");
  if (permits !== undefined) {
    return { key, mode: "permits", permits, limit: numberIn(fields, "limit") };
  }
  const mode = fields["mode"] ?? "exclusive";
  if (mode !== "exclusive" && mode !== "shared") {
    throw badArgument(operation, `mode ${JSON.stringify(mode)}, expected exclusive or shared`);
  }
  return { key, mode, permits: 0, limit: undefined };
}

function readSlots(
  operation: Operation,
  slots: unknown,
  items: readonly Item[],
): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, readonly number[]>();
  if (slots === undefined || slots === null) return found;
  const only = items.find((item) => item.mode === "permits");
  const listed = Array.isArray(slots) && only !== undefined ? { [only.key]: slots } : slots;
  for (const [key, numbers] of Object.entries(fieldsOf(listed))) {
    if (!Array.isArray(numbers) || !numbers.every((slot) => Number.isInteger(slot))) {
      throw badResult(operation, '"slots" contains something other than slot numbers');
    }
    found.set(key, numbers as number[]);
  }
  return found;
}

function readHolds(operation: Operation, holds: unknown): number[] {
  if (!Array.isArray(holds)) throw badResult(operation, 'an ok without "holds"');
  return holds.map((hold) => {
    const token = typeof hold === "number" ? hold : numberIn(fieldsOf(hold), "token");
    if (token === undefined) throw badResult(operation, "a hold without a token");
    return token;
  });
}
