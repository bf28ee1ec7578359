/** The flags of `npm run sim`, and their defaults. */
import { availableParallelism } from "node:os";
import { type Command, Option } from "commander";
import {
  commandLine,
  nonEmpty,
  numberFrom,
  readCommandLine,
  UsageError,
  wholeFrom,
} from "../../../lab/command-line.js";
import type { BatchOptions } from "./run-batch.js";

export interface SimOptions extends BatchOptions {
  readonly counts: boolean;
  readonly isJson: boolean;
  readonly planFile: string | undefined;
  readonly minimises: boolean;
  /** `undefined`: no mutants. Empty: all of them. */
  readonly mutants: readonly string[] | undefined;
  /** How often each mutant is looked for with seeds that have nothing to do with it; 0: never. */
  readonly freshSearches: number;
}

interface SimFlags {
  readonly seed: number;
  readonly seeds?: number;
  readonly minutes?: number;
  readonly jobs: number;
  readonly plan?: string;
  readonly minimise: boolean;
  readonly mutants?: true;
  readonly fresh?: number;
  readonly coverage?: true;
  readonly json?: true;
}

const SEEDS = { default: 100, ofMutant: 500 };
const ABOUT =
  "Runs whole clusters over simulated disks, network and clocks, one seed after the other. Exit " +
  "code 0: no run failed and every seeded bug was found, 1: otherwise, 2: wrong usage.";

function simCommand(): Command {
  const seedsDefault = `${SEEDS.default}; with --mutants ${SEEDS.ofMutant} for each`;
  return commandLine("npm run sim --")
    .description(ABOUT)
    .argument("[mutants...]", "with --mutants: the names of these alone")
    .option("--seed <n>", "the first seed", wholeFrom(0), 1)
    .option("--seeds <n>", `how many seeds at most (default: ${seedsDefault})`, wholeFrom(1))
    .option("--minutes <m>", "begin no new seed after this many minutes", numberFrom(0.01))
    .option("--jobs <n>", "processes side by side", wholeFrom(1, 1_024), availableParallelism())
    .addOption(
      new Option("--plan <file>", "run the plan in a file instead, and print its story")
        .argParser(nonEmpty)
        .conflicts(["seed", "seeds", "minutes", "mutants", "coverage"]),
    )
    .option("--no-minimise", "do not make the plan of a failure smaller")
    .option("--mutants", "seed bugs into a copy of the sources and show that seeds find them")
    .option(
      "--fresh <n>",
      "with --mutants: also look for each n times, with all seeds as they come",
      wholeFrom(1),
    )
    .option("--coverage", "show which states and events are rare among all runs, or never seen")
    .option("--json", "one document on standard output");
}

/** The text of the help if that was asked for. Throws `UsageError`. */
export function readSimOptions(argv: readonly string[]): SimOptions | string {
  const read = readCommandLine<SimFlags>(simCommand(), argv);
  if (typeof read === "string") return read;
  const { flags, words } = read;
  const isMutants = flags.mutants === true;
  if (!isMutants && words.length > 0) {
    throw new UsageError(`unexpected argument '${words[0]}': names come with --mutants`);
  }
  if (!isMutants && flags.fresh !== undefined)
    throw new UsageError("--fresh goes with --mutants only");
  return {
    firstSeed: flags.seed,
    seedCount: flags.seeds ?? (isMutants ? SEEDS.ofMutant : SEEDS.default),
    minutesMax: flags.minutes ?? Number.POSITIVE_INFINITY,
    jobs: flags.jobs,
    isJson: flags.json === true,
    counts: flags.coverage === true,
    planFile: flags.plan,
    minimises: flags.minimise,
    mutants: isMutants ? words : undefined,
    freshSearches: flags.fresh ?? 0,
  };
}
