/**
 * `npm run jepsen`: reads the flags, refuses in one line what cannot be done, runs the attack, also
 * on requested peers, and writes results and report. Progress goes to standard error, the result to
 * standard output.
 */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { RefusedError } from "../harness/refused-error.js";
import { builtCommand } from "../harness/scripts.js";
import { findNemeses } from "../nemeses/catalogue.js";
import type { Nemesis } from "../nemeses/nemesis.js";
import { requirePageFiles } from "../report/render-report.js";
import { findPeers, peerRefusal, SYSTEMS } from "../systems/catalogue.js";
import type { SystemKind } from "../systems/system.js";
import { findWorkloads } from "../workloads/catalogue.js";
import type { Workload } from "../workloads/workload.js";
import { comparedSystem } from "./comparison.js";
import { Console } from "./console.js";
import { Interruption } from "./interruption.js";
import { type Outcome, withComparison, withOwnPeers } from "./results.js";
import { parseRunOptions, peerNemeses, peerWorkloads, type RunOptions } from "./run-options.js";
import { runSystem, type SystemRun, writeOutcome } from "./run-system.js";

/** The exit code follows the verdict. */
export const EXIT = Object.freeze({ valid: 0, invalid: 1, usage: 2, unknown: 3, failed: 70 });
const SIGNAL_BASE = 128;

export async function runCommand(argv: readonly string[]): Promise<number> {
  const options = parseRunOptions(argv);
  if (typeof options === "string") {
    process.stdout.write(options);
    return EXIT.valid;
  }
  const chosen = await resolveNames(options);
  await refuseWhatCannotBe(options, chosen);
  const directory = await prepareDirectory(options.directory);
  const terminal = new Console(options.isQuiet);
  const interruption = new Interruption(() => terminal.interrupted());
  try {
    const { workloads, nemeses, peers } = chosen;
    const signals = { early: interruption.first, atOnce: interruption.second };
    const shared = { options, workloads, nemeses, signals, terminal };
    const own = await runSystem({ ...shared, system: SYSTEMS.holdfast, directory });
    // This result is known, whatever happens to the peers.
    await writeOutcome(directory, own);
    const others = await runPeers({ ...shared, directory }, peers);
    const outcome = withOwnPeers(
      withComparison(own, [own, ...others].map(comparedSystem)),
      others.filter(({ results }) => SYSTEMS[results.system].isOwn === true),
    );
    if (others.length > 0) await writeOutcome(directory, outcome);
    terminal.result(outcome, directory, options.isJson);
    return exitCodeOf(outcome, interruption);
  } catch (error) {
    // Nothing was begun: a directory that was made for it is useless.
    if (error instanceof RefusedError && options.directory === undefined) {
      await rm(directory, { recursive: true, force: true });
    }
    if (interruption.received !== undefined) {
      const why = interruption.second.aborted ? "twice" : "before there was anything to judge";
      process.stderr.write(`jepsen: interrupted ${why}: no report, logs in ${directory}\n`);
      return SIGNAL_BASE + constants.signals[interruption.received];
    }
    throw error;
  } finally {
    interruption.stop();
  }
}

function exitCodeOf({ results: { valid } }: Outcome, { received }: Interruption): number {
  if (received !== undefined && valid !== false) return SIGNAL_BASE + constants.signals[received];
  if (valid === "unknown") return EXIT.unknown;
  return valid ? EXIT.valid : EXIT.invalid;
}

/** Each in a directory of its own, with a report of its own. An interruption ends the sequence. */
async function runPeers(
  shared: Omit<SystemRun, "system">,
  peers: readonly SystemKind[],
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const system of peers) {
    if (shared.signals.early.aborted) break;
    const directory = join(shared.directory, system.name);
    await mkdir(directory);
    const outcome = await runSystem({ ...shared, system, directory });
    await writeOutcome(directory, outcome);
    outcomes.push(outcome);
  }
  return outcomes;
}

interface Chosen {
  readonly workloads: readonly Workload[];
  readonly nemeses: readonly Nemesis[];
  readonly peers: readonly SystemKind[];
}

async function resolveNames(options: RunOptions): Promise<Chosen> {
  const { workloadModules, nemesisModules } = options;
  const workloads = await findWorkloads(options.workloads, workloadModules);
  const nemeses = await findNemeses(options.nemeses, nemesisModules);
  const peers = findPeers(options.peers);
  if (workloads.length === 0) throw new RefusedError("no workload is left: nothing to do");
  return { workloads, nemeses, peers };
}

async function refuseWhatCannotBe(options: RunOptions, chosen: Chosen): Promise<void> {
  builtCommand();
  requirePageFiles();
  const network = options.usesNamespaces ? "namespaces" : "proxies";
  if (chosen.peers.length > 0) await refusePeers(options, chosen);
  const closing = chosen.workloads.find(({ identities }) => identities !== undefined);
  if (closing !== undefined && options.usesNamespaces) {
    const why = "access tokens are not sent in plain text to the addresses of --netns";
    throw new RefusedError(`workload ${closing.name}: ${why}`);
  }
  for (const nemesis of chosen.nemeses) {
    const why = await nemesis.refusal?.({ nodes: options.nodes, network });
    if (why !== undefined) throw new RefusedError(`nemesis ${nemesis.name}: ${why}`);
  }
}

async function refusePeers(options: RunOptions, chosen: Chosen): Promise<void> {
  const workload = chosen.workloads.find(({ plainStep }) => plainStep === undefined);
  if (workload !== undefined) {
    const all = peerWorkloads().join(", ");
    throw new RefusedError(`workload ${workload.name}: peers have plain locks only: ${all}`);
  }
  const nemesis = chosen.nemeses.find(({ isForPeers }) => isForPeers !== true);
  if (nemesis !== undefined) {
    const all = peerNemeses().join(", ");
    throw new RefusedError(`nemesis ${nemesis.name}: only Holdfast has that; peers support ${all}`);
  }
  if (options.usesNamespaces) {
    throw new RefusedError("--peers requires the proxies: leave --netns out");
  }
  const why = await peerRefusal(chosen.peers);
  if (why !== undefined) throw new RefusedError(`--peers: ${why}`);
}

async function prepareDirectory(wanted: string | undefined): Promise<string> {
  if (wanted === undefined) return mkdtemp(join(tmpdir(), "holdfast-jepsen-"));
  const directory = resolve(wanted);
  if (existsSync(directory) && (await readdir(directory)).length > 0) {
    throw new RefusedError(`${directory} is not empty: it would mix the results of two runs`);
  }
  await mkdir(directory, { recursive: true });
  return directory;
}
