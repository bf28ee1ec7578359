/**
 * What a check of locks beside linearizability reports: one rule, what it looked at, what breaks it.
 */
import type { HistoryEvent } from "../input/history-event.js";
import type { Verdict } from "../verdict.js";
import type { LockCall } from "./lock-calls.js";

export interface Violation {
  readonly text: string;
  /** Lines of the history that show it, in order. */
  readonly lines: readonly number[];
}

export interface Finding {
  /** The name of the check, as the documentation lists it. */
  readonly check: string;
  readonly valid: Verdict;
  /** How many things were compared; 0 means that the history holds nothing to compare. */
  readonly compared: number;
  readonly violations: readonly Violation[];
  /** Violations beyond those listed. */
  readonly more: number;
  /** What was counted but breaks no promise. */
  readonly figures?: Readonly<Record<string, number>>;
}

const VIOLATIONS_MAX = 20;

/** Collects what one check sees. */
export class FindingBuilder {
  readonly #check: string;
  readonly #violations: Violation[] = [];
  #more = 0;
  compared = 0;

  constructor(check: string) {
    this.#check = check;
  }

  violation(text: string, ...events: readonly (HistoryEvent | undefined)[]): void {
    if (this.#violations.length >= VIOLATIONS_MAX) {
      this.#more += 1;
      return;
    }
    const lines = events.flatMap((event) => (event === undefined ? [] : [event.line]));
    this.#violations.push({ text, lines: lines.sort((a, b) => a - b) });
  }

  finding(figures?: Readonly<Record<string, number>>): Finding {
    return {
      check: this.#check,
      valid: this.#violations.length === 0,
      compared: this.compared,
      violations: this.#violations,
      more: this.#more,
      ...(figures === undefined ? {} : { figures }),
    };
  }
}

/** The line that matters most of a call: its answer, or else its question. */
export function answerOf(call: LockCall): HistoryEvent {
  return call.operation.completion ?? call.operation.invocation;
}

export function quote(key: string): string {
  return JSON.stringify(key);
}
