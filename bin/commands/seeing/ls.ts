/**
 * `holdfast ls [PREFIX]`: every lock in use whose name begins with the prefix, in byte order. With
 * `--json` the keys are written as they arrive, one object per line, so that a large table needs no
 * memory here.
 */
import { type Command, Option } from "commander";
import type { Admin, KeyView } from "../../../src/index.js";
import { keyText } from "../../../src/text/index.js";
import { LOCK_COLUMNS, type LockRow, lockRow } from "../../../src/views/index.js";
import { ask, clusterCommand, type Examples } from "../../cluster/cluster-command.js";
import { isOutputClosed, note, print } from "../../output/terminal.js";
import { jsonLine } from "../../text/printable.js";
import { viewLines } from "../../views/view-table.js";

const EXAMPLES: Examples = [
  ["holdfast ls", "every lock in use"],
  ["holdfast ls orders/", "locks whose names begin with orders/"],
  ["holdfast ls --names | wc -l", "how many"],
  ["holdfast ls --json", "one JSON object per line, as of inspect"],
];

const { key, mode, holder, since, waiters } = LOCK_COLUMNS;
const COLUMNS = [key, mode, holder, since, waiters];

export function defineLs(command: Command): void {
  command
    .argument("[prefix]", "only names that begin with this", "")
    .addOption(new Option("--names", "print only the names, one per line").conflicts("json"));
  clusterCommand(command, { examples: EXAMPLES, json: "print one JSON object per line" }).action(
    async (prefix: string) => {
      const { json, names } = command.opts<{ json?: boolean; names?: boolean }>();
      const show = async (admin: Admin): Promise<void> => {
        if (json === true) await printEach(admin.query(prefix), jsonLine);
        else if (names === true) await printEach(admin.query(prefix), nameLine);
        else await printTable(admin.query(prefix), prefix);
      };
      await ask(command, { prefix }, show);
    },
  );
}

async function printEach(
  views: AsyncIterable<KeyView>,
  lineOf: (view: KeyView) => string,
): Promise<void> {
  for await (const view of views) {
    print(lineOf(view));
    if (isOutputClosed()) return;
  }
}

/** The raw name, as programs need it. */
function nameLine({ key }: KeyView): string {
  return process.stdout.isTTY ? keyText(key) : key;
}

async function printTable(views: AsyncIterable<KeyView>, prefix: string): Promise<void> {
  const rows: LockRow[] = [];
  for await (const view of views) rows.push(lockRow(view));
  if (rows.length === 0) {
    const which = prefix === "" ? "" : ` whose name begins with ${JSON.stringify(prefix)}`;
    note(`no lock${which} is in use`);
    return;
  }
  for (const line of viewLines(COLUMNS, rows)) print(line);
}
