/**
 * Which steps of unknown outcome should be tried, and when. In a shortest explanation each of them
 * matters: before anything overwrites its effect, a certain step follows that was impossible
 * without it, directly or at the end of a chain of further unknown steps. So a write without an
 * answer is tried only while a step is open that needs its value, and one whose value is never
 * needed again need not be remembered. An action declares this in `needs` and `leadsTo`; without
 * them, every step stays possible until the end.
 */
import type { Action } from "./problem.js";
import type { Timeline } from "./timeline.js";

/** Lists beyond this many entries are recomputed rather than kept: 16 MiB. */
const KEPT_ENTRIES_MAX = 4 * 1024 * 1024;
/** Represents all classes that had begun. */
const ALL_BEGUN = new Int32Array(0);

export class OpenUses<State> {
  /** By open class: the last layer in which it can explain anything, -1 if there is none. */
  readonly lastLayer: Float64Array;
  readonly #timeline: Timeline<State>;
  readonly #openActions: readonly Action<State>[];
  /** Classes that lead to only one state, by that state. */
  readonly #leadingTo = new Map<string, number[]>();
  /** The first open class whose result is unknown: from then on every class may be useful. */
  readonly #firstUnclear: number;
  readonly #kept = new Map<number, Int32Array>();
  #keptEntries = 0;

  constructor(timeline: Timeline<State>) {
    this.#timeline = timeline;
    this.#openActions = timeline.openClasses.map(
      ({ actionClass }) => timeline.actions[actionClass] as Action<State>,
    );
    for (const [openClass, { leadsTo }] of this.#openActions.entries()) {
      if (leadsTo === undefined) continue;
      const others = this.#leadingTo.get(leadsTo) ?? [];
      others.push(openClass);
      this.#leadingTo.set(leadsTo, others);
    }
    const unclear = this.#openActions.findIndex(({ leadsTo }) => leadsTo === undefined);
    this.#firstUnclear = unclear === -1 ? Number.POSITIVE_INFINITY : unclear;
    this.lastLayer = this.#lastLayers();
  }

  /**
   * The open classes to try while that return is waited for, the newest first; `undefined` if these
   * are all that had begun by then.
   */
  at(layer: number): Int32Array | undefined {
    if (this.#firstUnclear < (this.#timeline.openClassesAt[layer] as number)) return undefined;
    let classes = this.#kept.get(layer);
    if (classes === undefined) {
      classes = this.#usefulAt(layer);
      this.#keep(layer, classes);
    }
    return classes === ALL_BEGUN ? undefined : classes;
  }

  #keep(layer: number, classes: Int32Array): void {
    if (this.#keptEntries > KEPT_ENTRIES_MAX) {
      this.#kept.clear();
      this.#keptEntries = 0;
    }
    this.#kept.set(layer, classes);
    this.#keptEntries += 1 + classes.length;
  }

  #usefulAt(layer: number): Int32Array {
    const wanted = this.#wantedAt(layer);
    if (wanted === undefined) return ALL_BEGUN;
    const begun = this.#timeline.openClassesAt[layer] as number;
    const useful: number[] = [];
    // Iteration over a set includes entries that are added on the way.
    for (const state of wanted) {
      for (const openClass of this.#leadingTo.get(state) ?? []) {
        if (openClass >= begun) break;
        useful.push(openClass);
        const { needs = [] } = this.#openActions[openClass] as Action<State>;
        for (const need of needs) wanted.add(need);
      }
    }
    return Int32Array.from(useful).sort((a, b) => b - a);
  }

  /** The states that pending certain steps need; `undefined` if a step does not declare them. */
  #wantedAt(layer: number): Set<string> | undefined {
    const { actions, actionClass, isBlind, pending, pendingFrom } = this.#timeline;
    const wanted = new Set<string>();
    const end = pendingFrom[layer + 1] as number;
    for (let at = pendingFrom[layer] as number; at < end; at += 1) {
      const number = actionClass[pending[at] as number] as number;
      if (isBlind[number] === 1) continue;
      const { needs } = actions[number] as Action<State>;
      if (needs === undefined) return undefined;
      for (const need of needs) wanted.add(need);
    }
    return wanted;
  }

  #lastLayers(): Float64Array {
    const last = new Float64Array(this.#openActions.length);
    if (this.#firstUnclear < Number.POSITIVE_INFINITY) return last.fill(Number.POSITIVE_INFINITY);
    const needed = new Map<string, number>();
    let anyNeeded = -1;
    const { actions, actionClass, isBlind } = this.#timeline;
    for (const [layer, number] of actionClass.entries()) {
      if (isBlind[number] === 1) continue;
      const { needs } = actions[number] as Action<State>;
      if (needs === undefined) anyNeeded = layer;
      else for (const need of needs) needed.set(need, layer);
    }
    last.fill(anyNeeded);
    // Backwards along the chains, what is needed longest first: each class is reached once.
    const isReached = new Uint8Array(last.length);
    for (const [state, layer] of [...needed].sort((a, b) => b[1] - a[1])) {
      const states = [state];
      for (let next = states.pop(); next !== undefined; next = states.pop()) {
        for (const openClass of this.#leadingTo.get(next) ?? []) {
          if (isReached[openClass] === 1) continue;
          isReached[openClass] = 1;
          last[openClass] = Math.max(layer, anyNeeded);
          const { needs = [] } = this.#openActions[openClass] as Action<State>;
          states.push(...needs);
        }
      }
    }
    return last;
  }
}
