/**
 * The search for a linearization of one part: Wing & Gong's (1993) depth-first search with Lowe's
 * memo and just-in-time order ("Testing for linearizability", 2017). It keeps its own stack, can be
 * interrupted after any number of steps, and never explores twice what a known configuration covers.
 *
 * A configuration says how many returns are accounted for, which open operations took effect early,
 * which of the unknown ones did, and the state. Four observations keep it small:
 * - a step that changes nothing is taken as soon as it is legal: waiting gains nothing;
 * - of interchangeable steps the one that returns first goes first;
 * - unknown steps are tried last and counted by what they do (`OpenEffects`);
 * - a configuration is dropped if a known one used no more of the unknown steps.
 */
import { Configurations, type Workspace } from "./configurations.js";
import { OpenEffects } from "./open-effects.js";
import { ILLEGAL, States } from "./states.js";
import { invokedBefore, type Timeline } from "./timeline.js";

export type SearchStatus = "linearizable" | "not-linearizable" | "paused" | "out-of-memory";

/** One step of a path, for reports and witnesses. */
export interface PathStep {
  /** Number among the certain steps, or -1. */
  readonly certain: number;
  /** Number among the open classes, or -1. */
  readonly openClass: number;
  /** The state after it. */
  readonly state: number;
}

/** How many of the deepest configurations are kept for the report. */
const DEEPEST_MAX = 8;
const ROOT = -1;

export class Search<State> {
  readonly timeline: Timeline<State>;
  readonly states: States<State>;
  readonly effects: OpenEffects;
  readonly configurations: Configurations;
  /** Rows that got as far as any did. Where they stopped is where the explanation ends. */
  readonly deepest: number[] = [];
  readonly #workspace: Workspace;
  readonly #child: Workspace;
  #rows: number[] = [];
  #cursors: number[] = [];
  #deepestLayer = -1;
  #success = ROOT;
  #stepsTaken = 0;

  constructor(timeline: Timeline<State>) {
    this.timeline = timeline;
    this.states = new States(timeline.actions, timeline.part.encode);
    this.effects = new OpenEffects(timeline.openClasses.length);
    this.configurations = new Configurations(timeline.words, this.effects);
    this.#workspace = this.#newWorkspace();
    this.#child = this.#newWorkspace();
    this.#child.state = this.states.numberOf(timeline.part.initial);
    this.#settle(this.#child, undefined);
    this.#reach(ROOT, 0);
  }

  /** The number of configurations and candidates that were looked at. */
  get stepsTaken(): number {
    return this.#stepsTaken;
  }

  get deepestLayer(): number {
    return this.#deepestLayer;
  }

  get bytes(): number {
    return this.configurations.bytes + this.states.bytes + this.effects.bytes;
  }

