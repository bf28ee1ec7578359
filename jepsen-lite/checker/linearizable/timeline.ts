/**
 * A part prepared for the search. Its certain steps are ordered by their returns; layer k is the
 * moment before the k-th return, and for each layer the steps that are open then are listed, the
 * one that returns first in front. Steps of unknown outcome are grouped by their effect.
 */
import type { Action, Part, Step } from "./problem.js";

/** Steps of unknown outcome that are interchangeable. */
export interface OpenClass {
  readonly actionClass: number;
  /** When each of them was invoked, ascending. */
  readonly invokedAt: readonly number[];
  readonly steps: readonly number[];
}

export interface Timeline<State> {
  readonly part: Part<State>;
  /** The certain steps in the order of their returns; a step's number is its place in here. */
  readonly certain: readonly Step<State>[];
  readonly actionClass: Int32Array;
  /** By action class: possible in every state. */
  readonly isTotal: Uint8Array;
  /** By action class: possible in every state, and independent of the state before it. */
  readonly isBlind: Uint8Array;
  readonly isPure: Uint8Array;
  /** Other steps share the class, so that an earlier return goes first. */
  readonly isShared: Uint8Array;
  /** The bit of each open step. */
  readonly slot: Int32Array;
  readonly words: number;
  /** `pending[pendingFrom[k]] … pending[pendingFrom[k + 1] - 1]` are open at layer k. */
  readonly pendingFrom: Float64Array;
  readonly pending: Int32Array;
  readonly actions: readonly Action<State>[];
  readonly openSteps: readonly Step<State>[];
  /** Ordered by first invocation. */
  readonly openClasses: readonly OpenClass[];
  /** How many of `openClasses` had begun at layer k. */
  readonly openClassesAt: Int32Array;
}

/** 128 MiB of step numbers. Beyond it a part is too concurrent to be searched in limited memory. */
const PENDING_MAX = 32 * 1024 * 1024;

/**
 * Returns `undefined` if more steps are open at once, summed over all returns, than can be listed.
 */
export function layOut<State>(part: Part<State>): Timeline<State> | undefined {
  const certain = part.steps.filter((step) => Number.isFinite(step.returnedAt));
  certain.sort((a, b) => a.returnedAt - b.returnedAt);
  // A step that never changes anything and was never answered explains nothing.
  const openSteps = part.steps.filter(
    (step) => !Number.isFinite(step.returnedAt) && !step.action.isPure,
  );
  const classes = new ActionClasses<State>();
  const actionClass = Int32Array.from(certain, (step) => classes.of(step.action));
  const openClasses = groupOpen(openSteps, classes);
  const open = listPending(certain);
  if (open === undefined) return undefined;
  const members = new Int32Array(classes.actions.length);
  for (const number of actionClass) members[number] = (members[number] as number) + 1;
  return {
    part,
    certain,
    actionClass,
    isTotal: Uint8Array.from(classes.actions, (action) => (isTotal(action) ? 1 : 0)),
    isBlind: Uint8Array.from(classes.actions, (action) =>
      isTotal(action) && action.leadsTo !== undefined ? 1 : 0,
    ),
    isPure: Uint8Array.from(certain, (step) => (step.action.isPure ? 1 : 0)),
    isShared: Uint8Array.from(actionClass, (number) => ((members[number] as number) > 1 ? 1 : 0)),
    ...open,
    actions: classes.actions,
    openSteps,
    openClasses,
    openClassesAt: Int32Array.from(certain, (step) => begunBefore(openClasses, step.returnedAt)),
  };
}

function isTotal<State>(action: Action<State>): boolean {
  return action.isTotal === true && !action.isPure;
}

class ActionClasses<State> {
  readonly actions: Action<State>[] = [];
  readonly #classes = new Map<string, number>();

  of(action: Action<State>): number {
    const known = this.#classes.get(action.id);
    if (known !== undefined) return known;
    const number = this.actions.length;
    this.actions.push(action);
    this.#classes.set(action.id, number);
    return number;
  }
}

function groupOpen<State>(
  openSteps: readonly Step<State>[],
  classes: ActionClasses<State>,
): OpenClass[] {
  const groups = new Map<number, { invokedAt: number[]; steps: number[] }>();
  const order = openSteps.map((step, number) => ({ step, number }));
  order.sort((a, b) => a.step.invokedAt - b.step.invokedAt);
  for (const { step, number } of order) {
    const actionClass = classes.of(step.action);
    const group = groups.get(actionClass) ?? { invokedAt: [], steps: [] };
    groups.set(actionClass, group);
    group.invokedAt.push(step.invokedAt);
    group.steps.push(number);
  }
  return [...groups].map(([actionClass, group]) => ({ actionClass, ...group }));
}

function begunBefore(openClasses: readonly OpenClass[], at: number): number {
  let low = 0;
  let high = openClasses.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((openClasses[middle]?.invokedAt[0] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How many steps of the class were invoked before that position. */
export function invokedBefore(openClass: OpenClass, at: number): number {
  let low = 0;
  let high = openClass.invokedAt.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((openClass.invokedAt[middle] as number) < at) low = middle + 1;
    else high = middle;
  }
  return low;
}

interface PendingLists {
  readonly slot: Int32Array;
  readonly words: number;
  readonly pendingFrom: Float64Array;
  readonly pending: Int32Array;
}

function listPending<State>(certain: readonly Step<State>[]): PendingLists | undefined {
  const invocations = certain.map((_, number) => number);
  invocations.sort((a, b) => invokedAt(certain, a) - invokedAt(certain, b));
  const slot = new Int32Array(certain.length);
  const pendingFrom = new Float64Array(certain.length + 1);
  let pending = new Int32Array(Math.max(16, certain.length * 4));
  const open: number[] = [];
  const freeSlots: number[] = [];
  let slots = 0;
  let length = 0;
  let begun = 0;
  for (const [layer, returning] of certain.entries()) {
    while (begun < invocations.length) {
      const step = invocations[begun] as number;
      if (invokedAt(certain, step) >= returning.returnedAt) break;
      begun += 1;
      slot[step] = freeSlots.pop() ?? slots++;
      insertAscending(open, step);
    }
    if (length + open.length > PENDING_MAX) return undefined;
    if (length + open.length > pending.length) {
      const larger = new Int32Array(Math.min(PENDING_MAX, (length + open.length) * 2));
      larger.set(pending);
      pending = larger;
    }
    pendingFrom[layer] = length;
    for (const step of open) pending[length++] = step;
    freeSlots.push(slot[open.shift() as number] as number);
  }
  pendingFrom[certain.length] = length;
  return { slot, words: Math.max(1, Math.ceil(slots / 32)), pendingFrom, pending };
}

function invokedAt<State>(certain: readonly Step<State>[], step: number): number {
  return certain[step]?.invokedAt as number;
}

/** Steps are numbered by return, so ascending is the order in which they return. */
function insertAscending(open: number[], step: number): void {
  let at = open.length;
  open.push(step);
  while (at > 0 && (open[at - 1] as number) > step) {
    open[at] = open[at - 1] as number;
    at -= 1;
  }
  open[at] = step;
}
