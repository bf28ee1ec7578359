/**
 * `npm run jepsen`: reads the flags, refuses in one line what cannot be done, runs the attack, and
 * writes results and report. Progress goes to standard error, the result to standard output.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findNemeses, NEMESES } from "../nemeses/catalogue.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import { builtCommand } from "../own-scripts.js";
import { RefusedError } from "../refused-error.js";
import { renderReport } from "../report/render-report.js";
import { findWorkloads, WORKLOADS } from "../workloads/catalogue.js";
import type { Workload } from "../workloads/workload.js";
import { Attack, type Phase } from "./attack.js";
import { Console } from "./console.js";
import { type Outcome, outcomeOf } from "./outcome-file.js";
import { parseRunOptions, type RunOptions } from "./run-options.js";
import { usageText } from "./run-usage.js";
import { judge } from "./verdict.js";

/** The exit code follows the verdict. */
export const EXIT = Object.freeze({ valid: 0, invalid: 1, usage: 2, unknown: 3, failed: 70 });
const SIGNAL_BASE = 128;

/** What a machine may not be able to do is done only when it is asked for. */
const UNUSUAL: ReadonlySet<string> = new Set(["disk-full"]);

export async function runCommand(argv: readonly string[]): Promise<number> {
  const nemeses = NEMESES.map(({ name }) => name);
  const options = parseRunOptions(argv, {
    workloads: WORKLOADS.map(({ name }) => name),
    nemeses,
    usualNemeses: nemeses.filter((name) => !UNUSUAL.has(name)),
  });
  if (options === undefined) {
    process.stdout.write(usageText(WORKLOADS, NEMESES));
    return EXIT.valid;
  }
  const { workloads, chosen } = await resolveNames(options);
  await refuseWhatCannotBe(options, chosen);
  const directory = await prepareDirectory(options.directory);
  const interruption = new Interruption();
  const terminal = new Console(options.isQuiet);
  try {
    const attack = new Attack({
      options: { ...options, workloads: workloads.map(({ name }) => name) },
      workloads,
      nemeses: chosen,
      directory,
      signal: interruption.first,
      onPhase: (phase: Phase, note) => terminal.phase(phase, note),
    });
    const ticking = terminal.tick(() => attack.progress);
    const result = await attack.run().finally(ticking);
    const verdict = await judge(result, {
      workloads,
      isFenced: options.isFenced,
      signal: interruption.second,
      onProgress: (note) => terminal.phase("checking", note),
    });
    const outcome = outcomeOf({ argv, options, workloads, nemeses: chosen, result, verdict });
    await writeOutcome(directory, outcome);
    terminal.result(outcome, directory, options.isJson);
    if (interruption.received !== undefined && verdict.valid !== false) {
      return SIGNAL_BASE + constants.signals[interruption.received];
    }
    if (verdict.valid === "unknown") return EXIT.unknown;
    return verdict.valid ? EXIT.valid : EXIT.invalid;
  } catch (error) {
    // Nothing was begun: a directory that was made for it is of no use to anybody.
    if (error instanceof RefusedError && options.directory === undefined) {
      await rm(directory, { recursive: true, force: true });
    }
    if (interruption.received !== undefined) {
      return SIGNAL_BASE + constants.signals[interruption.received];
    }
    throw error;
  } finally {
    interruption.stop();
  }
}

async function resolveNames(
  options: RunOptions,
): Promise<{ workloads: Workload[]; chosen: Nemesis[] }> {
  const { workloadModules, nemesisModules } = options;
  const workloads = await findWorkloads(options.workloads, workloadModules);
  const chosen = await findNemeses(options.nemeses, nemesisModules);
  if (workloads.length === 0) throw new RefusedError("no workload is left: there is nothing to do");
  return { workloads, chosen };
}

async function refuseWhatCannotBe(options: RunOptions, nemeses: readonly Nemesis[]): Promise<void> {
  builtCommand();
  const network = options.usesNamespaces ? "namespaces" : "proxies";
  for (const nemesis of nemeses) {
    const why = await nemesis.refusal?.({ nodes: options.nodes, network });
    if (why !== undefined) throw new RefusedError(`nemesis ${nemesis.name}: ${why}`);
  }
}

async function prepareDirectory(wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return mkdtemp(join(tmpdir(), "holdfast-jepsen-"));
  const directory = resolve(wanted);
  if (existsSync(directory) && (await readdir(directory)).length > 0) {
    throw new RefusedError(`${directory} is not empty: results of two runs would be mixed`);
  }
  await mkdir(directory, { recursive: true });
  return directory;
}

async function writeOutcome(directory: string, outcome: Outcome): Promise<void> {
  await writeFile(join(directory, "results.json"), `${JSON.stringify(outcome.results, null, 2)}\n`);
  await writeFile(join(directory, "report.html"), renderReport(outcome.report));
}

/** The first signal heals and reports; the second one gives up the checking too. */
class Interruption {
  readonly #first = new AbortController();
  readonly #second = new AbortController();
  readonly #onSignal = (signal: NodeJS.Signals) => {
    if (this.received !== undefined) this.#second.abort();
    this.received ??= signal;
    this.#first.abort();
  };
  received: NodeJS.Signals | undefined;

  constructor() {
    for (const signal of SIGNALS) process.on(signal, this.#onSignal);
  }

  get first(): AbortSignal {
    return this.#first.signal;
  }

  get second(): AbortSignal {
    return this.#second.signal;
  }

  stop(): void {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
  }
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
