/**
 * Explains why a part has no linearization: the shortest prefix of the history without one ends
 * with a certain line. Up to the line before there are explanations; this shows the states in which
 * the best of them end, with the operations that were still open.
 */
import { eventText, operationText } from "../event-text.js";
import type { Operation } from "../operations.js";
import { type Violation, violationOf } from "../violation.js";
import type { PathStep } from "./moves.js";
import type { Part, Refusal, Step } from "./problem.js";
import type { Refutation } from "./refinement.js";
import type { Search } from "./search.js";
import { ILLEGAL } from "./states.js";

export interface OperationView {
  readonly process: string;
  readonly f: string;
  readonly key?: string;
  /** The operation and its answer, as one phrase. */
  readonly text: string;
  readonly outcome: "ok" | "fail" | "info";
  /** `index` and line of its `invoke` and of its completion. */
  readonly invokeIndex: number;
  readonly invokeLine: number;
  readonly completeIndex?: number;
  readonly completeLine?: number;
}

export interface LastState {
  readonly state: string;
  /** The last steps of that explanation, oldest first. */
  readonly after: readonly string[];
  /** Steps that may have happened there, and why each of them fails. */
  readonly refused: readonly string[];
}

export interface Counterexample {
  readonly keys: readonly string[];
  /** Events of the whole history up to and including the line that cannot be explained. */
  readonly prefixEvents: number;
  /**
   * False if the budget ran out before it was certain that every shorter prefix has an explanation.
   */
  readonly isShortest: boolean;
  readonly line: number;
  readonly index: number;
  /** The operation whose answer cannot be explained. */
  readonly operation: OperationView;
  /**
   * The other operations on its keys that were open then, whatever became of them, and the newest of
   * those without an answer before it, which may still take effect.
   */
  readonly concurrent: readonly OperationView[];
  readonly lastStates: readonly LastState[];
  /** The last operation that was explained before it, if any. */
  readonly previous?: OperationView;
  /** All of this in one sentence, and line by line. */
  readonly violation: Violation;
}

const AFTER_MAX = 8;
/** Operations without an answer that were over before are shown up to this number, the newest. */
const UNANSWERED_MAX = 24;

function viewOf(operation: Operation, text: string): OperationView {
  const { invocation, completion } = operation;
  return {
    process: operation.process,
    f: operation.f,
    ...(operation.key === undefined ? {} : { key: operation.key }),
    text,
    outcome: operation.outcome,
    invokeIndex: invocation.index,
    invokeLine: invocation.line,
    ...(completion === undefined
      ? {}
      : { completeIndex: completion.index, completeLine: completion.line }),
  };
}

/** For a search that ended without a linearization. */
export function explain<State>(refutation: Refutation<State>): Counterexample {
  const { search, layer, rows, isShortest } = refutation;
  const { timeline } = search;
  const refused = timeline.certain[layer] as Step<State>;
  const operation = refused.operation as Operation;
  const before = timeline.certain[layer - 1]?.operation;
  const beforeText = timeline.certain[layer - 1]?.action.text;
  const open = operationsOpenAt(timeline.part, operation);
  const textOf = textsIn(timeline.part);
  const lastStates = different(rows.map((row) => lastState(search, layer, row)));
  return {
    keys: timeline.part.keys,
    prefixEvents: refused.returnedAt + 1,
    isShortest,
    line: operation.completion?.line ?? operation.invocation.line,
    index: operation.completion?.index ?? operation.invocation.index,
    operation: viewOf(operation, refused.action.text),
    concurrent: open.map((each) => viewOf(each, textOf(each))),
    lastStates,
    ...(before === undefined ? {} : { previous: viewOf(before, beforeText ?? "") }),
    violation: violationIn(refutation, open, before, lastStates[0]),
  };
}

