/**
 * The definition of linearizability, tried literally: every subset of the operations of unknown
 * outcome, every order that keeps real time, replayed on a plain object. Only for tiny histories.
 * It shares nothing with the checker but the lines of the history.
 */
import type { HistoryEvent } from "../../../jepsen-lite/checker/index.js";

export interface PlainOperation {
  readonly f: string;
  readonly key: string;
  readonly argument: unknown;
  readonly result: unknown;
  readonly isUnknown: boolean;
  readonly from: number;
  readonly to: number;
}

/** A plain object: applies one operation, says whether its answer was right. */
export interface PlainObject {
  readonly initial: () => unknown;
  readonly apply: (
    state: unknown,
    operation: PlainOperation,
  ) => { readonly state: unknown } | undefined;
}

function plainOperations(events: readonly HistoryEvent[]): PlainOperation[] {
  const operations: PlainOperation[] = [];
  for (const [from, event] of events.entries()) {
    if (event.type !== "invoke") continue;
    const to = events.findIndex(
      (other, at) => at > from && other.process === event.process && other.f === event.f,
    );
    const completion = events[to];
    if (completion?.type === "fail") continue;
    const isUnknown = completion?.type !== "ok";
    operations.push({
      f: event.f,
      key: event.key ?? "",
      argument: event.value,
      result: completion?.value,
      isUnknown,
      from,
      to: isUnknown ? Number.POSITIVE_INFINITY : to,
    });
  }
  return operations;
}

/** Whether some order explains every answer. Factorial, on purpose. */
export function isLinearizable(events: readonly HistoryEvent[], object: PlainObject): boolean {
  const operations = plainOperations(events);
  const tryFrom = (left: readonly PlainOperation[], state: unknown): boolean => {
    if (left.every((operation) => operation.isUnknown)) return true;
    const firstReturn = Math.min(...left.map((operation) => operation.to));
    return left.some((operation) => {
      if (operation.from > firstReturn) return false;
      const after = object.apply(state, operation);
      if (after === undefined) return false;
      return tryFrom(
        left.filter((other) => other !== operation),
        after.state,
      );
    });
  };
  return tryFrom(operations, object.initial());
}

const plainRegister: PlainObject = {
  initial: () => null,
  apply: (state, { f, argument, result, isUnknown }) => {
    if (f === "write") return { state: argument };
    if (f === "read") return isUnknown || result === state ? { state } : undefined;
    const [from, to] = argument as [unknown, unknown];
    return from === state ? { state: to } : undefined;
  },
};

const plainMutex: PlainObject = {
  initial: () => false,
  apply: (state, { f }) => {
    if (f === "acquire") return state === false ? { state: true } : undefined;
    return state === true ? { state: false } : undefined;
  },
};

/** All keys in one object: nothing is partitioned here. */
const plainKv: PlainObject = {
  initial: () => ({}),
  apply: (state, { f, key, argument, result, isUnknown }) => {
    const texts = state as Readonly<Record<string, string>>;
    const old = texts[key] ?? "";
    if (f === "get") return isUnknown || result === old ? { state } : undefined;
    return { state: { ...texts, [key]: f === "put" ? argument : old + String(argument) } };
  },
};

/** One holder per key, tokens that rise over all of them; a loss is an operation like any other. */
const plainLock: PlainObject = {
  initial: () => ({ newest: 0, holders: {} }),
  apply: (state, { f, key, argument, result, isUnknown }) => {
    const table = state as { newest: number; holders: Record<string, number> };
    const holder = table.holders[key] ?? 0;
    const token = (argument as { token?: number } | undefined)?.token ?? 0;
    if (f === "lose") {
      return holder === token
        ? { state: { ...table, holders: { ...table.holders, [key]: 0 } } }
        : undefined;
    }
    if (f === "acquire") {
      // Without an answer it may hold under a token nobody knows, and lose it again: no trace.
      if (isUnknown) return { state };
      const granted = (result as { token: number }).token;
      if (holder !== 0 || granted <= table.newest) return undefined;
      return { state: { newest: granted, holders: { ...table.holders, [key]: granted } } };
    }
    const wasReleased = isUnknown || (result as { released: boolean }).released;
    if (!wasReleased) return holder === token ? undefined : { state };
    if (holder !== token) return undefined;
    return { state: { ...table, holders: { ...table.holders, [key]: 0 } } };
  },
};

export const PLAIN_OBJECTS: Readonly<Record<string, PlainObject>> = {
  register: plainRegister,
  "cas-register": plainRegister,
  mutex: plainMutex,
  kv: plainKv,
  lock: plainLock,
};
