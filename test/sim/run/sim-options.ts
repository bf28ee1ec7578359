/** The flags of `npm run sim`, and what they mean when they are left out. */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";

export interface SimOptions {
  readonly firstSeed: number;
  readonly seedCount: number;
  /** Real time after which no new seed is begun. */
  readonly minutesMax: number;
  readonly jobs: number;
  readonly isJson: boolean;
  /** Shows which pairs of states and events the runs came to. */
  readonly counts: boolean;
  readonly planFile: string | undefined;
  readonly minimises: boolean;
  /** `undefined`: no mutants. Empty: all of them. */
  readonly mutants: readonly string[] | undefined;
  /** Seeds that found a mutant before are not tried. */
  readonly isFresh: boolean;
  readonly isHelp: boolean;
}

export const SIM_HELP = `npm run sim -- [flags]

Runs whole clusters over simulated disks, network and clocks, one seed after the other.

  --seed N          the first seed (default 1)
  --seeds COUNT     how many, one after the other (default 100)
  --minutes M       begin no new seed after so many minutes
  --jobs N          processes side by side (default: the number of cores)
  --plan FILE       run the plan in FILE instead, and tell its story
  --no-minimise     do not make the plan of a failure smaller
  --mutants [NAME…] seed bugs into a copy of the sources and show that seeds find them;
                    --seeds bounds the seeds for each (default 500)
  --fresh           with --mutants: leave out the seeds that found them before
  --coverage        count what states and events the runs come to, and show what is
                    rare or was never seen
  --json            one document on standard output
  --help            this text

Exits 1 when a run fails or a mutant survives.
`;

/** Throws a `TypeError` or `RangeError` that names the flag. */
export function readSimOptions(args: readonly string[]): SimOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      minutes: { type: "string" },
      jobs: { type: "string" },
      plan: { type: "string" },
      "no-minimise": { type: "boolean" },
      mutants: { type: "boolean" },
      fresh: { type: "boolean" },
      coverage: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  const isMutants = values.mutants === true;
  if (!isMutants && positionals.length > 0) {
    throw new TypeError(`what is "${positionals[0]}"? Names stand behind --mutants`);
  }
  return {
    firstSeed: wholeNumber("--seed", values.seed, 1, 0),
    seedCount: wholeNumber("--seeds", values.seeds, isMutants ? 500 : 100, 1),
    minutesMax: positive("--minutes", values.minutes, Number.POSITIVE_INFINITY),
    jobs: wholeNumber("--jobs", values.jobs, availableParallelism(), 1),
    isJson: values.json === true,
    counts: values.coverage === true,
    planFile: values.plan,
    minimises: values["no-minimise"] !== true,
    mutants: isMutants ? positionals : undefined,
    isFresh: values.fresh === true,
    isHelp: values.help === true,
  };
}

function wholeNumber(flag: string, text: string | undefined, none: number, least: number): number {
  if (text === undefined) return none;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least) return value;
  throw new RangeError(`${flag} ${text} is not a whole number from ${least} on`);
}

function positive(flag: string, text: string | undefined, none: number): number {
  if (text === undefined) return none;
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new RangeError(`${flag} ${text} is not a number above 0`);
}
