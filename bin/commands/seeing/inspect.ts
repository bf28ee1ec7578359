/**
 * `holdfast inspect KEY`: who holds a lock or permits of a semaphore and who waits, in order. A key
 * that is not in use is not an error: it has no holders and no waiters.
 */
import type { Command } from "commander";
import type { Admin, KeyView } from "../../../src/index.js";
import { askCluster } from "../../cluster/cluster-queries.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../../config/command-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { print, printJson } from "../../output/terminal.js";
import { keyLines } from "../../views/key-view.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast inspect orders/1001", "who holds it, who waits"],
  ["holdfast inspect orders/1001 --json", "one JSON document"],
];

const NOTES = `
REQUEST is the argument of holdfast explain --request. A lock that its last
holder did not release, or that has a minimum hold time, stays closed for a
while although it is not held; that is shown too.`;

export function defineInspect(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("<key>", "name of the lock")
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .addHelpText("after", NOTES)
    .action(async (key: string) => {
      const { json } = command.opts<{ json?: boolean }>();
      const ask = (admin: Admin): Promise<KeyView> => admin.inspect(key);
      const view = await askCluster(clusterAccessFor(command), ask, { key });
      if (json === true) printJson(view);
      else for (const line of keyLines(view)) print(line);
      finish(EXIT.done);
    });
}
