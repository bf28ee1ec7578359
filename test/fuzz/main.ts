/**
 * `npm run fuzz`: the targets in processes of their own, or one input of one target. What is found is
 * written to files and told on standard output; progress goes to standard error of a terminal.
 */
import { join, relative } from "node:path";
import { findNamed, UsageError } from "../../lab/command-line.js";
import { readInput, writeInput } from "./engine/corpus-files.js";
import type { Finding } from "./engine/finding.js";
import { type RunOptions, readFuzzOptions } from "./engine/fuzz-options.js";
import { Job } from "./engine/job.js";
import type { JobResult } from "./engine/job-protocol.js";
import { FUZZ_TARGETS } from "./targets/index.js";

async function runInput(name: string, path: string): Promise<boolean> {
  const target = findNamed("target", name, FUZZ_TARGETS);
  const input = readInput(path);
  await target.corpus();
  try {
    print(`${name}: ${await target.run(input)}`);
    return true;
  } catch (error) {
    print(error instanceof Error ? String(error.stack) : String(error));
    return false;
  } finally {
    await target.close?.();
  }
}

async function runTargets(options: RunOptions): Promise<boolean> {
  const { targets, jobs: jobCount } = options;
  const line = [...targets];
  const seconds = (options.minutes * 60 * Math.min(jobCount, targets.length)) / targets.length;
  const results: JobResult[] = [];
  const work = async (): Promise<void> => {
    const job = new Job();
    for (let target = line.shift(); target !== undefined; target = line.shift()) {
      showProgress(`${results.length} of ${targets.length} targets, now ${target}`);
      const { seed, countsCoverage } = options;
      const result = await job.run({ target, seed, seconds, countsCoverage });
      results.push(result);
      if (!options.isJson) tell(result, options);
    }
    job.close();
  };
  if (!options.isJson) print(HEADINGS);
  await Promise.all(Array.from({ length: Math.min(jobCount, targets.length) }, work));
  showProgress("");
  const findings = results.flatMap((result) => result.findings);
  if (options.isJson) print(JSON.stringify(documentOf(results, options)));
  else print(totalLine(results));
  return findings.length === 0;
}

const COLUMNS = [20, 11, 9, 7, 7, 9, 9] as const;
const HEADINGS = row("target", "executions", "a second", "taken", "corpus", "branches", "findings");

function row(...cells: readonly (string | number | undefined)[]): string {
  const [name = "", ...numbers] = cells.map((cell) => String(cell ?? "–"));
  const padded = numbers.map((cell, at) => cell.padStart(COLUMNS[at + 1] ?? 0));
  return [name.padEnd(COLUMNS[0]), ...padded].join(" ");
}

function tell(result: JobResult, options: RunOptions): void {
  showProgress("");
  const { target, executions, seconds, taken, corpusSize, branches, findings } = result;
  const share = executions === 0 ? "0 %" : `${Math.round((100 * taken) / executions)} %`;
  const pace = Math.round(executions / Math.max(seconds, 0.001));
  print(row(target, executions, pace, share, corpusSize, branches, findings.length));
  for (const finding of findings) {
    print(`\n${finding.message}`);
    print(`  again: npm run fuzz -- ${target} --input ${saved(finding, options)}\n`);
  }
}

function saved(finding: Finding, { folder }: RunOptions): string {
  const path = writeInput(join(folder, finding.target), finding.input, finding.message);
  return relative(process.cwd(), path);
}

function totalLine(results: readonly JobResult[]): string {
  const executions = results.reduce((all, result) => all + result.executions, 0);
  const seconds = results.reduce((all, result) => all + result.seconds, 0);
  const findings = results.reduce((all, result) => all + result.findings.length, 0);
  return `${executions} executions in ${seconds.toFixed(0)} s, ${findings} findings`;
}

function documentOf(results: readonly JobResult[], options: RunOptions): object {
  return {
    seed: options.seed,
    targets: results.map(({ findings, ...numbers }) => ({
      ...numbers,
      findings: findings.map((finding) => {
        return { message: finding.message, file: saved(finding, options) };
      }),
    })),
  };
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

try {
  const options = readFuzzOptions(process.argv.slice(2), FUZZ_TARGETS);
  if (typeof options === "string") process.stdout.write(options);
  else {
    const { inputFile, targets } = options;
    const isClean =
      inputFile === undefined
        ? await runTargets(options)
        : await runInput(targets[0] ?? "", inputFile);
    if (!isClean) process.exitCode = 1;
  }
} catch (error) {
  const message = error instanceof Error ? error.message : String(error);
  const hint = error instanceof UsageError ? "; see npm run fuzz -- --help" : "";
  process.stderr.write(`fuzz: ${message}${hint}\n`);
  process.exitCode = 2;
}
