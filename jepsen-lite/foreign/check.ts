/**
 * `npm run check -- --model MODEL [--init JSON] [--json] FILE`: decides whether a recorded history
 * is possible under the model. Exit code 0 valid, 1 invalid, 3 unknown (the budget ran out), 2 if
 * the command line or the file is wrong. The verdict goes to stdout, everything else to stderr.
 */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Command, InvalidArgumentError } from "commander";
import {
  commandLine,
  numberFrom,
  oneOf,
  readCommandLine,
  UsageError,
  wholeFrom,
} from "../../lab/command-line.js";
import {
  BadHistoryError,
  type Budget,
  type CheckResult,
  checkHistory,
  DEFAULT_BUDGET,
  type FailedCas,
  type TokensRise,
  verdictText,
} from "../checker/index.js";
import { withIndependentKeys } from "./independent-keys.js";
import { MODEL_NAMES, modelNamed } from "./models.js";
import { readHistoryFile } from "./read-history.js";

export const CHECK_EXIT = { valid: 0, invalid: 1, usage: 2, unknown: 3 } as const;

export interface CheckStreams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Progress is shown on a terminal only. */
  readonly isTerminal: boolean;
}

interface CheckFlags {
  readonly model: string;
  readonly init?: { readonly value: unknown };
  readonly json?: boolean;
  readonly independent?: boolean;
  readonly steps: number;
  readonly memoryMb: number;
  readonly timeLimit?: number;
  readonly failedCas?: FailedCas;
  readonly tokensRise: TokensRise;
}

const EXAMPLES = `Examples:
  npm run check -- --model lock history.jsonl
  npm run check -- --model cas-register --init 0 --json history.edn
  npm run check -- --model kv - < history.jsonl
`;

const FAILED_CAS_ABOUT =
  "a failed cas did not happen or found another value " +
  "(default: mismatch in Jepsen logs, otherwise absent)";

const NOTES = `
Exit codes: 0 valid, 1 invalid, 3 unknown (out of budget), 2 usage or unreadable
history. docs/internals/checker.md describes the formats and the models.`;

/**
 * Prints the verdict and returns the exit code.
 *
 * @param argv the arguments alone
 */
export function runCheck(argv: readonly string[], streams: CheckStreams): number {
  let file = "";
  try {
    const read = readCommandLine<CheckFlags>(checkCommandLine(), argv);
    if (typeof read === "string") {
      streams.out(read.trimEnd());
      return CHECK_EXIT.valid;
    }
    [file = ""] = read.words;
    const result = check(file, read.flags, streams);
    streams.out(read.flags.json ? JSON.stringify(result) : verdictText(result));
    if (result.valid === "unknown") return CHECK_EXIT.unknown;
    return result.valid ? CHECK_EXIT.valid : CHECK_EXIT.invalid;
  } catch (error) {
    if (error instanceof UsageError) {
      streams.err(`check: ${error.message}; see npm run check -- --help`);
    } else {
      if (!isReadable(error)) throw error;
      streams.err(`check: ${file}: ${error.message}`);
    }
    return CHECK_EXIT.usage;
  }
}

function checkCommandLine(): Command {
  return commandLine("npm run check --")
    .description("Checks a recorded history against a model.")
    .argument("<file>", 'the history: JSON lines, a JSON array, EDN or a Jepsen log; "-" for stdin')
    .addHelpText("before", EXAMPLES)
    .requiredOption("--model <model>", "the model to check the history against", oneOf(MODEL_NAMES))
    .option("--init <json>", "first value of a register, a key or a mutex", jsonValue)
    .option("--independent", "values are [key, value], as written by jepsen.independent")
    .option("--json", "print the verdict as one JSON object")
    .option("--steps <n>", "search steps before giving up", wholeFrom(1), DEFAULT_BUDGET.steps)
    .option("--memory-mb <n>", "memory for the tables of the search", numberFrom(1), 768)
    .option("--time-limit <seconds>", "time for the search (default: unlimited)", numberFrom(0.001))
    .option("--failed-cas <meaning>", FAILED_CAS_ABOUT, oneOf(["absent", "mismatch"]))
    .option(
      "--tokens-rise <where>",
      "the order that the service promises for its fencing tokens",
      oneOf(["over-all-keys", "by-key", "not-at-all"]),
      "over-all-keys",
    )
    .addHelpText("after", NOTES);
}

function jsonValue(text: string): { value: unknown } {
  try {
    return { value: JSON.parse(text) };
  } catch {
    throw new InvalidArgumentError('expected JSON, such as 0, null or "\\"text\\""');
  }
}

function check(file: string, flags: CheckFlags, streams: CheckStreams): CheckResult {
  const history = readHistoryFile(file === "-" ? "/dev/stdin" : file);
  const budget: Budget = {
    steps: flags.steps,
    bytes: flags.memoryMb * 1024 * 1024,
    timeMs: flags.timeLimit === undefined ? Number.POSITIVE_INFINITY : flags.timeLimit * 1000,
  };
  const failedCas = flags.failedCas ?? (history.notation === "jepsen-log" ? "mismatch" : "absent");
  const events = flags.independent ? withIndependentKeys(history.events) : history.events;
  return checkHistory(events, {
    model: modelNamed(flags.model, { init: flags.init?.value, failedCas }),
    tokensRise: flags.tokensRise,
    budget,
    ...(streams.isTerminal ? { onProgress: progress(streams) } : {}),
  });
}

const PROGRESS_EVERY_MS = 1000;

function progress(streams: CheckStreams): (decided: number, parts: number) => void {
  let shownMs = performance.now();
  return (decided, parts) => {
    if (performance.now() - shownMs < PROGRESS_EVERY_MS) return;
    shownMs = performance.now();
    streams.err(`check: ${decided} of ${parts} parts decided`);
  };
}

/** Errors that concern the file rather than the checker. */
function isReadable(error: unknown): error is Error {
  if (error instanceof BadHistoryError) return true;
  return error instanceof Error && "syscall" in error;
}

/** The command that `npm run jepsen -- check` calls, on this process's own streams. */
export async function checkCommand(argv: readonly string[]): Promise<number> {
  return runCheck(argv, {
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
    isTerminal: process.stderr.isTTY === true,
  });
}

function isMain(): boolean {
  const script = process.argv[1];
  return script !== undefined && realpathSync(script) === fileURLToPath(import.meta.url);
}

if (isMain()) process.exitCode = await checkCommand(process.argv.slice(2));
