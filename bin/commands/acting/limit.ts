/**
 * `holdfast limit KEY N`: sets how many permits a semaphore has. The setting of the key stays while
 * the semaphore is not in use.
 */
import { type Command, InvalidArgumentError } from "commander";
import { keyText } from "../../../src/text/index.js";
import { ask, clusterCommand, type Examples, tell } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";

const PERMITS_MAX = 1_000_000;

const EXAMPLES: Examples = [
  ["holdfast limit gpu 8", "eight permits for all requests"],
  ["holdfast limit gpu none", "no limit: forgotten when the semaphore is not in use"],
];

const NOTES = `
Requests for permits need not name a limit then. If the limit falls, holders
keep their permits, and waiting requests for more than the limit are refused.
Exit code 5 if the key is in use as a lock. The JSON document:
  {"key":"gpu","limit":8}
limit: null if there is none.`;

export function defineLimit(command: Command): void {
  command
    .argument("<key>", "name of the semaphore")
    .argument("<limit>", `1 to ${PERMITS_MAX}, or none`, limitArgument);
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(
    async (key: string, limit: number | "none") => {
      const permits = limit === "none" ? undefined : limit;
      await ask(command, { key }, (admin) => admin.setLimit(key, permits));
      const text = permits === undefined ? "no limit set" : permitText(permits);
      tell(command, { key, limit: permits ?? null }, `${keyText(key)}: ${text}`);
    },
  );
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
