/**
 * The effect of a step on a configuration. A step is a number: the number of a certain step,
 * `cover`, or -1 - n for open class n. `cover` accounts for the return that is waited for without
 * taking its step at a particular place: while it was open there was a moment at which it made no
 * difference, directly before something overwrote it, or where it changed nothing.
 */
import type { Workspace } from "./configurations.js";
import type { OpenEffects } from "./open-effects.js";
import { ILLEGAL, type States } from "./states.js";
import type { OpenClass, Timeline } from "./timeline.js";

/** One step of a path, for reports and witnesses. */
export interface PathStep {
  /** Number among the certain steps, or -1. */
  readonly certain: number;
  /** Number among the open classes, or -1. */
  readonly openClass: number;
  /** The state after it. */
  readonly state: number;
  /** The return that was waited for. */
  readonly layer: number;
}

export class Moves<State> {
  /** The step that covers. */
  readonly cover: number;
  /** Whether some step is possible in every state: without one nothing covers or is covered. */
  readonly hasTotal: boolean;
  readonly #timeline: Timeline<State>;
  readonly #states: States<State>;
  readonly #effects: OpenEffects;
  readonly #uncounted: Uint8Array | undefined;

  /** @param uncounted by open class, 1: its steps are not counted. Without it all are. */
  constructor(
    timeline: Timeline<State>,
    states: States<State>,
    effects: OpenEffects,
    uncounted: Uint8Array | undefined,
  ) {
    this.#timeline = timeline;
    this.#states = states;
    this.#effects = effects;
    this.#uncounted = uncounted;
    this.cover = timeline.certain.length;
    this.hasTotal = timeline.isTotal.includes(1);
  }

  newWorkspace(): Workspace {
    const { words } = this.#timeline;
    const taken = new Int32Array(words);
    return { layer: 0, state: 0, effects: 0, unseen: 0, taken, coverable: new Int32Array(words) };
  }

  isCounted(openClass: number): boolean {
    return this.#uncounted === undefined || this.#uncounted[openClass] === 0;
  }

  /** Takes a step that is possible here. */
  apply(workspace: Workspace, step: number, path: PathStep[] | undefined): void {
    if (step === this.cover) this.#applyCover(workspace, path);
    else if (step >= 0) this.#applyCertain(workspace, step, path);
    else this.#applyOpen(workspace, -1 - step, path);
  }

  #applyCertain(workspace: Workspace, step: number, path: PathStep[] | undefined): void {
    const actionClass = this.#timeline.actionClass[step] as number;
    // A step that returns now may be noticed later. Any other step is taken early only to be
    // noticed at once; if it were overwritten instead, it could have been covered.
    const isEarly = this.#timeline.isTotal[actionClass] === 1 && step !== workspace.layer;
    setBit(workspace.taken, this.#timeline.slot[step] as number);
    clearBit(workspace.coverable, this.#timeline.slot[step] as number);
    this.#enter(workspace, actionClass, isEarly);
    const { state, layer } = workspace;
    path?.push({ certain: step, openClass: -1, state, layer });
  }

  #applyOpen(workspace: Workspace, openClass: number, path: PathStep[] | undefined): void {
    const { actionClass } = this.#timeline.openClasses[openClass] as OpenClass;
    if (this.isCounted(openClass)) {
      workspace.effects = this.#effects.add(workspace.effects, openClass);
    }
    this.#enter(workspace, actionClass, true);
    const { state, layer } = workspace;
    path?.push({ certain: -1, openClass, state, layer });
  }

  #enter(workspace: Workspace, actionClass: number, isUnseen: boolean): void {
    workspace.state = this.#states.next(workspace.state, actionClass);
    workspace.unseen = isUnseen && this.hasTotal ? 1 : 0;
    if (this.#timeline.isBlind[actionClass] === 1) this.#markCoverable(workspace, false);
  }

