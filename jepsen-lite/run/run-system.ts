/** One system from beginning to end: attacked, judged, and documented in a directory of its own. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Attack } from "../attack/attack.js";
import type { Phase } from "../attack/attack-plan.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import { renderReport } from "../report/render-report.js";
import type { SystemKind } from "../systems/system.js";
import { judge } from "../verdict/verdict.js";
import type { Workload } from "../workloads/workload.js";
import type { Console } from "./console.js";
import { type Outcome, outcomeOf } from "./results.js";
import type { RunOptions } from "./run-options.js";

export interface SystemRun {
  readonly system: SystemKind;
  readonly options: RunOptions;
  readonly workloads: readonly Workload[];
  readonly nemeses: readonly Nemesis[];
  /** An existing, empty directory. */
  readonly directory: string;
  /** The first is aborted when the run must end early, the second when it must end at once. */
  readonly signals: { readonly early: AbortSignal; readonly atOnce: AbortSignal };
  readonly terminal: Console;
}

export async function runSystem(run: SystemRun): Promise<Outcome> {
  const { system, options, workloads, nemeses, directory, signals, terminal } = run;
  const attack = new Attack({
    system,
    options: { ...options, workloads: workloads.map(({ name }) => name) },
    workloads,
    nemeses,
    directory,
    signal: signals.early,
    abandoned: signals.atOnce,
    onPhase: (phase: Phase, note) => terminal.phase(phase, note),
  });
  const ticking = terminal.tick(() => attack.progress);
  const result = await attack.run().finally(ticking);
  const verdict = await judge(result, {
    workloads,
    nemeses: options.schedule === "none" ? [] : nemeses.map(({ name }) => name),
    isFenced: options.isFenced,
    isStrict: options.isStrict,
    tokensRise: system.tokensRise,
    isPeer: system.name !== "holdfast",
    early: signals.early,
    atOnce: signals.atOnce,
    onProgress: (note) => terminal.phase("checking", note),
  });
  const wasInterrupted = signals.early.aborted;
  return outcomeOf({ system, options, workloads, nemeses, result, verdict, wasInterrupted });
}

export async function writeOutcome(directory: string, outcome: Outcome): Promise<void> {
  await writeFile(join(directory, "results.json"), `${JSON.stringify(outcome.results, null, 2)}\n`);
  await writeFile(join(directory, "report.html"), renderReport(outcome.report));
}
