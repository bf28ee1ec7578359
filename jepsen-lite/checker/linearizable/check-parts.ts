/**
 * Searches all parts of a history within one budget. Every part gets a small slice first and larger
 * ones in later rounds, so that one hard key neither hides a violation of another nor uses up what
 * the easy ones need.
 */
import type { Budget, Verdict } from "../verdict.js";
import { worstOf } from "../verdict.js";
import type { Counterexample } from "./counterexample.js";
import { PartSearch } from "./part-search.js";
import type { Part, Step } from "./problem.js";
import type { Search, SearchStatus } from "./search.js";
import { layOut } from "./timeline.js";

export interface UndecidedPart {
  readonly keys: readonly string[];
  readonly reason: string;
}

/** A part's operations in an order that explains every answer, and the states between them. */
export interface Linearization {
  readonly keys: readonly string[];
  readonly order: readonly { readonly step: Step<unknown>; readonly state: string }[];
}

export interface PartsVerdict {
  readonly valid: Verdict;
  readonly parts: number;
  readonly steps: number;
  /** Earliest violation first. */
  readonly counterexamples: readonly Counterexample[];
  readonly undecided: readonly UndecidedPart[];
  /** Only if requested, and only for parts that have one. */
  readonly linearizations: readonly Linearization[];
}

export interface PartsOptions {
  readonly budget: Budget;
  readonly withLinearizations?: boolean;
  /** Called after each slice with the number of decided parts. */
  readonly onProgress?: (decided: number, parts: number) => void;
}

const FIRST_SLICE_STEPS = 20_000;
const SLICE_GROWTH = 4;
/** A slice is divided into runs of this length, so that a time limit is kept. */
const RUN_STEPS_MAX = 250_000;
const TOO_CONCURRENT = "too many operations are open at once to be searched in bounded memory";

export function checkParts<State>(
  parts: readonly Part<State>[],
  options: PartsOptions,
): PartsVerdict {
  return new PartsCheck(parts, options).run();
}

interface OpenPart<State> {
  readonly part: Part<State>;
  search: PartSearch<State> | undefined;
}

class PartsCheck<State> {
  readonly #parts: readonly Part<State>[];
  readonly #options: PartsOptions;
  readonly #counterexamples: Counterexample[] = [];
  readonly #undecided: UndecidedPart[] = [];
  readonly #linearizations: Linearization[] = [];
  readonly #deadlineMs: number;
  #open: OpenPart<State>[];
  #bytes = 0;
  #stepsLeft: number;

  constructor(parts: readonly Part<State>[], options: PartsOptions) {
    this.#parts = parts;
    this.#options = options;
    this.#open = parts.map((part) => ({ part, search: undefined }));
    this.#stepsLeft = options.budget.steps;
    this.#deadlineMs = performance.now() + options.budget.timeMs;
  }

  run(): PartsVerdict {
    let slice = FIRST_SLICE_STEPS;
    while (this.#open.length > 0 && this.#counterexamples.length === 0 && !this.#isSpent()) {
      const rest: OpenPart<State>[] = [];
      let looked = 0;
      for (const open of this.#open) {
        looked += 1;
        if (!this.#advance(open, slice)) rest.push(open);
        const decided = this.#parts.length - (this.#open.length - looked) - rest.length;
        this.#options.onProgress?.(decided, this.#parts.length);
      }
      this.#open = rest;
      slice *= SLICE_GROWTH;
    }
    const reason = this.#stepsLeft <= 0 ? "the step budget ran out" : "the time ran out";
    const isSettled = this.#counterexamples.length > 0;
    const rest = isSettled ? "not searched to the end: another key decided the verdict" : reason;
    for (const { part } of this.#open) this.#undecided.push({ keys: part.keys, reason: rest });
    this.#counterexamples.sort((a, b) => a.prefixEvents - b.prefixEvents);
    return {
      valid: worstOf([!isSettled, ...this.#undecided.map(() => "unknown" as const)]),
      parts: this.#parts.length,
      steps: this.#options.budget.steps - this.#stepsLeft,
      counterexamples: this.#counterexamples,
      undecided: this.#undecided,
      linearizations: this.#linearizations,
    };
  }

  #isSpent(): boolean {
    return this.#stepsLeft <= 0 || performance.now() >= this.#deadlineMs;
  }

  /** Returns whether the part is decided either way, or given up. */
  #advance(open: OpenPart<State>, slice: number): boolean {
    if (this.#isSpent()) return false;
    let search = open.search;
    if (search === undefined) {
      const timeline = layOut(open.part);
      if (timeline === undefined) return this.#giveUp(open, TOO_CONCURRENT);
      search = new PartSearch(timeline);
    } else {
      this.#bytes -= search.bytes;
    }
    const status = this.#run(search, slice);
    if (status === "paused") {
      open.search = search;
      this.#bytes += search.bytes;
      return false;
    }
    open.search = undefined;
    if (status === "out-of-memory") return this.#giveUp(open, "the memory budget ran out");
    if (status === "not-linearizable") this.#counterexamples.push(search.counterexample());
    else if (this.#options.withLinearizations) {
      this.#linearizations.push(linearization(search.search));
    }
    return true;
  }

  #run(search: PartSearch<State>, slice: number): SearchStatus {
    let status: SearchStatus = "paused";
    let left = Math.min(slice, this.#stepsLeft);
    while (status === "paused" && left > 0 && performance.now() < this.#deadlineMs) {
      const before = search.stepsTaken;
      status = search.run(Math.min(left, RUN_STEPS_MAX), this.#options.budget.bytes - this.#bytes);
      left -= Math.min(left, RUN_STEPS_MAX);
      this.#stepsLeft -= search.stepsTaken - before;
    }
    return status;
  }

  #giveUp(open: OpenPart<State>, reason: string): true {
    open.search = undefined;
    this.#undecided.push({ keys: open.part.keys, reason });
    return true;
  }
}

function linearization<State>(search: Search<State>): Linearization {
  const { timeline, states } = search;
  const used = new Map<number, number>();
  const order = search.path(search.success).map((taken) => {
    const state = timeline.part.describe(states.state(taken.state));
    if (taken.certain !== -1) return { step: timeline.certain[taken.certain], state };
    const nth = used.get(taken.openClass) ?? 0;
    used.set(taken.openClass, nth + 1);
    const number = timeline.openClasses[taken.openClass]?.steps[nth] as number;
    return { step: timeline.openSteps[number], state };
  });
  return { keys: timeline.part.keys, order: order as Linearization["order"] };
}
