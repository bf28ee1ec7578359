/**
 * The results of several systems under the same faults, side by side: what they lost, and the cost
 * of availability. It is only shown: what Holdfast itself did wrong is in the verdict without it.
 */

import type { CheckResult } from "../verdict/check-result.js";
import type { ComparedSystem, LostUpdates } from "./compared-system.js";
import type { Outcome } from "./results.js";

export function comparedSystem({ results }: Outcome): ComparedSystem {
  const { system, about, valid, checks, figures } = results;
  const broken = (part: string) => {
    const parts = checks.flatMap((check) => check.parts ?? []);
    return parts
      .filter(({ name }) => name === part)
      .reduce((sum, { violations }) => sum + violations, 0);
  };
  return {
    name: system,
    about,
    valid,
    fenced: lostUpdates(checks.find(({ subject }) => subject === "guarded-store")),
    unfenced: lostUpdates(checks.find(({ subject }) => subject === "unfenced-store")),
    twoHolders: broken("exclusion"),
    badTokens: broken("tokens"),
    unexplained: broken("linearizable"),
    succeeded: figures.ok,
    unknown: figures.info,
    faults: figures.faults,
    elections: figures.elections,
    longestGapMs: figures.longestGapMs,
  };
}

function lostUpdates(check: CheckResult | undefined): LostUpdates {
  const { lost = 0, accepted = 0, refused = 0 } = check?.figures ?? {};
  return { lost, accepted, refused };
}

export interface ComparisonRow {
  readonly name: string;
  readonly cells: readonly { readonly text: string; readonly isLoss: boolean }[];
}

/** A table for people: a row for each question, a cell for each system. */
export function comparisonRows(systems: readonly ComparedSystem[]): readonly ComparisonRow[] {
  const row = (
    name: string,
    textOf: (system: ComparedSystem) => string,
    lossOf: (system: ComparedSystem) => number = () => 0,
  ): ComparisonRow => {
    const cells = systems.map((each) => ({ text: textOf(each), isLoss: lossOf(each) > 0 }));
    return { name, cells };
  };
  const loss = (name: string, lossOf: (system: ComparedSystem) => number) =>
    row(name, (system) => count(lossOf(system)), lossOf);
  const lost = (name: string, updatesOf: (system: ComparedSystem) => LostUpdates) => {
    const textOf = (system: ComparedSystem) => {
      const updates = updatesOf(system);
      return `${count(updates.lost)} of ${count(updates.accepted)}`;
    };
    return row(name, textOf, (system) => updatesOf(system).lost);
  };
  return [
    loss("two holders at once", ({ twoHolders }) => twoHolders),
    loss("tokens twice or falling", ({ badTokens }) => badTokens),
    loss("keys without an explanation", ({ unexplained }) => unexplained),
    lost("updates lost, fenced", ({ fenced }) => fenced),
    row("late writers refused", ({ fenced }) => count(fenced.refused)),
    lost("updates lost, not fenced", ({ unfenced }) => unfenced),
    row("operations succeeded", ({ succeeded }) => count(succeeded)),
    row("outcome unknown", ({ unknown }) => count(unknown)),
    row("faults", ({ faults }) => count(faults)),
    row("elections, failovers", ({ elections }) => count(elections)),
    row("longest time without success", ({ longestGapMs }) => `${count(longestGapMs)} ms`),
  ];
}

function count(value: number): string {
  return value.toLocaleString("en-US");
}
