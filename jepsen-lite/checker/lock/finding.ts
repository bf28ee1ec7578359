/**
 * What a check of locks beside linearizability reports: one rule, what it looked at, what breaks it.
 */
import type { AnomalyCounts, AnomalyKind } from "../anomalies.js";
import { quote } from "../event-text.js";
import type { HistoryEvent } from "../input/history-event.js";
import type { Verdict } from "../verdict.js";
import { type Involved, type Violation, violationOf } from "../violation.js";
import type { LockCall } from "./lock-calls.js";

export interface Finding {
  /** The name of the check, as the documentation lists it. */
  readonly check: string;
  readonly valid: Verdict;
  /** How many things were compared; 0 means that the history holds nothing to compare. */
  readonly compared: number;
  readonly violations: readonly Violation[];
  /** Violations beyond those listed. */
  readonly more: number;
  /** All of them by kind, those beyond the list too. */
  readonly anomalies: AnomalyCounts;
  /** What was counted but breaks no promise. */
  readonly figures?: Readonly<Record<string, number>>;
}

const VIOLATIONS_MAX = 20;

/** Collects what one check sees. */
export class FindingBuilder {
  readonly #check: string;
  readonly #violations: Violation[] = [];
  readonly #anomalies = new Map<AnomalyKind, number>();
  #more = 0;
  compared = 0;

  constructor(check: string) {
    this.#check = check;
  }

  violation(kind: AnomalyKind, text: string, involved: Involved): void {
    this.#anomalies.set(kind, (this.#anomalies.get(kind) ?? 0) + 1);
    if (this.#violations.length < VIOLATIONS_MAX) {
      this.#violations.push(violationOf(kind, text, involved));
    } else {
      this.#more += 1;
    }
  }

  finding(figures?: Readonly<Record<string, number>>): Finding {
    return {
      check: this.#check,
      valid: this.#violations.length === 0,
      compared: this.compared,
      violations: this.#violations,
      more: this.#more,
      anomalies: Object.fromEntries(this.#anomalies),
      ...(figures === undefined ? {} : { figures }),
    };
  }
}

/** The line that matters most of a call: its answer, or else its question. */
export function answerOf(call: LockCall): HistoryEvent {
  return call.operation.completion ?? call.operation.invocation;
}

/** Both lines of each call, the question and the answer, where there is one. */
export function linesOf(...calls: readonly LockCall[]): (HistoryEvent | undefined)[] {
  return calls.flatMap(({ operation }) => [operation.invocation, operation.completion]);
}

export function keysOf({ items }: { readonly items: readonly { readonly key: string }[] }) {
  return items.map(({ key }) => key);
}

/** ` of \`a\` and \`b\``, or nothing. */
export function ofKeys(keys: readonly string[]): string {
  return keys.length === 0 ? "" : ` of ${keys.map(quote).join(" and ")}`;
}