/** `open`: the other operations that were open. `before`: the last one that was explained. */
function violationIn<State>(
  { search, layer, rows }: Refutation<State>,
  open: readonly Operation[],
  before: Operation | undefined,
  best: LastState | undefined,
): Violation {
  const { timeline, states } = search;
  const refused = timeline.certain[layer] as Step<State>;
  const operation = refused.operation as Operation;
  const answer = operation.completion ?? operation.invocation;
  const refusals = rows.map((row): Refusal | undefined => {
    const state = states.state(stateAt(search, row));
    return refused.action.refusal?.(state);
  });
  const refusal = refusals.find((each) => each !== undefined);
  const why = refusal === undefined ? "" : `: ${refusal.because}`;
  const text = `${eventText(answer)}; no order of operations explains that${why}`;
  const events = [...open, ...(before === undefined ? [] : [before]), operation]
    .flatMap(({ invocation, completion }) => [invocation, completion])
    .filter((event) => event !== undefined && event.line <= answer.line);
  const violation = violationOf(refusal?.kind ?? "unexplained answer", text, {
    keys: timeline.part.keys,
    events,
  });
  const state = best === undefined ? [] : [`the best order ends in this state: ${best.state}`];
  const reasons = [...state, ...(best?.refused ?? []), ...open.map(outcomeText)];
  return { ...violation, reasons };
}

/** What became of an operation that was open, whenever that was. */
function outcomeText({ invocation, completion }: Operation): string {
  const asked = `${eventText(invocation)} (line ${invocation.line})`;
  if (completion === undefined) return `open then: ${asked}; no answer until the end`;
  return `open then: ${asked}; ${eventText(completion)} (line ${completion.line})`;
}

/**
 * The other operations on the keys of `refused` that were open at some moment of it, and the newest
 * of those without an answer before it: they may have taken effect since.
 */
function operationsOpenAt<State>({ operations }: Part<State>, refused: Operation): Operation[] {
  const unanswered: Operation[] = [];
  const open: Operation[] = [];
  for (const operation of operations) {
    if (operation === refused || operation.invokedAt > refused.returnedAt) continue;
    const endLine = operation.completion?.line ?? Number.POSITIVE_INFINITY;
    if (endLine > refused.invocation.line) open.push(operation);
    else if (operation.outcome === "info") unanswered.push(operation);
  }
  return [...unanswered.slice(-UNANSWERED_MAX), ...open];
}

/** What each operation did, in the words of the model if it has any for it. */
function textsIn<State>({ steps }: Part<State>): (operation: Operation) => string {
  const texts = new Map(steps.map(({ operation, action }) => [operation, action.text] as const));
  return (operation) => texts.get(operation) ?? operationText(operation.invocation);
}

/** Explanations that differ only in older steps look the same. */
function different(states: readonly LastState[]): LastState[] {
  return [...new Map(states.map((state) => [JSON.stringify(state), state])).values()];
}

function lastState<State>(search: Search<State>, layer: number, row: number): LastState {
  const { timeline, states } = search;
  const path = search.path(row);
  const state = stateAt(search, row);
  const done = new Set(path.map((step) => step.certain));
  const from = timeline.pendingFrom[layer] as number;
  const end = timeline.pendingFrom[layer + 1] as number;
  const refused: string[] = [];
  for (let at = from; at < end; at += 1) {
    const step = timeline.pending[at] as number;
    if (done.has(step)) continue;
    const next = states.next(state, timeline.actionClass[step] as number);
    const text = labelOf(timeline.certain[step] as Step<State>);
    if (next === ILLEGAL) refused.push(`${text}: impossible here${whyNot(search, step, state)}`);
    else refused.push(`${text}: then ${timeline.part.describe(states.state(next))}, a dead end`);
  }
  return {
    state: timeline.part.describe(states.state(state)),
    after: path.slice(-AFTER_MAX).map((step) => pathText(search, step)),
    refused,
  };
}

/** Where the explanation of that row ends. */
function stateAt<State>(search: Search<State>, row: number): number {
  const { timeline, states } = search;
  return search.path(row).at(-1)?.state ?? states.numberOf(timeline.part.initial);
}

function whyNot<State>({ timeline, states }: Search<State>, step: number, state: number): string {
  const refusal = timeline.certain[step]?.action.refusal?.(states.state(state));
  return refusal === undefined ? "" : `: ${refusal.because}`;
}

function pathText<State>(search: Search<State>, step: PathStep): string {
  const { timeline, states } = search;
  const openClass = timeline.openClasses[step.openClass];
  const taken =
    openClass === undefined
      ? (timeline.certain[step.certain] as Step<State>)
      : (timeline.openSteps[openClass.steps[0] as number] as Step<State>);
  const after = timeline.part.describe(states.state(step.state));
  return `${labelOf(taken)} ⇒ ${after}`;
}

/** The step with its process and the line of its invocation. */
function labelOf<State>(step: Step<State>): string {
  const { operation } = step;
  if (operation === undefined) return step.action.text;
  return `process ${operation.process} ${step.action.text} (line ${operation.invocation.line})`;
}