  #applyCover(workspace: Workspace, path: PathStep[] | undefined): void {
    setBit(workspace.taken, this.#timeline.slot[workspace.layer] as number);
    if (path !== undefined) this.#insertCovered(workspace, path);
  }

  /** Inserts the covered step at the latest place where it makes no difference. */
  #insertCovered({ layer: covered }: Workspace, path: PathStep[]): void {
    const actionClass = this.#timeline.actionClass[covered] as number;
    for (let at = path.length; at >= 0; at -= 1) {
      const before = path[at - 1]?.state ?? this.#states.numberOf(this.#timeline.part.initial);
      const state = this.#states.next(before, actionClass);
      const behind = path[at];
      if (state !== before && (behind === undefined || !this.#isBlindStep(behind))) continue;
      path.splice(at, 0, {
        certain: covered,
        openClass: -1,
        state,
        layer: behind?.layer ?? covered,
      });
      return;
    }
    throw new RangeError(`step ${covered} was covered, yet it makes a difference everywhere`);
  }

  #isBlindStep({ certain, openClass }: PathStep): boolean {
    const { actionClass, isBlind, openClasses } = this.#timeline;
    const number = certain === -1 ? openClasses[openClass]?.actionClass : actionClass[certain];
    return isBlind[number as number] === 1;
  }

  /**
   * Accounts for returns of steps that took effect, and takes the pure steps that are legal now.
   */
  settle(workspace: Workspace, path: PathStep[] | undefined): void {
    const { certain, slot } = this.#timeline;
    while (workspace.layer < certain.length) {
      const returning = slot[workspace.layer] as number;
      if (!hasBit(workspace.taken, returning)) {
        this.#takePure(workspace, path);
        if (!hasBit(workspace.taken, returning)) break;
      }
      clearBit(workspace.taken, returning);
      clearBit(workspace.coverable, returning);
      workspace.layer += 1;
    }
    if (workspace.layer < certain.length) this.#markCoverable(workspace, true);
  }

  #takePure(workspace: Workspace, path: PathStep[] | undefined): void {
    const { pending, pendingFrom, isPure, slot, actionClass } = this.#timeline;
    const { layer } = workspace;
    const end = pendingFrom[layer + 1] as number;
    for (let at = pendingFrom[layer] as number; at < end; at += 1) {
      const step = pending[at] as number;
      if (isPure[step] !== 1 || hasBit(workspace.taken, slot[step] as number)) continue;
      const state = this.#states.next(workspace.state, actionClass[step] as number);
      if (state === ILLEGAL) continue;
      setBit(workspace.taken, slot[step] as number);
      // It was impossible before, or it would have been taken then.
      workspace.unseen = 0;
      path?.push({ certain: step, openClass: -1, state, layer });
    }
  }

  /** Marks open steps that are possible everywhere: all, or only those that change nothing here. */
  #markCoverable(workspace: Workspace, onlyIdle: boolean): void {
    if (!this.hasTotal) return;
    const { pending, pendingFrom, isTotal, slot, actionClass } = this.#timeline;
    const end = pendingFrom[workspace.layer + 1] as number;
    for (let at = pendingFrom[workspace.layer] as number; at < end; at += 1) {
      const step = pending[at] as number;
      const number = actionClass[step] as number;
      if (isTotal[number] !== 1 || hasBit(workspace.taken, slot[step] as number)) continue;
      if (onlyIdle && this.#states.next(workspace.state, number) !== workspace.state) continue;
      setBit(workspace.coverable, slot[step] as number);
    }
  }
}

export function hasBit(bits: Int32Array, slot: number): boolean {
  return (((bits[slot >>> 5] as number) >>> (slot & 31)) & 1) === 1;
}

function setBit(bits: Int32Array, slot: number): void {
  bits[slot >>> 5] = (bits[slot >>> 5] as number) | (1 << (slot & 31));
}

function clearBit(bits: Int32Array, slot: number): void {
  bits[slot >>> 5] = (bits[slot >>> 5] as number) & ~(1 << (slot & 31));
}
