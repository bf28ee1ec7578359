/**
 * The search for a linearization of one part: Wing & Gong's (1993) depth-first search with Lowe's
 * memo and just-in-time order ("Testing for linearizability", 2017). It keeps its own stack, can be
 * interrupted after any number of steps, and never explores again what a known configuration
 * covers.
 *
 * A configuration contains how many returns are accounted for, which open operations took effect
 * early, which of the unknown ones did, and the state. These observations keep it small:
 * - a step that changes nothing is taken as soon as it is legal: waiting gains nothing;
 * - of interchangeable steps, the one that returns first goes first;
 * - a step is not taken early to be overwritten unseen: when it returns it is covered (`Moves`),
 *   and if its outcome is unknown it did not happen;
 * - unknown steps are tried last, only where they may be of use (`OpenUses`), and counted by their
 *   effect (`OpenEffects`);
 * - a configuration is dropped if a known one used no more of the unknown steps.
 *
 * With `uncounted` classes the search is a relaxation: their steps may be taken any number of
 * times. If it finds no explanation, there is none; an explanation that it finds is real if
 * `overused` returns nothing.
 */
import { Configurations, type Workspace } from "./configurations.js";
import { hasBit, Moves, type PathStep } from "./moves.js";
import { OpenEffects } from "./open-effects.js";
import type { OpenUses } from "./open-uses.js";
import type { Step } from "./problem.js";
import { ILLEGAL, States } from "./states.js";
import { invokedBefore, type OpenClass, type Timeline } from "./timeline.js";

export type SearchStatus = "linearizable" | "not-linearizable" | "paused" | "out-of-memory";

export interface SearchOptions {
  /** By open class, 1: its steps are not counted. Without it all are. */
  readonly uncounted?: Uint8Array;
  /** The search succeeds when it has accounted for that many returns, by default all of them. */
  readonly layers?: number;
}

/** How many of the deepest configurations are kept for the report. */
const DEEPEST_MAX = 8;
const ROOT = -1;
const NO_STEP = -1;

export class Search<State> {
  readonly timeline: Timeline<State>;
  readonly states: States<State>;
  readonly effects: OpenEffects;
  readonly uses: OpenUses<State>;
  readonly configurations: Configurations;
  /** Rows that got as far as any did. Where they stopped is where the explanation ends. */
  readonly deepest: number[] = [];
  readonly #moves: Moves<State>;
  readonly #layers: number;
  readonly #workspace: Workspace;
  readonly #child: Workspace;
  #rows: number[] = [];
  #cursors: number[] = [];
  #deepestLayer = -1;
  #success = ROOT;
  #stepsTaken = 0;

  constructor(timeline: Timeline<State>, uses: OpenUses<State>, options: SearchOptions = {}) {
    this.timeline = timeline;
    this.uses = uses;
    this.#layers = options.layers ?? timeline.certain.length;
    this.states = new States(timeline.actions, timeline.part.encode);
    this.effects = new OpenEffects(uses.lastLayer);
    this.configurations = new Configurations(timeline.words, this.effects);
    this.#moves = new Moves(timeline, this.states, this.effects, options.uncounted);
    this.#workspace = this.#moves.newWorkspace();
    this.#child = this.#moves.newWorkspace();
    this.#child.state = this.states.numberOf(timeline.part.initial);
    this.#moves.settle(this.#child, undefined);
    this.#reach(ROOT, 0);
  }

  /** The number of configurations and candidates that were examined. */
  get stepsTaken(): number {
    return this.#stepsTaken;
  }

  get deepestLayer(): number {
    return this.#deepestLayer;
  }

  get bytes(): number {
    return this.configurations.bytes + this.states.bytes + this.effects.bytes;
  }

