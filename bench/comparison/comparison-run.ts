/**
 * Several measurements from one command: runs them, prints one table for each, and writes the
 * document and the picture that were asked for. It says on standard error how far it is, even if
 * that is not a terminal, because the run takes long.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describeMachine } from "../measures/machine.js";
import type { Several } from "../options/invocation.js";
import { type MeasuredStep, measureSteps, stepObject, violationsIn } from "./comparison.js";
import { comparisonChart } from "./comparison-chart.js";
import { comparisonLines, comparisonMarkdown } from "./comparison-report.js";
import { SavedResults } from "./saved-results.js";

/** What its parts came to. */
export interface SeveralOutcome {
  readonly text: string;
  /** A violation, or a system that failed. */
  readonly isFailed: boolean;
}

/** `signal` ends it early, by rejecting; what was measured so far is kept if it is saved. */
export async function runSeveral(
  several: Several,
  argv: readonly string[],
  signal: AbortSignal,
): Promise<SeveralOutcome> {
  const machine = describeMachine();
  const version = ownVersion();
  const saved = SavedResults.open(several.save, several.resume === true, version);
  let steps: MeasuredStep[];
  try {
    steps = await measureSteps(several, saved, signal, note);
  } catch (error) {
    if (several.save !== undefined) {
      note(`the results so far are in ${several.save}; --resume continues with them`);
    }
    throw error;
  }
  const command = ["npm run bench --", ...argv].join(" ");
  write(several.markdown, comparisonMarkdown(steps, command, version));
  write(several.svg, comparisonChart(steps));
  const objects = steps.map(stepObject);
  const all = { workload: "all", version, machine, results: objects };
  const text =
    several.json === true
      ? JSON.stringify(several.all === true ? all : objects[0])
      : comparisonLines(steps).join("\n");
  const isFailed = violationsIn(steps) > 0 || steps.some(({ failed }) => failed.length > 0);
  return { text, isFailed };
}

function write(file: string | undefined, content: string | undefined): void {
  if (file === undefined || content === undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  note(`written: ${file}`);
}

function note(line: string): void {
  process.stderr.write(`bench: ${line}\n`);
}

/** Seen from `dist/bench/comparison` and from `bench/comparison`. */
function ownVersion(): string {
  for (const path of ["../../../package.json", "../../package.json"]) {
    try {
      const text = readFileSync(new URL(path, import.meta.url), "utf8");
      return (JSON.parse(text) as { version: string }).version;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw new Error("package.json is missing");
}
