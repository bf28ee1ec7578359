/**
 * The interface of a model: the operations it knows, and how it divides a history into parts to be
 * searched. Models of one object only define the effect of one operation; `partsByKey` does the
 * rest.
 */
import { BadHistoryError } from "../input/history-event.js";
import type { Action, Part, Step } from "../linearizable/problem.js";
import type { Operation, PairedHistory } from "../operations.js";

export interface Model {
  readonly name: string;
  /** The possible values of `f`. */
  readonly functions: readonly string[];
  /** @throws BadHistoryError for values that the model cannot read, with the line. */
  readonly parts: (history: PairedHistory) => readonly Part<unknown>[];
}

export interface ObjectSpecification<State> {
  readonly initial: State;
  readonly isBounded: boolean;
  readonly encode: (state: State) => string;
  readonly describe: (state: State) => string;
  /** `undefined` for an operation that says nothing about the object. */
  readonly actionOf: (operation: Operation) => Action<State> | undefined;
}

/** One part for each key; operations without a key share one. */
export function partsByKey<State>(
  history: PairedHistory,
  specification: ObjectSpecification<State>,
): Part<unknown>[] {
  const byKey = new Map<string, { steps: Step<State>[]; operations: Operation[] }>();
  for (const operation of history.operations) {
    const key = operation.key ?? "";
    const part = byKey.get(key) ?? { steps: [], operations: [] };
    byKey.set(key, part);
    part.operations.push(operation);
    const action = specification.actionOf(operation);
    if (action === undefined) continue;
    const { invokedAt, returnedAt } = operation;
    part.steps.push({ action, operation, invokedAt, returnedAt });
  }
  const searched = [...byKey].filter(([, { steps }]) => steps.length > 0);
  return searched.map(([key, { steps, operations }]) =>
    anyState<State>({
      keys: key === "" ? [] : [key],
      initial: specification.initial,
      isBounded: specification.isBounded,
      encode: specification.encode,
      describe: specification.describe,
      steps,
      operations,
    }),
  );
}

/** Hides the type of a part's state from everything but its own functions. */
export function anyState<State>(part: Part<State>): Part<unknown> {
  return part as unknown as Part<unknown>;
}

/** Equal texts for equal JSON values, independent of the order of their fields. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    if (typeof inner !== "object" || inner === null || Array.isArray(inner)) return inner;
    return Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** The line to blame for an argument. */
export function badArgument(operation: Operation, message: string): BadHistoryError {
  return new BadHistoryError(`${operation.f}: ${message}`, operation.invocation.line);
}

/** The line to blame for a result. */
export function badResult(operation: Operation, message: string): BadHistoryError {
  const line = operation.completion?.line ?? operation.invocation.line;
  return new BadHistoryError(`${operation.f}: ${message}`, line);
}