  /** Continues for at most `steps` candidates, or until its tables exceed `bytesMax`. */
  run(steps: number, bytesMax: number): SearchStatus {
    for (let left = steps; left > 0; left -= 1) {
      if (this.#success !== ROOT) return "linearizable";
      if (this.#rows.length === 0) return "not-linearizable";
      if ((left & 1023) === 0 && this.bytes > bytesMax) return "out-of-memory";
      this.#stepsTaken += 1;
      this.#tryNext();
    }
    if (this.#success !== ROOT) return "linearizable";
    return this.#rows.length === 0 ? "not-linearizable" : "paused";
  }

  /** From the initial state to that row, every step in order. */
  path(row: number): PathStep[] {
    const rows: number[] = [];
    for (let at = row; at !== ROOT; at = this.configurations.parent(at)) rows.push(at);
    rows.reverse();
    const path: PathStep[] = [];
    const workspace = this.#moves.newWorkspace();
    workspace.state = this.states.numberOf(this.timeline.part.initial);
    this.#moves.settle(workspace, path);
    for (const next of rows.slice(1)) {
      this.configurations.load(this.configurations.parent(next), workspace);
      this.#moves.apply(workspace, this.configurations.step(next), path);
      this.#moves.settle(workspace, path);
    }
    return path;
  }

  /** The row of the linearization, after `run` returned "linearizable". */
  get success(): number {
    return this.#success;
  }

  /** The open classes of which the path to that row takes more steps than had been invoked. */
  overused(row: number): Set<number> {
    const rows: number[] = [];
    for (let at = row; at !== ROOT; at = this.configurations.parent(at)) rows.push(at);
    const used = new Map<number, number>();
    const overused = new Set<number>();
    const workspace = this.#moves.newWorkspace();
    for (let next = rows.pop(); next !== undefined; next = rows.pop()) {
      const step = this.configurations.step(next);
      const parent = this.configurations.parent(next);
      if (step >= 0 || parent === ROOT) continue;
      const open = -1 - step;
      const count = (used.get(open) ?? 0) + 1;
      used.set(open, count);
      this.configurations.load(parent, workspace);
      if (count > this.#invoked(open, workspace.layer)) overused.add(open);
    }
    return overused;
  }

  /** Tries one candidate of the configuration on top of the stack, or drops it if none is left. */
  #tryNext(): void {
    const top = this.#rows.length - 1;
    const row = this.#rows[top] as number;
    const cursor = this.#cursors[top] as number;
    this.#cursors[top] = cursor + 1;
    const workspace = this.#workspace;
    this.configurations.load(row, workspace);
    const from = this.timeline.pendingFrom[workspace.layer] as number;
    const pendings = (this.timeline.pendingFrom[workspace.layer + 1] as number) - from;
    // Candidate 0 covers; certain steps and then unknown ones follow.
    if (cursor === 0) {
      this.#tryCover(row);
    } else if (cursor <= pendings) {
      this.#tryCertain(row, from, from + cursor - 1);
    } else {
      const open = this.#openCandidate(workspace.layer, cursor - 1 - pendings);
      if (open !== undefined) this.#tryOpen(row, open);
      else this.#drop();
    }
  }

  #drop(): void {
    this.#rows.pop();
    this.#cursors.pop();
  }

  /** The newest first: recent steps explain more than old ones. */
  #openCandidate(layer: number, position: number): number | undefined {
    const useful = this.uses.at(layer);
    if (useful !== undefined) return useful[position];
    const begun = this.timeline.openClassesAt[layer] as number;
    return position < begun ? begun - 1 - position : undefined;
  }

  #tryCover(row: number): void {
    const workspace = this.#workspace;
    if (workspace.unseen === 1) return;
    const returning = this.timeline.slot[workspace.layer] as number;
    if (hasBit(workspace.coverable, returning)) this.#descend(row, this.#moves.cover);
  }

  #tryCertain(row: number, from: number, at: number): void {
    const { timeline } = this;
    const step = timeline.pending[at] as number;
    const workspace = this.#workspace;
    // A pure step that is legal here would have been taken when the configuration was reached.
    if (timeline.isPure[step] === 1) return;
    if (hasBit(workspace.taken, timeline.slot[step] as number)) return;
    const actionClass = timeline.actionClass[step] as number;
    if (workspace.unseen === 1 && timeline.isBlind[actionClass] === 1) return;
    if (timeline.isShared[step] === 1 && this.#hasEarlierTwin(from, at)) return;
    const next = this.states.next(workspace.state, actionClass);
    if (next === ILLEGAL) return;
    if (timeline.isTotal[actionClass] === 1) {
      // A step that changes nothing here and overwrites nothing is coverable from here on.
      if (next === workspace.state && timeline.isBlind[actionClass] === 0) return;
      if (step !== workspace.layer && !this.#isNoticed(next, step)) return;
    }
    this.#descend(row, step);
  }

  /** Whether an open step with the same effect returns earlier, and would leave as much to do. */
  #hasEarlierTwin(from: number, at: number): boolean {
    const { pending, actionClass, slot } = this.timeline;
    const { taken, coverable } = this.#workspace;
    const later = pending[at] as number;
    // Taking a coverable one would waste it: the later one needs to be taken, it does not.
    const isLaterCoverable = hasBit(coverable, slot[later] as number);
    for (let before = from; before < at; before += 1) {
      const step = pending[before] as number;
      if (actionClass[step] !== actionClass[later]) continue;
      if (hasBit(taken, slot[step] as number)) continue;
      if (isLaterCoverable || !hasBit(coverable, slot[step] as number)) return true;
    }
    return false;
  }

