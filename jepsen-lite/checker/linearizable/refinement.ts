/**
 * Decides a part by refining a relaxation (counterexample-guided abstraction refinement, Clarke and
 * others, 2000). The first search lets every step of unknown outcome be taken any number of times,
 * so that there is hardly anything to remember. If even that finds no explanation, there is none.
 * If it finds one that takes no step more often than it was invoked, that is a real one. Otherwise
 * the steps that it took too often are counted from now on, and the search begins again; with all
 * steps counted it is exact.
 *
 * If the verdict is false, it goes on until it knows the shortest prefix without an explanation:
 * the relaxation may have got further than any real explanation does.
 */
import type { OpenUses } from "./open-uses.js";
import { Search, type SearchStatus } from "./search.js";
import type { Timeline } from "./timeline.js";

/** Spent on the shortest prefix after the verdict is certain. */
const SHORTENING_STEPS_MAX = 1_000_000;
/** After that many rounds all remaining steps are counted: each round begins from the start. */
const ROUNDS_MAX = 24;

/** How far real explanations get, and some of the configurations in which they end. */
export interface Refutation<State> {
  readonly search: Search<State>;
  readonly layer: number;
  readonly rows: readonly number[];
  /** False if a shorter prefix may have no explanation either. */
  readonly isShortest: boolean;
}

export class Refinement<State> {
  readonly #timeline: Timeline<State>;
  readonly #uses: OpenUses<State>;
  readonly #uncounted: Uint8Array;
  #search: Search<State>;
  #refutation: Refutation<State> | undefined;
  #shorteningStepsLeft = SHORTENING_STEPS_MAX;
  #stepsBefore = 0;
  #rounds = 0;

  constructor(timeline: Timeline<State>, uses: OpenUses<State>) {
    this.#timeline = timeline;
    this.#uses = uses;
    this.#uncounted = new Uint8Array(timeline.openClasses.length).fill(1);
    this.#search = this.#newSearch(timeline.certain.length);
  }

  /** Whether there is something to relax, and it may be relaxed. */
  static isApplicable<State>({ part, openClasses }: Timeline<State>): boolean {
    return part.isBounded && openClasses.length > 0;
  }

  /** The search that found the linearization, after `run` returned "linearizable". */
  get search(): Search<State> {
    return this.#search;
  }

  /** Known after `run` returned "not-linearizable". */
  get refutation(): Refutation<State> | undefined {
    return this.#refutation;
  }

  get stepsTaken(): number {
    return this.#stepsBefore + this.#search.stepsTaken;
  }

  get bytes(): number {
    return this.#search.bytes;
  }

  /** Continues for about `steps` candidates, or until its tables exceed `bytesMax`. */
  run(steps: number, bytesMax: number): SearchStatus {
    const end = this.stepsTaken + steps;
    for (;;) {
      const isRefuted = this.#refutation !== undefined;
      const left = isRefuted ? this.#shorteningStepsLeft : end - this.stepsTaken;
      if (left <= 0) return isRefuted ? "not-linearizable" : "paused";
      const before = this.stepsTaken;
      const status = this.#search.run(left, bytesMax);
      if (isRefuted) this.#shorteningStepsLeft -= this.stepsTaken - before;
      if (status === "out-of-memory") return isRefuted ? "not-linearizable" : status;
      if (status === "linearizable") {
        const overused = this.#search.overused(this.#search.success);
        if (overused.size > 0) this.#count(overused);
        else return isRefuted ? this.#endAt(this.#search.success) : status;
      } else if (status === "not-linearizable" && this.#shorten()) {
        return status;
      }
    }
  }

  /** The search got no further; returns whether a real path reaches the row where it ended. */
  #shorten(): boolean {
    const search = this.#search;
    const layer = search.deepestLayer;
    const real = search.deepest.filter((row) => search.overused(row).size === 0);
    const isShortest = real.length > 0;
    const rows = isShortest ? real : search.deepest;
    this.#refutation = { search, layer, rows: [...rows], isShortest };
    if (!isShortest) this.#restart(layer);
    return isShortest;
  }

  /** No explanation gets further than that row. */
  #endAt(row: number): "not-linearizable" {
    const layer = this.#refutation?.layer as number;
    this.#refutation = { search: this.#search, layer, rows: [row], isShortest: true };
    return "not-linearizable";
  }

  #count(overused: ReadonlySet<number>): void {
    this.#rounds += 1;
    if (this.#rounds >= ROUNDS_MAX) this.#uncounted.fill(0);
    for (const openClass of overused) this.#uncounted[openClass] = 0;
    this.#restart(this.#refutation?.layer ?? this.#timeline.certain.length);
  }

  #restart(layers: number): void {
    this.#stepsBefore += this.#search.stepsTaken;
    this.#search = this.#newSearch(layers);
  }

  #newSearch(layers: number): Search<State> {
    const uncounted = this.#uncounted;
    return new Search(this.#timeline, this.#uses, { uncounted, layers });
  }
}
