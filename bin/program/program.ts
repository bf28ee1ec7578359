/**
 * The commander program: the names and summaries of all commands at once, options and action of a
 * command when they are needed. Ends no process and reads nothing.
 */
import { Command } from "commander";
import { VERSION } from "../../src/server/version.js";
import {
  addSharedOptions,
  configOption,
  endpointsOption,
  examplesText,
} from "../config/command-options.js";
import { similarName } from "../config/similar-name.js";
import type { Finish } from "../exit/ending.js";
import { exitCodesText } from "../exit/exit-codes.js";
import { noteUsage } from "../output/terminal.js";
import { COMMANDS, type CommandEntry } from "./command-list.js";

export interface Program {
  readonly command: Command;
  /** Defines one of its commands, unless that was done before. */
  load(command: Command): Promise<void>;
  /** Defines every command, for callers that need to know all of them. */
  loadAll(): Promise<void>;
}

const EXAMPLES: readonly (readonly [string, string])[] = [
  ["holdfast cluster", "start three nodes on this machine"],
  ["holdfast run deploy -- ./deploy.sh", "run a script while holding the lock deploy"],
  ["holdfast run -n nightly -- ./job", "do not wait if it is held"],
  ["holdfast inspect deploy", "who holds it, who waits"],
  ["holdfast status", "the nodes and their leader"],
];

/**
 * The minimum length of a word for which other tools' names are suggested: many words are near
 * short ones.
 */
const SLIPPED_LETTERS_MIN = 5;

/** `finish` is called with the ending of the command that ran, unless it is code 0. */
export function buildProgram(finish: Finish): Program {
  const program = new Command("holdfast");
  program
    .description("A lock service: leases, fair queues and fencing tokens.")
    .usage("<command> [options]")
    .version(VERSION, "-V, --version", "show the version")
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    .addOption(endpointsOption())
    .addOption(configOption())
    .enablePositionalOptions()
    // Below this width commander does not wrap the text next to a long name.
    .configureHelp({ minWidthToWrap: 20 })
    .exitOverride()
    .addHelpText("before", examplesText(EXAMPLES))
    .addHelpText("after", "\nExit codes: holdfast help exit-codes");
  const missing = new Map<Command, CommandEntry>();
  for (const entry of COMMANDS) {
    const command = program.command(entry.name).description(entry.summary).helpGroup(entry.group);
    missing.set(command, entry);
  }
  defineHelp(program);
  pointToHelp(program, program.name());
  program.on("command:*", ([word = ""]: readonly string[]) => {
    program.error(`unknown command '${word}'${suggestion(word)}`);
  });
  const load = async (command: Command): Promise<void> => {
    const entry = missing.get(command);
    missing.delete(command);
    if (entry === undefined) return;
    (await entry.load())(command, finish);
    addSharedOptions(command);
    pointToHelp(command, `${program.name()} ${command.name()}`);
  };
  program.hook("preSubcommand", async (_program, command) => load(command));
  return {
    command: program,
    load,
    async loadAll() {
      for (const command of [...missing.keys()]) await load(command);
    },
  };
}

/** Usage errors of `command` and its subcommands name the help to read. */
function pointToHelp(command: Command, path: string): void {
  command.configureOutput({ outputError: (text) => noteUsage(text, path) });
  for (const below of command.commands) pointToHelp(below, `${path} ${below.name()}`);
}

function suggestion(word: string): string {
  const meant = new Map<string, string>();
  for (const { name, otherWords = [] } of COMMANDS) {
    meant.set(name, name);
    for (const other of otherWords) {
      if (other === word || word.length >= SLIPPED_LETTERS_MIN) meant.set(other, name);
    }
  }
  const nearest = similarName(word, meant.keys());
  return nearest === undefined ? "" : ` (Did you mean ${meant.get(nearest)}?)`;
}

function defineHelp(program: Command): void {
  program
    .command("help")
    .description("show help for a command, or the table of exit codes")
    .helpGroup("Tools:")
    .argument("[topic...]", "a command, or exit-codes")
    .action(async (topic: readonly string[]) => {
      const [name] = topic;
      if (name === undefined) program.outputHelp();
      else if (name === "exit-codes") process.stdout.write(`${exitCodesText()}\n`);
      else await program.parseAsync(helpArguments(program, topic), { from: "user" });
    });
}

/** Without `--help` an unknown command is an error, with a suggestion. */
function helpArguments(program: Command, topic: readonly string[]): string[] {
  const isKnown = program.commands.some((command) => command.name() === topic[0]);
  return isKnown ? [...topic, "--help"] : [...topic];
}
