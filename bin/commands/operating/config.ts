/**
 * `holdfast config print [COMMAND [OPTION…]]`: every option with its value and the origin of the
 * value. `holdfast config reference`: the reference page of all options. Neither asks a cluster for
 * anything, and no secret is ever shown.
 */
import { Command } from "commander";
import { examplesText, jsonOption } from "../../config/command-options.js";
import { Configuration, type Setting } from "../../config/configuration.js";
import { addOptions } from "../../config/flags.js";
import { optionsPage } from "../../config/options-page.js";
import { programCommands } from "../../config/program-commands.js";
import { requireServerValues } from "../../config/server-values.js";
import { similarName } from "../../config/similar-name.js";
import { EXIT } from "../../exit/exit-codes.js";
import { Failure } from "../../exit/failure.js";
import { requireClusterOptions } from "../../local-cluster/cluster-options.js";
import { formatValue } from "../../options/option-kind.js";
import {
  CLUSTER_OPTIONS,
  ELECT_OPTIONS,
  OPTION_TABLE,
  type OptionSection,
  SERVER_OPTIONS,
  sectionsFor,
} from "../../options/option-table.js";
import { noteUsage, print, printJson, styled } from "../../output/terminal.js";
import { type Column, tableLines } from "../../output/text-table.js";
import { requireRunRelations } from "../../run/run-relations.js";
import { flagOf, variableOf } from "../../text/option-spelling.js";
import { requireStartable } from "../running/server.js";

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast config print", "all options, with environment and file"],
  ["holdfast config print run", "the options of run"],
  ["holdfast config print server --listen a:7411", "what this command line would use"],
  ["holdfast --config hf.json config print --json", "one JSON document"],
];

const PRINT_NOTES = `
Exit code 2 for an invalid value, or values that do not fit together. The JSON
document:
  {"file":"/etc/holdfast.json","options":[{"name":"ttl","command":"run",
   "value":"15s","source":"default","origin":null,"flag":"--ttl",
   "variable":"HOLDFAST_TTL"}]}
command: null for options of several commands; value: as it would be written in
a file, null if there is none; source: flag, environment, file or default;
origin: which flag, variable or file.`;

const COLUMNS: readonly Column[] = [
  { heading: "OPTION" },
  { heading: "VALUE" },
  { heading: "FROM" },
];

const SECRET = "(secret)";

export function defineConfig(command: Command): void {
  command
    .helpCommand(false)
    .usage("<command> [options]")
    .enablePositionalOptions()
    .addHelpText("before", examplesText(EXAMPLES));
  const printing = command
    .command("print")
    .description("show every option, its value and where it came from")
    .addHelpText("before", examplesText(EXAMPLES))
    .usage("[options] [command] [option of the command...]")
    .argument("[command]", "only the options of this one")
    .argument("[option...]", "as they would be typed after it")
    .addOption(jsonOption("print one JSON document"))
    .passThroughOptions()
    .addHelpText("after", PRINT_NOTES);
  printing.action((name: string | undefined, rest: readonly string[]) =>
    printConfiguration(printing, name, rest),
  );
  command
    .command("reference")
    .description("print the reference page of all options, in Markdown")
    .addHelpText(
      "before",
      examplesText([["holdfast config reference", "every option, in Markdown"]]),
    )
    .action(() => {
      process.stdout.write(optionsPage());
    });
}

async function printConfiguration(
  printing: Command,
  name: string | undefined,
  rest: readonly string[],
): Promise<void> {
  const sections = sectionsOf(printing, name);
  const typed = typedCommand(name, sections, rest);
  const configuration = Configuration.of(typed, printing);
  const shown = sections.map((section) => ({
    section,
    settings: configuration.settings(section.options),
  }));
  const isJson = [typed, printing].some((command) => command.opts()["json"] === true);
  if (isJson) {
    const options = shown.flatMap(({ section, settings }) =>
      settings.map((setting) => document(section, setting)),
    );
    printJson({ file: configuration.filePath ?? null, options });
  } else {
    for (const line of shownLines(shown)) print(line);
  }
  // After the values are printed: they show what is wrong.
  for (const { command } of sections) await requireRightValues(command, name, configuration);
}

