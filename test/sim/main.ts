/**
 * `npm run sim`: runs simulations by seed, a plan from a file, or the seeded bugs. Findings go
 * to standard output, progress to standard error if that is a terminal.
 */
import { readFileSync } from "node:fs";
import { UsageError } from "../../lab/command-line.js";
import { runMutants } from "./mutants/runs/run-mutants.js";
import type { SimPlan } from "./plan/plan.js";
import { planOf } from "./plan/plan-of.js";
import { coverageLines, coverageReport } from "./run/coverage-report.js";
import { reportFailure } from "./run/report-failure.js";
import { type BatchSummary, runBatch } from "./run/run-batch.js";
import { readSimOptions, type SimOptions } from "./run/sim-options.js";
import { WorkerPool } from "./run/worker-pool.js";

/** This many failures are made smaller and printed; of the others only the seeds are named. */
const FAILURES_TOLD_MAX = 5;

async function main(options: SimOptions): Promise<boolean> {
  if (options.mutants !== undefined) return runMutants(options.mutants, options);
  const pool = new WorkerPool({ jobs: options.jobs });
  try {
    if (options.planFile !== undefined) return await runFile(options.planFile, pool);
    return await runSeeds(options, pool);
  } finally {
    pool.close();
  }
}

async function runFile(file: string, pool: WorkerPool): Promise<boolean> {
  const plan = JSON.parse(readFileSync(file, "utf8")) as SimPlan;
  const { failure, hash } = await pool.run({ seed: plan.seed, plan, tellsStory: true });
  for (const line of failure?.story ?? []) print(line);
  print(failure === undefined ? `no failure, hash ${hash}` : failure.message);
  return failure === undefined;
}

async function runSeeds(options: SimOptions, pool: WorkerPool): Promise<boolean> {
  const summary = await runBatch(pool, options, (soFar) => {
    showProgress(`${soFar.seeds} of ${options.seedCount} seeds, ${soFar.failures.length} failed`);
    return true;
  });
  showProgress("");
  const failures = [];
  const told = [...summary.failures].sort((a, b) => a.seed - b.seed).slice(0, FAILURES_TOLD_MAX);
  for (const failed of told) {
    const plan = planOf(failed.seed);
    const report = await reportFailure(pool, failed, plan, options.minimises);
    failures.push(report);
    if (options.isJson) continue;
    for (const line of report.lines) print(line);
  }
  if (options.isJson) {
    printJson(summary, failures, options.counts);
  } else {
    for (const line of others(summary)) print(line);
    if (options.counts)
      for (const line of coverageLines(coverageReport(summary.coverage))) print(line);
    print(summaryLine(summary));
  }
  return summary.failures.length === 0;
}

function others({ failures }: BatchSummary): string[] {
  const rest = failures
    .map(({ seed }) => seed)
    .sort((a, b) => a - b)
    .slice(FAILURES_TOLD_MAX);
  return rest.length === 0 ? [] : ["", `and seeds ${rest.join(", ")}`];
}

function printJson(summary: BatchSummary, told: readonly object[], counts: boolean): void {
  const { failures, coverage: sum, ...numbers } = summary;
  const coverage = counts ? coverageReport(sum) : undefined;
  const failedSeeds = failures.map(({ seed }) => seed).sort((a, b) => a - b);
  print(JSON.stringify({ ...numbers, coverage, failures: told, failedSeeds }));
}

function summaryLine(summary: BatchSummary): string {
  const { seeds, simulatedSeconds, wallSeconds, faultEpisodes, failures } = summary;
  const ratio = wallSeconds === 0 ? 0 : simulatedSeconds / wallSeconds;
  return (
    `${seeds} seeds, ${simulatedSeconds.toFixed(0)} simulated seconds in ` +
    `${wallSeconds.toFixed(1)} s (${ratio.toFixed(0)} : 1), ${faultEpisodes} fault episodes, ` +
    `${summary.elections} elections, ${summary.grants} grants, ${failures.length} failures`
  );
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  const options = readSimOptions(process.argv.slice(2));
  if (typeof options === "string") process.stdout.write(options);
  else if (!(await main(options))) process.exitCode = 1;
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof UsageError ? "; see npm run sim -- --help" : "";
  process.stderr.write(`sim: ${message}${hint}\n`);
  process.exitCode = 2;
}
