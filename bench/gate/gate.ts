/**
 * `npm run bench:gate`: counts what a fixed load costs and compares that with `gate-baseline.json`.
 * Exit code 0 if nothing rose too much, 1 if something did or could not be measured, 2 for wrong
 * usage, 128 + n if interrupted.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";
import { commandLine, readCommandLine, UsageError } from "../../lab/command-line.js";
import { BASELINE_ROUNDS, compareEntries, entryText, USUAL_ROUNDS } from "./entry-counts.js";
import { compareCounts, comparisonText } from "./gate-counts.js";
import { type GateResult, runGate } from "./gate-run.js";

const EXIT = { done: 0, failed: 1, usage: 2, signalBase: 128 } as const;
/** An idle machine takes a sixth of it, and twice that if it counts again. */
const RUN_MS_MAX = { usual: 240_000, baseline: 600_000 } as const;

interface GateFlags {
  readonly update?: true;
  readonly json?: true;
}

const COMMAND = commandLine("npm run bench:gate --")
  .description("Counts what a fixed load costs and compares it with the baseline.")
  .option("--update", "write a new baseline")
  .option("--json", "print the counts as one JSON object");

async function main(argv: readonly string[]): Promise<number> {
  try {
    const read = readCommandLine<GateFlags>(COMMAND, argv);
    if (typeof read !== "string") return await run(read.flags);
    print(read.trimEnd());
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    complain(`${error.message}; see npm run bench:gate -- --help`);
    return EXIT.usage;
  }
}

async function run({ update, json }: GateFlags): Promise<number> {
  const interruption = new AbortController();
  let received: NodeJS.Signals | undefined;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => {
      received ??= name;
      interruption.abort();
    });
  }
  const limitMs = update === true ? RUN_MS_MAX.baseline : RUN_MS_MAX.usual;
  const limit = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([interruption.signal, limit]);
  try {
    if (update === true) return writeBaseline(await runGate(BASELINE_ROUNDS, signal));
    return await hold(readBaseline(), json === true, signal);
  } catch (error) {
    if (received !== undefined) return EXIT.signalBase + constants.signals[received];
    const message = error instanceof Error ? error.message : String(error);
    complain(limit.aborted ? `not done within ${limitMs / 1_000} s` : message);
    return EXIT.failed;
  }
}

function writeBaseline(counts: GateResult): number {
  const file = findBaseline();
  writeFileSync(file, `${JSON.stringify(counts, undefined, 2)}\n`);
  complain(`written: ${file}`);
  return EXIT.done;
}

/**
 * Counts again if something is too high. A busy machine can raise a count once: V8 compiles later, and
 * messages travel alone. A regression raises the same count twice.
 */
async function hold(baseline: GateResult, isJson: boolean, signal: AbortSignal): Promise<number> {
  let held = await count(baseline, isJson, signal);
  if (held.tooHigh.size > 0) {
    complain("counted again, because of these");
    const again = await count(baseline, isJson, signal);
    const both = [...again.tooHigh].filter((name) => held.tooHigh.has(name));
    held = { ...again, tooHigh: new Set(both) };
  }
  if (held.tooHigh.size > 0) {
    complain(
      "a command costs more than before; if that is intended, run npm run bench:gate -- --update",
    );
    return EXIT.failed;
  }
  if (held.isMuchLower) {
    complain(
      "a command costs much less than before; to keep it so, run npm run bench:gate -- --update",
    );
  }
  return EXIT.done;
}

interface Held {
  /** Phases and counts. */
  readonly tooHigh: ReadonlySet<string>;
  readonly isMuchLower: boolean;
}

async function count(baseline: GateResult, isJson: boolean, signal: AbortSignal): Promise<Held> {
  const counts = await runGate(USUAL_ROUNDS, signal);
  const commands = compareCounts(baseline.perCommand, counts.perCommand);
  const entries = compareEntries(baseline.perEntry, counts.perEntry);
  const verdicts = [...commands, ...entries];
  const lines = [...comparisonText(commands), ...entryText(entries)];
  print(isJson ? JSON.stringify(counts) : lines.join("\n"));
  const tooHigh = new Set<string>();
  for (const [at, { phase, count, isTooHigh }] of verdicts.entries()) {
    if (!isTooHigh) continue;
    tooHigh.add(`${phase}: ${count}`);
    complain((lines[at] as string).replaceAll(/ {2,}/g, "  "));
  }
  return { tooHigh, isMuchLower: verdicts.some(({ isMuchLower }) => isMuchLower) };
}

function readBaseline(): GateResult {
  return JSON.parse(readFileSync(findBaseline(), "utf8")) as GateResult;
}

/** It is part of the sources, not of the build. */
function findBaseline(): string {
  for (const path of ["../../../bench/gate/gate-baseline.json", "./gate-baseline.json"]) {
    const file = fileURLToPath(new URL(path, import.meta.url));
    if (existsSync(file)) return file;
  }
  throw new Error("bench/gate/gate-baseline.json is missing");
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(message: string): void {
  process.stderr.write(`bench:gate: ${message}\n`);
}

process.exit(await main(process.argv.slice(2)));