  /** Goes on for at most `steps` candidates, or until its tables outgrow `bytesMax`. */
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
    const workspace = this.#newWorkspace();
    workspace.state = this.states.numberOf(this.timeline.part.initial);
    this.#settle(workspace, path);
    for (const next of rows.slice(1)) {
      this.configurations.load(this.configurations.parent(next), workspace);
      this.#apply(workspace, this.configurations.step(next), path);
      this.#settle(workspace, path);
    }
    return path;
  }

  /** The whole linearization, once `run` said "linearizable". */
  witness(): PathStep[] {
    return this.path(this.#success);
  }

  #newWorkspace(): Workspace {
    return { layer: 0, state: 0, effects: 0, taken: new Int32Array(this.timeline.words) };
  }

  /** One candidate of the configuration on top of the stack; without any left it is dropped. */
  #tryNext(): void {
    const top = this.#rows.length - 1;
    const row = this.#rows[top] as number;
    const cursor = this.#cursors[top] as number;
    this.#cursors[top] = cursor + 1;
    const workspace = this.#workspace;
    this.configurations.load(row, workspace);
    const from = this.timeline.pendingFrom[workspace.layer] as number;
    const pendings = (this.timeline.pendingFrom[workspace.layer + 1] as number) - from;
    const openClasses = this.timeline.openClassesAt[workspace.layer] as number;
    const open = cursor - pendings;
    if (cursor < pendings) {
      this.#tryCertain(row, from, from + cursor);
    } else if (open < openClasses) {
      // The newest first: what happened lately explains more than what may have happened long ago.
      this.#tryOpen(row, openClasses - 1 - open);
    } else {
      this.#rows.pop();
      this.#cursors.pop();
    }
  }

  #tryCertain(row: number, from: number, at: number): void {
    const { timeline } = this;
    const step = timeline.pending[at] as number;
    const workspace = this.#workspace;
    // A pure step that were legal here would have been taken when the configuration was reached.
    if (timeline.isPure[step] === 1 || isTaken(workspace, timeline.slot[step] as number)) return;
    if (timeline.isShared[step] === 1 && this.#hasEarlierTwin(from, at)) return;
    const next = this.states.next(workspace.state, timeline.actionClass[step] as number);
    if (next !== ILLEGAL) this.#descend(row, step);
  }

  #hasEarlierTwin(from: number, at: number): boolean {
    const { pending, actionClass, slot } = this.timeline;
    const wanted = actionClass[pending[at] as number];
    for (let before = from; before < at; before += 1) {
      const step = pending[before] as number;
      if (actionClass[step] === wanted && !isTaken(this.#workspace, slot[step] as number)) {
        return true;
      }
    }
    return false;
  }

  #tryOpen(row: number, open: number): void {
    const { timeline } = this;
    const workspace = this.#workspace;
    const openClass = timeline.openClasses[open];
    const returning = timeline.certain[workspace.layer];
    if (openClass === undefined || returning === undefined) return;
    const next = this.states.next(workspace.state, openClass.actionClass);
    if (next === ILLEGAL || next === workspace.state) return;
    const used = this.effects.count(workspace.effects, open);
    if (used >= invokedBefore(openClass, returning.returnedAt)) return;
    this.#descend(row, -1 - open);
  }

  #descend(row: number, step: number): void {
    const child = this.#child;
    const workspace = this.#workspace;
    child.layer = workspace.layer;
    child.state = workspace.state;
    child.effects = workspace.effects;
    child.taken.set(workspace.taken);
    this.#apply(child, step, undefined);
    this.#settle(child, undefined);
    this.#reach(row, step);
  }

  /** Remembers the child and goes on from it, unless something known can do as much. */
  #reach(parent: number, step: number): void {
    const row = this.configurations.add(this.#child, parent, step);
    if (row === -1) return;
    if (this.#child.layer === this.timeline.certain.length) {
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

  /** @param step a certain step, or -1 - n for the open class n. */
  #apply(workspace: Workspace, step: number, path: PathStep[] | undefined): void {
    const { timeline } = this;
    if (step >= 0) {
      take(workspace, timeline.slot[step] as number);
      workspace.state = this.states.next(workspace.state, timeline.actionClass[step] as number);
      path?.push({ certain: step, openClass: -1, state: workspace.state });
      return;
    }
    const open = -1 - step;
    const actionClass = timeline.openClasses[open]?.actionClass as number;
    workspace.state = this.states.next(workspace.state, actionClass);
    workspace.effects = this.effects.add(workspace.effects, open);
    path?.push({ certain: -1, openClass: open, state: workspace.state });
  }

  /** Accounts for returns of what took effect, and takes the pure steps that are legal now. */
  #settle(workspace: Workspace, path: PathStep[] | undefined): void {
    const { timeline } = this;
    const layers = timeline.certain.length;
    while (workspace.layer < layers) {
      const slot = timeline.slot[workspace.layer] as number;
      if (!isTaken(workspace, slot)) {
        this.#takePure(workspace, path);
        if (!isTaken(workspace, slot)) return;
      }
      drop(workspace, slot);
      workspace.layer += 1;
    }
  }

  #takePure(workspace: Workspace, path: PathStep[] | undefined): void {
    const { timeline } = this;
    const end = timeline.pendingFrom[workspace.layer + 1] as number;
    for (let at = timeline.pendingFrom[workspace.layer] as number; at < end; at += 1) {
      const step = timeline.pending[at] as number;
      if (timeline.isPure[step] !== 1) continue;
      const slot = timeline.slot[step] as number;
      if (isTaken(workspace, slot)) continue;
      const next = this.states.next(workspace.state, timeline.actionClass[step] as number);
      if (next === ILLEGAL) continue;
      take(workspace, slot);
      path?.push({ certain: step, openClass: -1, state: next });
    }
  }
}

function isTaken(workspace: Workspace, slot: number): boolean {
  return (((workspace.taken[slot >>> 5] as number) >>> (slot & 31)) & 1) === 1;
}

function take(workspace: Workspace, slot: number): void {
  workspace.taken[slot >>> 5] = (workspace.taken[slot >>> 5] as number) | (1 << (slot & 31));
}

function drop(workspace: Workspace, slot: number): void {
  workspace.taken[slot >>> 5] = (workspace.taken[slot >>> 5] as number) & ~(1 << (slot & 31));
}
