/**
 * `holdfast settings get [NAME]` and `holdfast settings set NAME VALUE`: the limits of the whole
 * cluster. They are part of the replicated state: every node uses the new value from the same log
 * entry on, and they survive restarts.
 */
import type { Command } from "commander";
import type { SettingView } from "../../../src/index.js";
import {
  ask,
  commandGroup,
  type Examples,
  subcommand,
  tell,
} from "../../cluster/cluster-command.js";
import { settingNamed, settingsNamed, settingValue } from "../../cluster/setting-change.js";
import { type Column, tableLines } from "../../output/text-table.js";

const EXAMPLES: Examples = [
  ["holdfast settings get", "all of them"],
  ["holdfast settings get waitersMax", "one of them"],
  ["holdfast settings set waitersMax 500000", "change it, on all nodes"],
  ["holdfast settings set waitersMax default", "restore the default"],
];

const GET_EXAMPLES: Examples = [
  ["holdfast settings get", "all of them, with their limits"],
  ["holdfast settings get waitersMax --json", "one of them, as a document"],
];

const SET_EXAMPLES: Examples = [
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

export function defineSettings(command: Command): void {
  commandGroup(command, EXAMPLES);
  defineGet(command);
  defineSet(command);
}

function defineGet(parent: Command): void {
  const command = subcommand(parent, "get", "show the settings of the cluster", GET_EXAMPLES);
  command
    .argument("[name]", "only this one")
    .addHelpText("after", GET_NOTES)
    .action(async (name: string | undefined) => {
      const all = await ask(command, {}, (admin) => admin.settings());
      const settings = settingsNamed(all, name);
      tell(command, settings, tableLines(COLUMNS, settings.map(row)));
    });
}

function defineSet(parent: Command): void {
  const command = subcommand(parent, "set", "change a setting of the cluster", SET_EXAMPLES);
  command
    .argument("<name>", "which")
    .argument("<value>", "a whole number, or default")
    .addHelpText("after", SET_NOTES)
    .action(async (name: string, text: string) => {
      const { before, value } = await ask(command, {}, async (admin) => {
        const setting = settingNamed(await admin.settings(), name);
        const wanted = settingValue(setting, text);
        await admin.changeSetting(name, wanted);
        return { before: setting.value, value: wanted ?? setting.defaultValue };
      });
      const change = value === before ? " already" : `, was ${before}`;
      tell(command, { name, before, value }, `${name} is ${value}${change}`);
    });
}

function row({ name, value, defaultValue, least, most }: SettingView): string[] {
  return [name, String(value), String(defaultValue), String(least), String(most)];
}
