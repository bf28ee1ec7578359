/** The flags of `npm run fuzz`, and what they mean when they are left out. */
import type { Command } from "commander";
import {
  addNames,
  commandLine,
  findNamed,
  type Named,
  nonEmpty,
  numberFrom,
  readCommandLine,
  UsageError,
  wholeFrom,
} from "../../../lab/command-line.js";

export interface RunOptions {
  /** Names of targets. */
  readonly targets: readonly string[];
  /** The time of all targets together, in each job. */
  readonly minutes: number;
  readonly seed: number;
  readonly jobs: number;
  readonly countsCoverage: boolean;
  /** Where findings are written. */
  readonly folder: string;
  /** One input to be run instead; then there is one target. */
  readonly inputFile: string | undefined;
  readonly isJson: boolean;
}

interface FuzzFlags {
  readonly minutes: number;
  readonly seed: number;
  readonly jobs: number;
  readonly blind?: true;
  readonly findings: string;
  readonly input?: string;
  readonly json?: true;
}

const ABOUT =
  "Feeds doors and formats with changed input and looks for anything but a documented refusal. " +
  "The time is shared by the targets. Exit code 0: nothing was found, 1: something was, 2: wrong " +
  "usage.";

function fuzzCommand(targets: readonly Named[]): Command {
  const command = commandLine("npm run fuzz --")
    .description(ABOUT)
    .argument("[targets...]", "names; default: all")
    .option("--minutes <m>", "how long", numberFrom(0.01), 2)
    .option("--seed <n>", "what the changes are drawn from", wholeFrom(0), 1)
    .option("--jobs <n>", "processes side by side", wholeFrom(1, 64), 1)
    .option("--blind", "do not look at coverage: the same seed gives the same inputs")
    .option("--findings <dir>", "where findings are written", nonEmpty, "coverage/fuzz")
    .option("--input <file>", "run this input of one target and nothing else", nonEmpty)
    .option("--json", "one document on standard output");
  return addNames(command, "Targets:", targets);
}

/** The text of the help if that was asked for. Throws `UsageError`. */
export function readFuzzOptions(
  argv: readonly string[],
  targets: readonly Named[],
): RunOptions | string {
  const read = readCommandLine<FuzzFlags>(fuzzCommand(targets), argv);
  if (typeof read === "string") return read;
  const { flags, words } = read;
  const named = words.map((name) => findNamed("target", name, targets).name);
  if (flags.input !== undefined && named.length !== 1) {
    throw new UsageError("--input needs the name of one target");
  }
  return {
    targets: named.length === 0 ? targets.map(({ name }) => name) : [...new Set(named)],
    minutes: flags.minutes,
    seed: flags.seed,
    jobs: flags.jobs,
    countsCoverage: flags.blind !== true,
    folder: flags.findings,
    inputFile: flags.input,
    isJson: flags.json === true,
  };
}
