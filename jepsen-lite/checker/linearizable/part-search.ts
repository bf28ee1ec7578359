/**
 * Decides one part. The exact search goes first, because it is enough for most parts. A part with
 * steps of unknown outcome that it cannot decide at once is searched in two ways from then on, in
 * turns: by the exact search, which finds explanations, and by the refinement, which also shows
 * quickly that there is none. The one that ends first gives the verdict; neither is ever wrong.
 */
import { type Counterexample, explain } from "./counterexample.js";
import { OpenUses } from "./open-uses.js";
import { Refinement } from "./refinement.js";
import { Search, type SearchStatus } from "./search.js";
import type { Timeline } from "./timeline.js";

export class PartSearch<State> {
  readonly #timeline: Timeline<State>;
  readonly #uses: OpenUses<State>;
  /** Each is absent after it has exceeded the memory limit. */
  #exact: Search<State> | undefined;
  #refinement: Refinement<State> | undefined;
  #isRefinable: boolean;
  #decidedBy: "exact" | "refinement" = "exact";
  #stepsDropped = 0;

  constructor(timeline: Timeline<State>) {
    this.#timeline = timeline;
    this.#uses = new OpenUses(timeline);
    this.#exact = new Search(timeline, this.#uses);
    this.#isRefinable = Refinement.isApplicable(timeline);
  }

  get stepsTaken(): number {
    const taken = (this.#exact?.stepsTaken ?? 0) + (this.#refinement?.stepsTaken ?? 0);
    return this.#stepsDropped + taken;
  }

  get bytes(): number {
    return (this.#exact?.bytes ?? 0) + (this.#refinement?.bytes ?? 0);
  }

  /** The search with the linearization, after `run` returned "linearizable". */
  get search(): Search<State> {
    const found = this.#decidedBy === "exact" ? this.#exact : this.#refinement?.search;
    if (found === undefined) throw new RangeError("the part has not been searched to the end");
    return found;
  }

  /** Continues for about `steps` candidates, or until its tables exceed `bytesMax`. */
  run(steps: number, bytesMax: number): SearchStatus {
    if (this.#isRefinable && this.stepsTaken > 0) {
      this.#refinement ??= new Refinement(this.#timeline, this.#uses);
    }
    const share = this.#exact && this.#refinement ? Math.ceil(steps / 2) : steps;
    if (this.#refinement !== undefined) {
      const refined = this.#refinement.run(share, bytesMax - (this.#exact?.bytes ?? 0));
      if (refined === "linearizable" || refined === "not-linearizable") {
        this.#decidedBy = "refinement";
        return refined;
      }
      if (refined === "out-of-memory") this.#dropRefinement();
    }
    if (this.#exact !== undefined) {
      const status = this.#exact.run(share, bytesMax - (this.#refinement?.bytes ?? 0));
      if (status !== "out-of-memory") return status;
      this.#dropExact();
    }
    return this.#refinement === undefined ? "out-of-memory" : "paused";
  }

  /** A memory limit that one of them exceeds may be enough for the other. */
  #dropRefinement(): void {
    this.#stepsDropped += this.#refinement?.stepsTaken ?? 0;
    this.#refinement = undefined;
    this.#isRefinable = false;
  }

  #dropExact(): void {
    this.#stepsDropped += this.#exact?.stepsTaken ?? 0;
    this.#exact = undefined;
  }

  /** Why there is no linearization, after `run` returned "not-linearizable". */
  counterexample(): Counterexample {
    const refutation = this.#refinement?.refutation;
    if (this.#decidedBy === "refinement" && refutation !== undefined) return explain(refutation);
    const { search } = this;
    const { deepestLayer: layer, deepest: rows } = search;
    return explain({ search, layer, rows, isShortest: true });
  }
}