  #tryOpen(row: number, open: number): void {
    const workspace = this.#workspace;
    if ((this.uses.lastLayer[open] as number) < workspace.layer) return;
    const { actionClass } = this.timeline.openClasses[open] as OpenClass;
    if (workspace.unseen === 1 && this.timeline.isBlind[actionClass] === 1) return;
    const next = this.states.next(workspace.state, actionClass);
    if (next === ILLEGAL) return;
    // Without a change it can only overwrite, unseen, an open step that came directly before it.
    if (next === workspace.state && !this.#coversAnother(actionClass)) return;
    if (this.#moves.isCounted(open)) {
      const used = this.effects.count(workspace.effects, open);
      if (used >= this.#invoked(open, workspace.layer)) return;
    }
    if (this.#moves.hasTotal && !this.#isNoticed(next, NO_STEP)) return;
    this.#descend(row, -1 - open);
  }

  /** Whether a step of that class makes an open step coverable that is not. */
  #coversAnother(actionClass: number): boolean {
    const { pending, pendingFrom, isBlind, isTotal, slot, actionClass: classes } = this.timeline;
    if (isBlind[actionClass] === 0) return false;
    const { layer, taken, coverable } = this.#workspace;
    const end = pendingFrom[layer + 1] as number;
    for (let at = pendingFrom[layer] as number; at < end; at += 1) {
      const step = pending[at] as number;
      const bit = slot[step] as number;
      if (isTotal[classes[step] as number] === 0) continue;
      if (!hasBit(taken, bit) && !hasBit(coverable, bit)) return true;
    }
    return false;
  }

  /** How many steps of the open class were invoked before the return that the layer waits for. */
  #invoked(open: number, layer: number): number {
    const returning = this.timeline.certain[layer] as Step<State>;
    return invokedBefore(this.timeline.openClasses[open] as OpenClass, returning.returnedAt);
  }

  #descend(row: number, step: number): void {
    const child = this.#child;
    const workspace = this.#workspace;
    child.layer = workspace.layer;
    child.state = workspace.state;
    child.effects = workspace.effects;
    child.unseen = 0;
    child.taken.set(workspace.taken);
    child.coverable.set(workspace.coverable);
    this.#moves.apply(child, step, undefined);
    this.#moves.settle(child, undefined);
    child.effects = this.effects.expire(child.effects, child.layer);
    this.#reach(row, step);
  }

  /**
   * Whether an open step other than `step` distinguishes that state from the one before, at once.
   */
  #isNoticed(state: number, step: number): boolean {
    const { layer, taken } = this.#workspace;
    const { pending, pendingFrom, actionClass, isPure, slot, openClasses } = this.timeline;
    const end = pendingFrom[layer + 1] as number;
    for (let at = pendingFrom[layer] as number; at < end; at += 1) {
      const other = pending[at] as number;
      if (other === step || hasBit(taken, slot[other] as number)) continue;
      // A pure one that had been legal before would have been taken then.
      if (this.#leadsOn(state, actionClass[other] as number, isPure[other] === 1)) return true;
    }
    const useful = this.uses.at(layer);
    // If all may be of use, they are too many to examine each.
    if (useful === undefined) return true;
    return useful.some((open) =>
      this.#leadsOn(state, (openClasses[open] as OpenClass).actionClass, false),
    );
  }

  #leadsOn(state: number, actionClass: number, isPure: boolean): boolean {
    if (this.timeline.isBlind[actionClass] === 1) return false;
    const next = this.states.next(state, actionClass);
    return next !== ILLEGAL && (isPure || next !== state);
  }

  /** Remembers the child and continues from it, unless a known configuration can do as much. */
  #reach(parent: number, step: number): void {
    const row = this.configurations.add(this.#child, parent, step);
    if (row === -1) return;
    if (this.#child.layer >= this.#layers) {
      this.#success = row;
      return;
    }
    this.#rows.push(row);
    this.#cursors.push(0);
    if (this.#child.layer > this.#deepestLayer) {
      this.#deepestLayer = this.#child.layer;
      this.deepest.length = 0;
    }
    if (this.#child.layer === this.#deepestLayer && this.deepest.length < DEEPEST_MAX) {
      this.deepest.push(row);
    }
  }
}
