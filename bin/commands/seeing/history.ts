/**
 * `holdfast history KEY`: who holds a lock and who held it before, newest first, as far as the
 * answering node remembers; a node with an audit remembers as far as the audit is kept.
 */
import { type Command, Option } from "commander";
import type { Tenure } from "../../../src/index.js";
import { historyEnd, phraseText } from "../../../src/views/index.js";
import { ask, clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { wholeNumberArgument } from "../../config/command-options.js";
import { note, print, printJson } from "../../output/terminal.js";
import { tenureColumns } from "../../views/history-view.js";
import { viewLines } from "../../views/view-table.js";

const LIMIT_MAX = 1_000;
const LIMIT_DEFAULT = 100;

const EXAMPLES: Examples = [
  ["holdfast history orders/1001", "who held it, newest first"],
  ["holdfast history nightly -l 1", "the last hold"],
];

const NOTES = `
GRANTED is by the clock of the machine that led then. WAITED, of its request,
and FOR are in cluster time, which stands still while there is no leader. A node
remembers about 130,000 changes of all locks; a node with --audit keeps them on
its disk.`;

export function defineHistory(command: Command): void {
  command
    .argument("<key>", "name of the lock")
    .addOption(
      new Option("-l, --limit <n>", "show the newest n")
        .argParser(wholeNumberArgument(1, LIMIT_MAX))
        .default(LIMIT_DEFAULT),
    );
  clusterCommand(command, { examples: EXAMPLES, notes: NOTES }).action(async (key: string) => {
    const { limit, json } = command.opts<{ limit: number; json?: boolean }>();
    const { tenures, isTruncated, lost } = await ask(command, { key }, (admin) =>
      admin.history(key, { limit }),
    );
    if (json === true) {
      printJson({ key, tenures: tenures.map(document), isTruncated, lost });
    } else {
      if (tenures.length > 0)
        for (const line of viewLines(tenureColumns(Date.now()), tenures)) print(line);
      const isFull = tenures.length === limit;
      const end = historyEnd({ key, count: tenures.length, isFull, isTruncated, lost });
      const more = isTruncated && isFull ? ": a larger --limit may show more" : "";
      for (const [at, phrase] of end.entries()) note(phraseText(phrase) + (at === 0 ? more : ""));
    }
  });
}

/** `reason` is always present: null while the lock is held. */
function document(tenure: Tenure): Record<string, unknown> {
  return { ...tenure, reason: tenure.reason ?? null };
}
