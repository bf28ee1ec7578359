/**
 * `holdfast settings get [NAME]` and `holdfast settings set NAME VALUE`: the limits of the whole
 * cluster. They are part of the replicated state: every node uses the new value from the same log
 * entry on, and they survive restarts.
 */
import type { Command } from "commander";
import type { SettingView } from "../../../src/index.js";
import { askCluster } from "../../cluster/cluster-queries.js";
import { settingNamed, settingsNamed, settingValue } from "../../cluster/setting-change.js";
import {
  clusterAccessFor,
  connectTimeoutOption,
  endpointsOption,
  examplesText,
  jsonOption,
} from "../../config/command-options.js";
import { EXIT } from "../../exit/exit-codes.js";
import { print, printJson } from "../../output/terminal.js";
import { type Column, tableLines } from "../../output/text-table.js";

type Finish = (exitCode: number) => void;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast settings get", "all of them"],
  ["holdfast settings get waitersMax", "one of them"],
  ["holdfast settings set waitersMax 500000", "change it, on all nodes"],
  ["holdfast settings set waitersMax default", "restore the default"],
];

const GET_EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast settings get", "all of them, with their limits"],
  ["holdfast settings get waitersMax --json", "one of them, as a document"],
];

const SET_EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast settings set waitersMax 500000", "change it, on all nodes"],
  ["holdfast settings set waitersMax default", "restore the default"],
];

const GET_NOTES = `
The JSON document:
  [{"name":"waitersMax","value":100000,"defaultValue":100000,"least":1,
   "most":10000000}]`;

const SET_NOTES = `
Exit code 2 for an unknown name or an invalid value. The JSON document:
  {"name":"waitersMax","before":100000,"value":500000}`;

const COLUMNS: readonly Column[] = [
  { heading: "NAME" },
  { heading: "VALUE", alignment: "right" },
  { heading: "DEFAULT", alignment: "right" },
  { heading: "LEAST", alignment: "right" },
  { heading: "MOST", alignment: "right" },
];

export function defineSettings(command: Command, finish: Finish): void {
  command
    .helpCommand(false)
    .usage("<command> [options]")
    .addHelpText("before", examplesText(EXAMPLES));
  defineGet(command, finish);
  defineSet(command, finish);
}

function defineGet(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "get", "show the settings of the cluster");
  command
    .addHelpText("before", examplesText(GET_EXAMPLES))
    .argument("[name]", "only this one")
    .addHelpText("after", GET_NOTES)
    .action(async (name: string | undefined) => {
      const all = await askCluster(clusterAccessFor(command), (admin) => admin.settings());
      const settings = settingsNamed(all, name);
      if (isJson(command)) printJson(settings);
      else for (const line of tableLines(COLUMNS, settings.map(row))) print(line);
      finish(EXIT.done);
    });
}

function defineSet(parent: Command, finish: Finish): void {
  const command = subcommand(parent, "set", "change a setting of the cluster");
  command
    .addHelpText("before", examplesText(SET_EXAMPLES))
    .argument("<name>", "which")
    .argument("<value>", "a whole number, or default")
    .addHelpText("after", SET_NOTES)
    .action(async (name: string, text: string) => {
      const { before, value } = await askCluster(clusterAccessFor(command), async (admin) => {
        const setting = settingNamed(await admin.settings(), name);
        const wanted = settingValue(setting, text);
        await admin.changeSetting(name, wanted);
        return { before: setting.value, value: wanted ?? setting.defaultValue };
      });
      if (isJson(command)) printJson({ name, before, value });
      else print(`${name} is ${value}${value === before ? " already" : `, was ${before}`}`);
      finish(EXIT.done);
    });
}

function subcommand(parent: Command, name: string, summary: string): Command {
  return parent
    .command(name)
    .description(summary)
    .addOption(jsonOption("print one JSON document"))
    .addOption(endpointsOption())
    .addOption(connectTimeoutOption());
}

function isJson(command: Command): boolean {
  return command.opts<{ json?: boolean }>().json === true;
}

function row({ name, value, defaultValue, least, most }: SettingView): string[] {
  return [name, String(value), String(defaultValue), String(least), String(most)];
}
