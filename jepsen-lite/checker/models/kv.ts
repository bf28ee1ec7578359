/**
 * Strings under keys, with append. A key that nothing was put into reads as `""` or as `null`;
 * `--init` gives every key a first value.
 */
import { BadHistoryError } from "../input/history-event.js";
import type { Action } from "../linearizable/problem.js";
import type { Operation, PairedHistory } from "../operations.js";
import { badArgument, badResult, type Model, partsByKey } from "./model.js";

/** The text, or `null` while nothing was put or appended. */
type KvState = string | null;

export const kvModel: Model = {
  name: "kv",
  functions: ["get", "put", "append"],
  parts: (history, options) => {
    const seen = textsSeen(history);
    return partsByKey<KvState>(history, {
      initial: initialState(options.init),
      encode: (state) => (state === null ? "absent" : `text ${state}`),
      describe: (state) => (state === null ? "nothing" : JSON.stringify(state)),
      actionOf: (operation) => (isUnseen(operation, seen) ? undefined : actionOf(operation)),
    });
  },
};

/** By key: every text that a get was answered with. */
function textsSeen(history: PairedHistory): Map<string, Set<string>> {
  const seen = new Map<string, Set<string>>();
  for (const { f, outcome, key, result } of history.operations) {
    if (f !== "get" || outcome !== "ok" || key === undefined) continue;
    const texts = seen.get(key) ?? new Set<string>();
    seen.set(key, texts.add(textOf(result ?? null) ?? ""));
  }
  return seen;
}

/**
 * A change without an answer of which no get ever showed a trace need not have happened: without it
 * every answer is explained as well. Leaving it out spares the search every way to place it.
 */
function isUnseen(operation: Operation, seen: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  if (operation.outcome !== "info" || operation.f === "get") return false;
  const text = textOf(operation.argument);
  if (typeof text !== "string") return false;
  for (const answer of seen.get(operation.key ?? "") ?? []) {
    if (operation.f === "put" ? answer.startsWith(text) : answer.includes(text)) return false;
  }
  return true;
}

function initialState(init: unknown): KvState {
  if (init === undefined || init === null) return null;
  if (typeof init === "string" || typeof init === "number") return String(init);
  throw new BadHistoryError("--init: every key of kv begins with a string or null");
}

function actionOf(operation: Operation): Action<KvState> | undefined {
  if (operation.key === undefined) throw badArgument(operation, 'it has no "key"');
  if (operation.outcome === "fail") return undefined;
  if (operation.f === "get") return getAction(operation);
  const value = textOf(operation.argument);
  if (value === undefined || value === null) {
    throw badArgument(operation, "expected a string as its value");
  }
  const text = `${operation.f} ${JSON.stringify(value)}`;
  if (operation.f === "put") return { id: text, isPure: false, apply: () => value, text };
  return { id: text, isPure: false, apply: (state) => (state ?? "") + value, text };
}

function getAction(operation: Operation): Action<KvState> | undefined {
  if (operation.outcome !== "ok") return undefined;
  const value = textOf(operation.result ?? null);
  if (value === undefined) throw badResult(operation, "expected a string or null as its result");
  return {
    id: `get ${JSON.stringify(value)}`,
    isPure: true,
    apply: (state) => {
      if (state === null) return value === null || value === "" ? state : undefined;
      return state === value ? state : undefined;
    },
    text: `get ${JSON.stringify(value)}`,
  };
}

function textOf(value: unknown): string | null | undefined {
  if (value === null || typeof value === "string") return value;
  return typeof value === "number" ? String(value) : undefined;
}
