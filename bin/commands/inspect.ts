/**
 * `holdfast inspect KEY`: who holds a lock and who waits for it, in order. A key that nobody uses
 * is no error: it has no holders and nobody waits.
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
import { print, styled } from "../terminal.js";
import { type Column, tableLines } from "../text-table.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast inspect orders/1001", "who holds it, who waits"],
  ["holdfast inspect orders/1001 --json", "one JSON document"],
];

const NOTES = `
The JSON document (times in milliseconds):
  {"key":"…","holds":[{"token":1,"mode":"exclusive","session":1,"sessionName":"…","owner":1,
   "heldMs":1,"leaseMs":1}],"waiters":[{"mode":"exclusive","session":2,"sessionName":"…","owner":1,
   "sequence":1,"waitingMs":1}]}`;

const HOLD_COLUMNS: readonly Column[] = [
  { heading: "HELD BY" },
  { heading: "MODE" },
  { heading: "SESSION", alignment: "right" },
  { heading: "FOR", alignment: "right" },
  { heading: "LEASE LEFT", alignment: "right" },
  { heading: "TOKEN", alignment: "right" },
];

const WAITER_COLUMNS: readonly Column[] = [
  { heading: "#", alignment: "right" },
  { heading: "WAITING" },
  { heading: "MODE" },
  { heading: "SESSION", alignment: "right" },
  { heading: "FOR", alignment: "right" },
];

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
      const view = await withClient(clusterAccessFor(command), (client) => client.inspect(key));
      if (json === true) print(JSON.stringify(view));
      else for (const line of viewLines(view)) print(line);
      finish(EXIT.done);
    });
}

function viewLines(view: KeyView): string[] {
  const key = styled("bold", printable(view.key), process.stdout);
  if (view.holds.length === 0 && view.waiters.length === 0) return [`${key}: free`];
  const lines = [key, ""];
  if (view.holds.length === 0) lines.push("held by nobody");
  else lines.push(...tableLines(HOLD_COLUMNS, view.holds.map(holdRow)));
  if (view.waiters.length > 0) {
    lines.push("", ...tableLines(WAITER_COLUMNS, view.waiters.map(waiterRow)));
  }
  return lines;
}

function holdRow(hold: KeyView["holds"][number]): string[] {
  return [
    nameOf(hold.sessionName),
    hold.mode,
    String(hold.session),
    formatDuration(hold.heldMs),
    formatDuration(hold.leaseMs),
    String(hold.token),
  ];
}

function waiterRow(waiter: KeyView["waiters"][number], index: number): string[] {
  return [
    String(index + 1),
    nameOf(waiter.sessionName),
    waiter.mode,
    String(waiter.session),
    formatDuration(waiter.waitingMs),
  ];
}

function nameOf(sessionName: string): string {
  return sessionName === "" ? "-" : printable(sessionName);
}
