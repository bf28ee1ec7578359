/**
 * `holdfast ls [PREFIX]`: every lock in use whose name begins with the prefix, in byte order. With
 * `--json` the keys are written as they come, one object a line, so that a large table needs no
 * memory here.
 */
import type { Command } from "commander";
import type { KeyView } from "../../src/index.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../command-options.js";
import { formatDuration } from "../durations.js";
import { EXIT } from "../exit-codes.js";
import { printable, withClient } from "../reading.js";
import { isOutputClosed, note, print } from "../terminal.js";
import { type Column, tableLines } from "../text-table.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast ls", "every lock in use"],
  ["holdfast ls orders/", "those whose names begin with orders/"],
  ["holdfast ls --json", "one JSON object a line, as of inspect"],
];

const COLUMNS: readonly Column[] = [
  { heading: "KEY" },
  { heading: "MODE" },
  { heading: "HELD BY" },
  { heading: "FOR", alignment: "right" },
  { heading: "WAITING", alignment: "right" },
];

export function defineLs(command: Command, finish: (exitCode: number) => void): void {
  command
    .addHelpText("before", examplesText(EXAMPLES))
    .argument("[prefix]", "only names that begin with this", "")
    .addOption(jsonOption("print one JSON object a line"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption())
    .action(async (prefix: string) => {
      const { json } = command.opts<{ json?: boolean }>();
      await withClient(clusterAccessFor(command), async (client) => {
        if (json === true) await printObjects(client.query(prefix));
        else await printTable(client.query(prefix));
      });
      finish(EXIT.done);
    });
}

async function printObjects(views: AsyncIterable<KeyView>): Promise<void> {
  for await (const view of views) {
    print(JSON.stringify(view));
    if (isOutputClosed()) return;
  }
}

async function printTable(views: AsyncIterable<KeyView>): Promise<void> {
  const rows: string[][] = [];
  for await (const view of views) rows.push(row(view));
  if (rows.length === 0) {
    note("no locks are in use");
    return;
  }
  for (const line of tableLines(COLUMNS, rows)) print(line);
}

function row(view: KeyView): string[] {
  const [first] = view.holds;
  const others = view.holds.length - 1;
  return [
    printable(view.key),
    first?.mode ?? "-",
    first === undefined ? "-" : holder(first) + (others > 0 ? ` and ${others} more` : ""),
    first === undefined ? "-" : formatDuration(first.heldMs),
    String(view.waiters.length),
  ];
}

function holder(hold: KeyView["holds"][number]): string {
  return hold.sessionName === "" ? `session ${hold.session}` : printable(hold.sessionName);
}