/** The sections of a command; without a name, of all commands. */
function sectionsOf(printing: Command, name: string | undefined): readonly OptionSection[] {
  if (name === undefined) return OPTION_TABLE;
  const commands = programCommands(printing).map((command) => command.name());
  if (commands.includes(name)) return sectionsFor(name);
  const meant = similarName(name, commands);
  const hint = meant === undefined ? "" : `; did you mean ${meant}?`;
  throw new Failure(EXIT.usage, `there is no command ${JSON.stringify(name)}${hint}`);
}

/** Reads what would be typed as that command would read it. */
function typedCommand(
  name: string | undefined,
  sections: readonly OptionSection[],
  rest: readonly string[],
): Command {
  const command = new Command(name ?? "")
    .exitOverride()
    .helpOption(false)
    .configureOutput({
      outputError: (text) => noteUsage(text, `holdfast ${name ?? "config print"}`),
    })
    .argument("[operands...]");
  if (name === undefined) return command;
  for (const { options } of sections) addOptions(command, options);
  if (!sections.some(({ options }) => "json" in options)) command.addOption(jsonOption(""));
  // Flags that are not configuration, of a command that has no options here.
  if (!sections.some((section) => section.command === name)) command.allowUnknownOption();
  return command.parse([...rest], { from: "user" });
}

/** Fails as that command would. `name`: the one that was asked about; `undefined`: all are shown. */
async function requireRightValues(
  command: string | undefined,
  name: string | undefined,
  configuration: Configuration,
): Promise<void> {
  if (command === "run" || command === "elect") {
    requireRunRelations(configuration.settle(ELECT_OPTIONS));
  }
  // A file for nodes alone may give shared options values that "cluster" does not take.
  if (command === "cluster" && name === command) {
    requireClusterOptions(configuration.settle(CLUSTER_OPTIONS));
  }
  if (command === "server") await requireRightNode(name, configuration);
}

/** If the id or the directory is missing, the other values are judged. */
async function requireRightNode(
  name: string | undefined,
  configuration: Configuration,
): Promise<void> {
  const { id, data, ...checked } = SERVER_OPTIONS;
  const [hasId, hasData] = configuration
    .settings({ id, data })
    .map(({ value }) => value !== undefined);
  if (hasId && hasData) return requireStartable(configuration.settle(SERVER_OPTIONS));
  // "cluster" shares options with "server": without an id they need not describe a node.
  if (name === undefined && !hasId) return;
  requireServerValues(configuration.settle(checked));
}

interface Shown {
  readonly section: OptionSection;
  readonly settings: readonly Setting[];
}

function shownLines(shown: readonly Shown[]): string[] {
  const lines = tableLines(
    COLUMNS,
    shown.flatMap(({ settings }) => settings.map(row)),
  );
  const [heading = "", ...rows] = lines;
  const result = [heading];
  for (const { section, settings } of shown) {
    result.push(styled("bold", `${section.title}:`, process.stdout));
    result.push(...rows.splice(0, settings.length));
  }
  return result;
}

function row({ name, definition, value, origin }: Setting): string[] {
  const { kind, reach, defaultText } = definition;
  if (value === undefined || value === null) {
    // Its value then depends on others.
    return [`  ${name}`, defaultText === undefined ? "-" : `(${defaultText})`, "default"];
  }
  const text = reach === "secret" ? SECRET : formatValue(kind, value);
  return [`  ${name}`, text, origin ?? "default"];
}

function document({ command }: OptionSection, setting: Setting): Record<string, unknown> {
  const { name, definition, value, source, origin } = setting;
  const { kind, reach } = definition;
  const json = value === undefined || value === null ? null : kind.toJson(value);
  return {
    name,
    command: command ?? null,
    value: reach === "secret" && value !== undefined ? SECRET : json,
    source,
    origin: origin ?? null,
    flag: reach === "secret" ? null : flagOf(name),
    variable: reach === "flag" ? null : variableOf(name),
  };
}
