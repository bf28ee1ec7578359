/**
 * `holdfast limit KEY N`: sets how many permits a semaphore has. The setting of the key stays while
 * the semaphore is not in use.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { Admin } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import { askCluster } from "../../cluster/cluster-queries.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
  wholeNumberArgument,
} from "../../config/command-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { print, printJson } from "../../output/terminal.js";

const PERMITS_MAX = 1_000_000;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast limit gpu 8", "eight permits for all requests"],
  ["holdfast limit gpu none", "no limit: forgotten when the semaphore is not in use"],
];

const NOTES = `
Requests for permits need not name a limit then. If the limit falls, holders
keep their permits, and waiting requests for more than the limit are refused.
Exit code 5 if the key is in use as a lock. The JSON document:
  {"key":"gpu","limit":8}
limit: null if there is none.`;

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
    throw new InvalidArgumentError(`A limit is a whole number from 1 to ${PERMITS_MAX}, or none.`);
  }
}

function permitText(permits: number): string {
  return permits === 1 ? "1 permit" : `${permits} permits`;
}
