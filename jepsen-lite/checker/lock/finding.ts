/**
 * The result of a lock check other than linearizability: one rule, what was compared, and the
 * violations.
 */
import type { AnomalyCounts, AnomalyKind } from "../anomalies.js";
import { quote } from "../event-text.js";
import type { HistoryEvent } from "../input/history-event.js";
import type { Verdict } from "../verdict.js";
import { type Involved, type Violation, violationOf } from "../violation.js";
import type { LockCall } from "./lock-calls.js";

export interface Finding {
  /** The name of the check, as in the documentation. */
  readonly check: string;
  readonly valid: Verdict;
  /** How many things were compared; 0 means that the history has nothing to compare. */
  readonly compared: number;
  readonly violations: readonly Violation[];
  /** Violations beyond those listed. */
  readonly more: number;
  /** All of them by kind, including those beyond the list. */
  readonly anomalies: AnomalyCounts;
  /** Counts that are not violations. */
  readonly figures?: Readonly<Record<string, number>>;
}

const VIOLATIONS_MAX = 20;

/** Collects the results of one check. */
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

/** The most important line of a call: its answer, otherwise its question. */
export function answerOf(call: LockCall): HistoryEvent {
  return call.operation.completion ?? call.operation.invocation;
}

/** Both lines of each call, question and answer, as far as they exist. */
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
