/**
 * `holdfast limit KEY N`: how many permits a semaphore has, as a setting of the key that stays when
 * nobody uses it.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Admin } from "../../src/index.js";
import { keyText } from "../../src/safe-text.js";
import { askCluster } from "../cluster/reading.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
  wholeNumberArgument,
} from "../config/command-options.js";
import { EXIT } from "../output/exit-codes.js";
import { print, printJson } from "../output/terminal.js";

const PERMITS_MAX = 1_000_000;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast limit gpu 8", "eight permits, whoever asks"],
  ["holdfast limit gpu none", "as if never set: forgotten once nobody uses it"],
];

const NOTES = `
Who asks for permits need not name a limit then. Whoever holds goes on when the
limit falls; whoever waits for more than it is refused. Exit code 5 if the key
is in use as a lock. The JSON document:
  {"key":"gpu","limit":8}
limit: null of none.`;

export function defineLimit(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("<key>", "name of the semaphore")
    .argument("<limit>", `1 to ${PERMITS_MAX}, or none`, limitArgument)
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async (key: string, limit: number | "none") => {
      const { json } = command.opts<{ json?: boolean }>();
      const permits = limit === "none" ? undefined : limit;
      const ask = (admin: Admin): Promise<void> => admin.setLimit(key, permits);
      await askCluster(clusterAccessFor(command), ask, { key });
      if (json === true) printJson({ key, limit: permits ?? null });
      else
        print(`${keyText(key)}: ${permits === undefined ? "no limit set" : permitText(permits)}`);
      finish(EXIT.done);
    });
}

function limitArgument(text: string): number | "none" {
  if (text === "none") return text;
  try {
    return wholeNumberArgument(1, PERMITS_MAX)(text);
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new InvalidArgumentError(`A whole number from 1 to ${PERMITS_MAX} or none is needed.`);
  }
}

function permitText(permits: number): string {
  return permits === 1 ? "1 permit" : `${permits} permits`;
}
